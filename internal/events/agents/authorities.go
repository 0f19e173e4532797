package agents

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/memo"
)

// ReasonNoAuthorities: the listener has no certificates yet, or its Secret cannot be read by us.
const ReasonNoAuthorities = "AuthoritiesPending"

// ReadEvery is for how long a process takes the authorities as it read them.
const ReadEvery = 5 * time.Second

// Authorities are those in the listener's Secret, which all agents and all API servers that call one trust.
type Authorities struct {
	reader client.Reader
	key    types.NamespacedName
	kept   *memo.Value[[]byte]
}

// NewAuthorities reads the Secret of the listener; the reader must not be cached.
func NewAuthorities(reader client.Reader, secret types.NamespacedName, now func() time.Time) *Authorities {
	return &Authorities{reader: reader, key: secret, kept: memo.New[[]byte](ReadEvery, now)}
}

// Get returns them (PEM), as of some seconds ago. That there are none yet is a Pending fault.
func (a *Authorities) Get(ctx context.Context) ([]byte, error) { return a.kept.Get(ctx, a.read) }

func (a *Authorities) read(ctx context.Context) ([]byte, error) {
	secret := &corev1.Secret{}
	err := a.reader.Get(ctx, a.key, secret)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read the authorities in Secret %s: %w", a.key, err)
	}
	if len(secret.Data[shared.CertificateAuthorityKey]) == 0 {
		return nil, fault.New(fault.Pending, ReasonNoAuthorities, "Secret %s has no authorities yet, by which agents and the listener recognize each other", a.key)
	}
	return secret.Data[shared.CertificateAuthorityKey], nil
}
