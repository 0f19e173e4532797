package artifacts

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
)

// rereadAfterRefusal is the least age of credentials to be read again after a registry refused them.
const rereadAfterRefusal = 5 * time.Second

// RotatingKeychain holds the credentials of a docker config (KeychainFromDockerConfig) and reads them again, so that
// rotated credentials take effect: when they are older than every, and when a registry refuses them. If a read fails,
// the last credentials stay in use.
type RotatingKeychain struct {
	read  func(context.Context) ([]byte, error)
	every time.Duration
	clock func() time.Time

	mu      sync.Mutex
	present authn.Keychain
	at      time.Time
}

// NewRotatingKeychain reads the docker config for the first time, and returns an error if that fails.
func NewRotatingKeychain(ctx context.Context, every time.Duration, clock func() time.Time, read func(context.Context) ([]byte, error)) (*RotatingKeychain, error) {
	k := &RotatingKeychain{read: read, every: every, clock: clock}
	if err := k.renew(ctx); err != nil {
		return nil, err
	}
	return k, nil
}

func (k *RotatingKeychain) renew(ctx context.Context) error {
	k.at = k.clock()
	content, err := k.read(ctx)
	if err != nil {
		return fmt.Errorf("read the registry's credentials: %w", err)
	}
	present, err := KeychainFromDockerConfig(content)
	if err != nil {
		return err
	}
	k.present = present
	return nil
}

// Resolve implements authn.Keychain.
func (k *RotatingKeychain) Resolve(resource authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), resource)
}

// ResolveContext implements authn.ContextKeychain.
func (k *RotatingKeychain) ResolveContext(ctx context.Context, resource authn.Resource) (authn.Authenticator, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.clock().Sub(k.at) >= k.every {
		// Old credentials are better than none. The next read comes after the same interval.
		_ = k.renew(ctx)
	}
	return k.present.Resolve(resource)
}

// Refused records that a registry refused the credentials.
func (k *RotatingKeychain) Refused() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.clock().Sub(k.at) >= rereadAfterRefusal {
		k.at = time.Time{}
	}
}
