package artifacts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

const (
	// acceptedManifests lists the media types to request. A registry returns an index only if the request accepts
	// indexes; otherwise it answers that there is none.
	acceptedManifests = string(types.OCIManifestSchema1) + ", " + string(types.DockerManifestSchema2) + ", " +
		string(types.OCIImageIndex) + ", " + string(types.DockerManifestList)
	// descriptorAnnotation is "true" on the manifest in an index that has the component descriptor.
	descriptorAnnotation = "software.ocm.descriptor"
	helmConfigMediaType  = "application/vnd.cncf.helm.config.v1+json"
	maxManifestBytes     = 1 << 20
)

// stored is the content under a tag or a manifest's digest: a manifest, or an index of manifests.
type stored struct {
	v1.Manifest
	Manifests []v1.Descriptor `json:"manifests,omitempty"`
}

// isIndex reports whether the content is an index. The media type is optional in both forms.
func (s *stored) isIndex() bool {
	return s.MediaType.IsIndex() || s.MediaType == "" && len(s.Manifests) > 0
}

// componentManifest returns the manifest with the component descriptor. A component version is stored as this manifest,
// or as an index that lists it beside the images and charts of the component.
func (r *registry) componentManifest(ctx context.Context, place name.Repository, tag, what string) (*stored, error) {
	top, err := r.manifest(ctx, place, tag, what)
	if err != nil || !top.isIndex() {
		return top, err
	}
	chosen, err := descriptorManifest(top.Manifests, what)
	if err != nil {
		return nil, err
	}
	if chosen.MediaType.IsIndex() {
		return nil, fault.New(fault.Rejected, ReasonInvalidDescriptor, "%s is an OCI index that refers to another index for its component descriptor", what)
	}
	digest := chosen.Digest.String()
	if _, err := parseDigest(digest); err != nil {
		return nil, fault.New(fault.Rejected, ReasonInvalidDescriptor, "%s is an OCI index: its manifest: %w", what, err)
	}
	found, err := r.manifest(ctx, place, digest, what)
	if err == nil && found.isIndex() {
		return nil, fault.New(fault.Rejected, ReasonInvalidDescriptor, "%s is an OCI index that refers to another index for its component descriptor", what)
	}
	return found, err
}

// descriptorManifest chooses from an index by the OCM specification: the annotated manifest, or else the first.
func descriptorManifest(manifests []v1.Descriptor, what string) (v1.Descriptor, error) {
	if len(manifests) == 0 {
		return v1.Descriptor{}, fault.New(fault.Rejected, ReasonInvalidDescriptor, "%s is an OCI index without a manifest", what)
	}
	chosen, annotated := manifests[0], 0
	for _, m := range manifests {
		if m.Annotations[descriptorAnnotation] == "true" {
			annotated++
			if annotated == 1 {
				chosen = m
			}
		}
	}
	if annotated > 1 {
		return v1.Descriptor{}, fault.New(fault.Rejected, ReasonInvalidDescriptor, "%s is an OCI index with %d manifests that have the annotation %s; only one may have it",
			what, annotated, descriptorAnnotation)
	}
	return chosen, nil
}

// manifest reads a manifest or an index by its tag or digest. If the content does not match the digest, or the
// registry's own digest header, a proxy answered instead of the registry or the content was damaged on its way. That
// fault is retried.
func (r *registry) manifest(ctx context.Context, place name.Repository, reference, what string) (*stored, error) {
	response, err := r.open(ctx, place, "manifests/"+reference, acceptedManifests, what, ReasonDescriptorNotFound)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxManifestBytes+1))
	if err != nil {
		return nil, classify(err, what, "")
	}
	if len(raw) > maxManifestBytes {
		return nil, fault.New(fault.Rejected, ReasonInvalidDescriptor, "%s: its OCI manifest is larger than %d bytes", what, maxManifestBytes)
	}
	expected := response.Header.Get("Docker-Content-Digest")
	if _, err := parseDigest(reference); err == nil {
		expected = reference
	}
	sum, err := parseDigest(expected)
	verifiable := err == nil
	if got := sha256.Sum256(raw); verifiable && hex.EncodeToString(got[:]) != sum {
		return nil, slowRetry(ReasonDigestMismatch, "%s: the registry sent other content, with digest sha256:%x", what, got)
	}
	var found stored
	switch err := json.Unmarshal(raw, &found); {
	case err != nil && verifiable:
		return nil, fault.New(fault.Rejected, ReasonInvalidDescriptor, "%s is not an OCI manifest", what)
	case err != nil:
		return nil, slowRetry(ReasonDigestMismatch, "%s: the registry did not send an OCI manifest", what)
	}
	return &found, nil
}

// withoutDescriptor returns an error that says what is stored instead of a component version.
func withoutDescriptor(found *stored, what string) error {
	config := string(found.Config.MediaType)
	var is string
	switch {
	case found.Config.MediaType == types.DockerConfigJSON, found.Config.MediaType == types.OCIConfigJSON && len(found.Layers) > 0 && found.Layers[0].MediaType.IsLayer():
		is = "a container image"
	case config == helmConfigMediaType:
		is = "a Helm chart"
	case found.SchemaVersion == 1:
		is = "a Docker image of the first schema"
	case len(found.Layers) == 0:
		is = "an OCI manifest without layers"
	case !strings.Contains(config, "component"):
		is = "an OCI artifact of another kind (" + string(found.Layers[0].MediaType) + ")"
	default:
		return fault.New(fault.Rejected, ReasonInvalidDescriptor, "%s has no layer with a component descriptor", what)
	}
	return fault.New(fault.Rejected, ReasonInvalidDescriptor, "%s is %s: it has no layer with a component descriptor", what, is)
}
