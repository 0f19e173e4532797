package signature

import (
	"strings"

	"ocm.software/ocm/api/ocm/compdesc"
	metav1 "ocm.software/ocm/api/ocm/compdesc/meta/v1"
	"ocm.software/ocm/api/tech/signing"
	"ocm.software/ocm/api/tech/signing/hasher/sha256"

	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

// blobDigest is the normalisation of a resource's digest that is the plain digest of its bytes
// (OCM specification, artifact normalisation types).
const blobDigest = "genericBlobDigest/v1"

// imageDigest is the one that is the digest of an OCI artifact's manifest.
const imageDigest = "ociArtifactDigest/v1"

// verifyLayers checks that what would be fetched is what was signed. Of a resource, name, type and digest are
// signed, and the access, with which it is fetched, is not. Media type and place of a layer stay unsigned: they
// decide how and from where the signed bytes are read, not which. So does the name of an image, by which the one is
// found that it is a copy of: among the signed images of a component.
func verifyLayers(raw []byte, decoded *compdesc.ComponentDescriptor) error {
	parsed, err := descriptor.Parse(raw)
	if err != nil {
		return err
	}
	if len(parsed.Resources) != len(decoded.Resources) {
		return refuse("the component descriptor cannot be verified: its resources are read in two ways")
	}
	for i, resource := range parsed.Resources {
		if resource.IsImage() && resource.Artifact == "" {
			return refuse("resource %s has no digest of the image, so what would be run is not covered by the signature: "+
				"sign again with digests of all resources, of images of %s with %s", short(resource.Name), imageDigest, sha256.Algorithm)
		}
		if resource.Use() == descriptor.UseNone {
			continue // never fetched, or by that digest only
		}
		if err := verifyLayer(resource, decoded.Resources[i].Digest); err != nil {
			return err
		}
	}
	return nil
}

func verifyLayer(resource descriptor.Resource, signed *metav1.DigestSpec) error {
	name := short(resource.Name)
	switch {
	case signed.IsNone() || signed.IsExcluded():
		return refuse("resource %s has no digest, so its content is not covered by the signature: "+
			"sign again with digests of all resources", name)
	case signed.NormalisationAlgorithm != blobDigest || signing.NormalizeHashAlgorithm(signed.HashAlgorithm) != sha256.Algorithm:
		return refuse("resource %s has a digest of %s with %s, which cannot be compared with the layer that would be fetched: "+
			"sign again with digests of %s with %s", name, short(signed.NormalisationAlgorithm), short(signed.HashAlgorithm),
			blobDigest, sha256.Algorithm)
	}
	if fetched, _ := resource.Access.Blob(); fetched != "sha256:"+strings.ToLower(signed.Value) {
		return refuse("resource %s would be fetched as %s, but the signature is for content sha256:%s: "+
			"the access was changed after signing; restore it, or sign again", name, short(fetched), plain(signed.Value))
	}
	return nil
}
