package artifacts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// Store fetches, verifies and caches artifacts. It is safe for concurrent use; concurrent callers for the same artifact
// share one fetch.
type Store struct {
	options     Options
	registry    *registry
	disk        *disk
	layers      *Cache[[]byte]
	infos       *Cache[layerInfo]
	descriptors *Cache[descriptor]
	renderer    *render.Renderer
	awaited     *awaited
	counts      struct{ pulls, parses, renderings atomic.Int64 }
}

// infoBudget and descriptorBudget bound two small caches, in bytes.
const (
	infoBudget       = 8 << 20
	descriptorBudget = 32 << 20
)

// New returns a Store and creates CacheDir if it is missing. It sends no request.
func New(o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{
		options:     o,
		registry:    newRegistry(o),
		layers:      NewCache[[]byte](o.MemoryBytes),
		infos:       NewCache[layerInfo](infoBudget),
		descriptors: NewCache[descriptor](descriptorBudget),
		renderer:    render.NewRenderer(o.Renderer, o.Renderers, o.Limits.Limits),
		awaited:     newAwaited(o.Clock),
	}
	if o.CacheDir != "" {
		if err := os.MkdirAll(o.CacheDir, 0o750); err != nil {
			return nil, fmt.Errorf("make the folder for cached layers: %w", err)
		}
		s.disk = &disk{folder: o.CacheDir, budget: o.DiskBytes}
	}
	return s, nil
}

// Fetch returns the content of a layer, which matches its digest. The caller must not change the content.
func (s *Store) Fetch(ctx context.Context, l Layer) ([]byte, error) {
	if !l.Artifact {
		return s.fetch(ctx, l, "blobs/", "")
	}
	layer, err := s.artifactLayer(ctx, l)
	if err != nil {
		return nil, err
	}
	return s.fetch(ctx, layer, "blobs/", "")
}

// artifactLayer returns the layer to install from an OCI artifact. It reads an index only if the index has one
// manifest.
func (s *Store) artifactLayer(ctx context.Context, l Layer) (Layer, error) {
	found, err := s.artifactManifest(ctx, l)
	if err != nil {
		return Layer{}, err
	}
	if found.isIndex() {
		if len(found.Manifests) != 1 {
			return Layer{}, inLayer(l, fault.New(fault.Rejected, render.ReasonUnsupported, "it is an OCI index of %d manifests; an index of one can be installed", len(found.Manifests)))
		}
		inner := l
		inner.Digest = found.Manifests[0].Digest.String()
		if found, err = s.artifactManifest(ctx, inner); err != nil {
			return Layer{}, err
		}
		if found.isIndex() {
			return Layer{}, inLayer(l, fault.New(fault.Rejected, render.ReasonUnsupported, "it is an OCI index of another index; an index of one manifest can be installed"))
		}
	}
	digest, err := onlyLayer(found)
	if err != nil {
		return Layer{}, inLayer(l, err)
	}
	return Layer{Repository: l.Repository, Name: l.Name, Digest: digest}, nil
}

func (s *Store) artifactManifest(ctx context.Context, l Layer) (*stored, error) {
	raw, err := s.fetch(ctx, l, "manifests/", acceptedManifests)
	if err != nil {
		return nil, err
	}
	var found stored
	if err := json.Unmarshal(raw, &found); err != nil {
		return nil, inLayer(l, render.Invalid("it is not an OCI manifest"))
	}
	return &found, nil
}

// fetch returns the content of a digest from memory, the folder or the registry. path selects blobs or manifests.
func (s *Store) fetch(ctx context.Context, l Layer, path, accept string) ([]byte, error) {
	sum, err := parseDigest(l.Digest)
	if err != nil {
		return nil, fault.New(fault.Rejected, ReasonInvalidReference, "%s: %w", l, err)
	}
	if err := s.allowed(l); err != nil {
		return nil, err
	}
	fetched := &atomic.Bool{}
	defer func() { s.options.Counter.ArtifactAsked(KindLayer, !fetched.Load()) }()
	content, err := s.layers.Get(ctx, l.key(), func(ctx context.Context) ([]byte, int64, error) {
		if content, ok := s.disk.read(l.key(), sum); ok {
			return content, int64(len(content)), nil
		}
		ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
		defer cancel()
		s.counts.pulls.Add(1)
		fetched.Store(true)
		content, err := s.registry.blob(ctx, l, path, accept, sum)
		s.answered(content, err)
		if err != nil {
			return nil, 0, err
		}
		s.disk.write(layerFile(l.key(), sum), content)
		return content, int64(len(content)), nil
	})
	s.awaited.asked(ctx, l.key(), l.Repository, err, func(ctx context.Context) error {
		_, err := s.fetch(ctx, l, path, accept)
		return err
	})
	return content, err
}

// allowed refuses a layer in a registry that may not be used.
func (s *Store) allowed(l Layer) error {
	if s.options.Registries == nil {
		return nil
	}
	host, ok := s.options.Registries.Has(l.Repository)
	if !ok {
		return slowRetry(ReasonRegistryNotAllowed, "%s: registry %s must not be used for layers (%s)", l, cmp.Or(host, l.Repository), s.options.Registries)
	}
	return nil
}

// answered counts a fetch with all its retries. There are few reasons of faults.
func (s *Store) answered(content []byte, err error) {
	reason := ""
	if err != nil {
		reason = cmp.Or(fault.Of(err).Reason, "Canceled")
	}
	s.options.Counter.RegistryAnswered(reason, len(content))
}

// RenderingAsked counts a request for a rendering. The caller keeps the renderings.
func (s *Store) RenderingAsked(hit bool) { s.options.Counter.ArtifactAsked(KindRendering, hit) }

// Counts holds the number of expensive operations since the store was made.
type Counts struct {
	// Pulls counts fetches from registries, Parses counts parsed layers, and Renderings counts rendered charts.
	Pulls, Parses, Renderings int64
}

// Counts returns the counts so far.
func (s *Store) Counts() Counts {
	return Counts{Pulls: s.counts.pulls.Load(), Parses: s.counts.parses.Load(), Renderings: s.counts.renderings.Load()}
}

// descriptor is a fetched component descriptor.
type descriptor struct {
	content []byte
	at      time.Time
}

// layerInfo is what Prepare needs to know of a layer. It is kept longer than the layer.
type layerInfo struct {
	form     Form
	requires render.Requirements
}

// Watch asks registries again for missing artifacts, and calls wake with the waiters that can continue, until ctx is
// done.
func (s *Store) Watch(ctx context.Context, wake func(ctx context.Context, waiters []Waiter)) {
	for {
		if ready := s.awaited.take(); len(ready) > 0 {
			wake(ctx, ready)
		}
		due, next := s.awaited.due()
		if len(due) > 0 {
			s.awaited.askAgain(ctx, due)
			if ctx.Err() != nil {
				return
			}
			continue
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-s.awaited.changed:
			timer.Stop()
		case <-timer.C:
		}
	}
}
