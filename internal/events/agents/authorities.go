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

// ReasonNoAuthorities means that the listener has no certificates yet, or that we cannot read its Secret.
const ReasonNoAuthorities = "AuthoritiesPending"

// ReadEvery is how long a process uses the authorities before it reads them again.
const ReadEvery = 5 * time.Second

// Authorities reads the authorities in the listener's Secret. All agents, and all API servers that call an agent,
// trust them.
type Authorities struct {
	reader client.Reader
	key    types.NamespacedName
	kept   *memo.Value[[]byte]
}

// NewAuthorities returns the Authorities in the listener's Secret. The reader must not be cached.
func NewAuthorities(reader client.Reader, secret types.NamespacedName, now func() time.Time) *Authorities {
	return &Authorities{reader: reader, key: secret, kept: memo.New[[]byte](ReadEvery, now)}
}

// Get returns the authorities in PEM, at most ReadEvery old. It returns a Pending fault if there are none yet.
func (a *Authorities) Get(ctx context.Context) ([]byte, error) { return a.kept.Get(ctx, a.read) }

func (a *Authorities) read(ctx context.Context) ([]byte, error) {
	secret := &corev1.Secret{}
	err := a.reader.Get(ctx, a.key, secret)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read the authorities in Secret %s: %w", a.key, err)
	}
	if len(secret.Data[shared.CertificateAuthorityKey]) == 0 {
		return nil, fault.New(fault.Pending, ReasonNoAuthorities, "Secret %s has no authorities yet for agents and the listener to trust", a.key)
	}
	return secret.Data[shared.CertificateAuthorityKey], nil
}
