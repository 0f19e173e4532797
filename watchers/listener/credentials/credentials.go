// Package credentials keeps what the listener shows to agents, and checks them by, as a Secret of the control plane has it.
package credentials

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
	"github.com/kyma-project/lifecycle-manager/internal/platform/persistent"
)

const (
	// interval is how often the Secret is read. Reading one object costs its API server less than an informer, which would have
	// to keep private keys in a cache, and a rotation waits for far longer (certificates.DefaultListenerReload).
	interval    = 5 * time.Second
	readTimeout = 10 * time.Second
	// sayEvery is how often it is logged at most that the Secret cannot be used.
	sayEvery = time.Minute
)

// Material is what the Secret had at one time.
type Material struct {
	// Certificate is that of the listener; empty where the listener ends no TLS.
	Certificate tls.Certificate
	// Authorities are those whose certificates agents have.
	Authorities *x509.CertPool
	// Version differs where anything of it does.
	Version string
}

// Secret is the Material of a Secret. It implements manager.Runnable, on every replica.
type Secret struct {
	reader  client.Reader
	name    types.NamespacedName
	withKey bool
	log     logr.Logger
	current atomic.Pointer[Material]
	fault   persistent.Fault
	// said is when it was last logged that the Secret cannot be used.
	said        time.Time
	saidAsError bool
}

// NewSecret makes a Secret that has no Material before Start has read it. The reader must be uncached, so that no cache
// holds private keys. withKey is whether the listener ends TLS; otherwise only the authorities are taken.
func NewSecret(reader client.Reader, name types.NamespacedName, withKey bool, log logr.Logger) *Secret {
	return &Secret{reader: reader, name: name, withKey: withKey, log: log}
}

// Current is the Material in use; false before there was any.
func (s *Secret) Current() (Material, bool) {
	if m := s.current.Load(); m != nil {
		return *m, true
	}
	return Material{}, false
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica listens.
func (s *Secret) NeedLeaderElection() bool { return false }

// Start reads the Secret until the context ends.
func (s *Secret) Start(ctx context.Context) error {
	for {
		s.read(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
	}
}

// read takes what the Secret has, if it can be used. What was there before stays in use otherwise: a Secret that is
// written wrongly, or deleted, stops no event.
func (s *Secret) read(ctx context.Context) {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var secret corev1.Secret
	err := s.reader.Get(reading, s.name, &secret)
	var now *Material
	if err == nil {
		now, err = parse(secret.Data, s.withKey)
	}
	before := s.current.Load()
	if err == nil {
		s.fault = persistent.Fault{}
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		at := time.Now()
		// Who makes the certificates makes the Secret, within seconds of the first start.
		isError := s.fault.IsError(at, err, before == nil && apierrors.IsNotFound(err))
		if at.Sub(s.said) < sayEvery && (s.saidAsError || !isError) {
			return
		}
		s.said, s.saidAsError = at, isError
		if !isError {
			s.log.Info("waiting for the listener's Secret", logkey.Namespace, s.name.Namespace, logkey.Name, s.name.Name)
			return
		}
		s.log.Error(err, "cannot use the listener's Secret; what was read before, if anything, stays in use", logkey.Namespace, s.name.Namespace, logkey.Name, s.name.Name)
	case before == nil || before.Version != now.Version:
		s.current.Store(now)
		s.log.Info("read the listener's Secret", logkey.Namespace, s.name.Namespace, logkey.Name, s.name.Name, logkey.Digest, now.Version[:12])
	}
}

var errAuthorities = errors.New("no certificate is under the key " + shared.CertificateAuthorityKey)

func parse(data map[string][]byte, withKey bool) (*Material, error) {
	m := &Material{Authorities: x509.NewCertPool()}
	if !m.Authorities.AppendCertsFromPEM(data[shared.CertificateAuthorityKey]) {
		return nil, errAuthorities
	}
	used := [][]byte{data[shared.CertificateAuthorityKey]}
	if withKey {
		certificate, key := data[shared.CertificateKey], data[shared.PrivateKeyKey]
		var err error
		if m.Certificate, err = tls.X509KeyPair(certificate, key); err != nil {
			return nil, fmt.Errorf("read %s with its key: %w", shared.CertificateKey, err)
		}
		used = append(used, certificate, key)
	}
	sum := sha256.Sum256(bytes.Join(used, []byte{0}))
	m.Version = hex.EncodeToString(sum[:])
	return m, nil
}
