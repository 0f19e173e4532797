package artifacts

import (
	"bytes"
	"context"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// How OCM stores component versions in OCI registries
// (https://github.com/open-component-model/ocm-spec, mapping to OCI).
const (
	componentDescriptors   = "component-descriptors"
	componentDescriptorTar = "component-descriptor.yaml"
	buildSeparator         = ".build-"
)

// FetchDescriptor returns the stored component descriptor of a component version (YAML or JSON), from
// `<repository>/component-descriptors/<component>:<version>`. repository is "<registry>[/<subpath>]". The descriptor
// may be up to Options.DescriptorTTL old, and older while the registry is unavailable, even after a restart, because
// component versions do not change. Errors are faults: ReasonDescriptorNotFound, ReasonInvalidDescriptor (Rejected), …
func (s *Store) FetchDescriptor(ctx context.Context, repository, component, version string) ([]byte, error) {
	key := repository + "/" + component + ":" + version
	known, isKnown := s.descriptors.Peek(key)
	isFresh := isKnown && s.options.Clock().Sub(known.at) < s.options.DescriptorTTL
	s.options.Counter.ArtifactAsked(KindDescriptor, isFresh)
	if isFresh {
		return known.content, nil
	}
	fresh, err := s.descriptors.Renew(ctx, key, func(ctx context.Context) (descriptor, int64, error) {
		ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
		defer cancel()
		content, err := s.registry.descriptor(ctx, repository, component, version)
		s.answered(content, err)
		if err == nil && (!isKnown || !bytes.Equal(content, known.content)) {
			s.disk.remember(key, content)
		}
		return descriptor{content: content, at: s.options.Clock()}, int64(len(content)), err
	})
	if f := fault.Of(err); f.Kind == fault.Transient && !f.SlowRetry {
		if isKnown {
			return known.content, nil
		}
		if content, ok := s.disk.recall(key); ok {
			return content, nil
		}
	}
	s.awaited.asked(ctx, "descriptor "+key, repository, err, func(ctx context.Context) error {
		_, err := s.FetchDescriptor(ctx, repository, component, version)
		return err
	})
	if err != nil {
		return nil, err
	}
	return fresh.content, nil
}

func (r *registry) descriptor(ctx context.Context, repository, component, version string) ([]byte, error) {
	what := "component version " + component + ":" + version
	place, err := r.repository(path.Join(strings.TrimSuffix(repository, "/"), componentDescriptors, component))
	if err != nil {
		return nil, err
	}
	manifest, err := r.componentManifest(ctx, place, strings.ReplaceAll(version, "+", buildSeparator), what)
	if err != nil {
		return nil, err
	}
	for _, layer := range manifest.Layers {
		isTar, isDescriptor := descriptorForm(string(layer.MediaType))
		if !isDescriptor {
			continue
		}
		content, err := r.descriptorLayer(ctx, place, layer, what)
		if err != nil {
			return nil, err
		}
		if isTar {
			return fromTar(content, what, r.limits)
		}
		return content, nil
	}
	return nil, withoutDescriptor(manifest, what)
}

func (r *registry) descriptorLayer(ctx context.Context, place name.Repository, layer v1.Descriptor, what string) ([]byte, error) {
	sum, err := parseDigest(layer.Digest.String())
	if err != nil {
		return nil, fault.New(fault.Rejected, ReasonInvalidDescriptor, "%s: %w", what, err)
	}
	response, err := r.open(ctx, place, "blobs/"+layer.Digest.String(), "", what, ReasonDescriptorNotFound)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	return readVerified(response.Body, sum, r.limits.DescriptorBytes, what)
}

// descriptorForm reports whether a layer of this media type holds a component descriptor, and whether it is a tar
// archive. OCM's predecessors have their own media types with the same endings.
func descriptorForm(mediaType string) (isTar, isDescriptor bool) {
	if !strings.Contains(mediaType, "component-descriptor") || strings.Contains(mediaType, "metadata") {
		return false, false
	}
	return strings.HasSuffix(mediaType, "+tar") || strings.Contains(mediaType, "component-descriptor.config"), true
}

func fromTar(content []byte, what string, limits Limits) ([]byte, error) {
	files, err := render.Untar(content, limits.Limits)
	if err != nil {
		return nil, fault.New(fault.Rejected, ReasonInvalidDescriptor, "%s: %w", what, err)
	}
	for _, f := range files {
		if f.Name == componentDescriptorTar {
			return f.Content, nil
		}
	}
	return nil, fault.New(fault.Rejected, ReasonInvalidDescriptor, "%s: the archive has no %s", what, componentDescriptorTar)
}
