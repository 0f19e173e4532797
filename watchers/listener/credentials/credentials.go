// Package credentials reads the listener's certificate, and the authorities that it trusts, from a Secret of the
// control plane.
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
	// interval is how often the Secret is read. Reading one object costs the API server less than an informer, and an
	// informer would keep private keys in a cache. A rotation waits far longer (certificates.DefaultListenerReload).
	interval    = 5 * time.Second
	readTimeout = 10 * time.Second
	// sayEvery is how often an unusable Secret is logged at most.
	sayEvery = time.Minute
)

// Material is the content of the Secret at one time.
type Material struct {
	// Certificate is the listener's certificate; empty if the listener does not terminate TLS.
	Certificate tls.Certificate
	// Authorities are the authorities of agents' certificates.
	Authorities *x509.CertPool
	// Version changes whenever any of the content does.
	Version string
}

// Secret provides the Material of a Secret. It implements manager.Runnable, and runs on every replica.
type Secret struct {
	reader  client.Reader
	name    types.NamespacedName
	withKey bool
	log     logr.Logger
	current atomic.Pointer[Material]
	fault   persistent.Fault
	// said is when an unusable Secret was last logged.
	said        time.Time
	saidAsError bool
}

// NewSecret returns a Secret that has no Material before Start has read it. The reader must not have a cache, so that
// no cache holds private keys. withKey is true if the listener terminates TLS; otherwise only the authorities are read.
func NewSecret(reader client.Reader, name types.NamespacedName, withKey bool, log logr.Logger) *Secret {
	return &Secret{reader: reader, name: name, withKey: withKey, log: log}
}

// Current returns the Material in use, and false if there is none yet.
func (s *Secret) Current() (Material, bool) {
	if m := s.current.Load(); m != nil {
		return *m, true
	}
	return Material{}, false
}

// NeedLeaderElection returns false, because every replica listens.
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

// read takes over the content of the Secret if it can be used. Otherwise the previous Material stays in use, so that an
// invalid or deleted Secret does not stop events.
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
		// The certificate keeper creates the Secret within seconds of the first start.
		isError := s.fault.IsError(at, err, before == nil && apierrors.IsNotFound(err))
		if at.Sub(s.said) < sayEvery && (s.saidAsError || !isError) {
			return
		}
		s.said, s.saidAsError = at, isError
		if !isError {
			s.log.Info("waiting for the listener's Secret", logkey.Namespace, s.name.Namespace, logkey.Name, s.name.Name)
			return
		}
		s.log.Error(err, "cannot use the listener's Secret, keeping the previous content if there is any", logkey.Namespace, s.name.Namespace, logkey.Name, s.name.Name)
	case before == nil || before.Version != now.Version:
		s.current.Store(now)
		s.log.Info("read the listener's Secret", logkey.Namespace, s.name.Namespace, logkey.Name, s.name.Name, logkey.Digest, now.Version[:12])
	}
}

var errAuthorities = errors.New("no certificate under the key " + shared.CertificateAuthorityKey)

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
