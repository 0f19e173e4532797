package artifacts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
)

// Layer names a layer in a registry.
type Layer struct {
	// Repository is the registry with the path before the component name, e.g.
	// "host:5000/sub/component-descriptors". A scheme before it is ignored.
	Repository string
	// Name is the component name, or what it is mapped to (see RepositoryName).
	Name string
	// Digest is "sha256:…".
	Digest string
}

// String names the layer for people.
func (l Layer) String() string { return fmt.Sprintf("layer %s/%s@%s", l.Repository, l.Name, l.Digest) }

// Store fetches, verifies and caches. It is safe for concurrent use; what several callers ask for at the
// same time is fetched once.
type Store struct {
	options     Options
	registry    *registry
	disk        *disk
	layers      *Cache[[]byte]
	infos       *Cache[layerInfo]
	descriptors *Cache[descriptor]
}

// infoBudget and descriptorBudget bound two small caches.
const (
	infoBudget       = 8 << 20
	descriptorBudget = 32 << 20
)

// New returns a Store. It makes no request; it creates CacheDir where it is missing.
func New(o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{
		options:     o,
		registry:    newRegistry(o),
		layers:      NewCache[[]byte](o.MemoryBytes),
		infos:       NewCache[layerInfo](infoBudget),
		descriptors: NewCache[descriptor](descriptorBudget),
	}
	if o.CacheDir != "" {
		if err := os.MkdirAll(o.CacheDir, 0o750); err != nil {
			return nil, fmt.Errorf("make the folder for cached layers: %w", err)
		}
		s.disk = &disk{folder: o.CacheDir, budget: o.DiskBytes}
	}
	return s, nil
}

// Fetch returns the content of a layer, which is what its digest names. The caller must not change it.
func (s *Store) Fetch(ctx context.Context, l Layer) ([]byte, error) {
	sum, err := parseDigest(l.Digest)
	if err != nil {
		return nil, fault.New(fault.Rejected, ReasonInvalidReference, "%s: %w", l, err)
	}
	return s.layers.Get(ctx, l.Digest, func(ctx context.Context) ([]byte, int64, error) {
		if content, ok := s.disk.read(sum); ok {
			return content, int64(len(content)), nil
		}
		ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
		defer cancel()
		content, err := s.registry.blob(ctx, l, sum)
		if err != nil {
			return nil, 0, err
		}
		s.disk.write(sum, content)
		return content, int64(len(content)), nil
	})
}

// RepositoryName is the path of a component in a registry after "component-descriptors": its name, or with
// the mapping "sha256-digest" of its repository context, the digest of its name.
func RepositoryName(component, mapping string) string {
	if mapping != "sha256-digest" {
		return component
	}
	sum := sha256.Sum256([]byte(component))
	return hex.EncodeToString(sum[:])
}

func parseDigest(digest string) (string, error) {
	sum, isSHA := strings.CutPrefix(digest, "sha256:")
	if decoded, err := hex.DecodeString(sum); !isSHA || err != nil || len(decoded) != sha256.Size {
		return "", fmt.Errorf("%q is not a digest sha256:<64 hexadecimal digits>; layers are named by digest only, so that what is installed is what was released", digest)
	}
	return strings.ToLower(sum), nil
}
