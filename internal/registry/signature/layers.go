package signature

import (
	"strings"

	"ocm.software/ocm/api/ocm/compdesc"
	metav1 "ocm.software/ocm/api/ocm/compdesc/meta/v1"
	"ocm.software/ocm/api/tech/signing"
	"ocm.software/ocm/api/tech/signing/hasher/sha256"

	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

// blobDigest is the normalization of a resource's digest that equals the plain digest of its bytes (OCM specification,
// artifact normalisation types).
const blobDigest = "genericBlobDigest/v1"

// imageDigest is the normalization that equals the digest of an OCI artifact's manifest.
const imageDigest = "ociArtifactDigest/v1"

// verifyLayers checks that the layers to fetch are the signed ones. The signature covers the name, type and digest of a
// resource, but not the access, which locates the content. Media type and location of a layer stay unsigned: they
// decide how and from where the signed bytes are read, not which bytes. The name of an image is unsigned too. It only
// selects one of the component's signed images.
func verifyLayers(raw []byte, decoded *compdesc.ComponentDescriptor) error {
	parsed, err := descriptor.Parse(raw)
	if err != nil {
		return err
	}
	if len(parsed.Resources) != len(decoded.Resources) {
		return refuse("the component descriptor cannot be verified: the OCM library reads its resources in two ways")
	}
	for i, resource := range parsed.Resources {
		if resource.IsImage() && resource.Artifact == "" {
			return refuse("resource %s has no digest of the image, so the signature does not cover the image that would run: "+
				"sign again with digests of all resources, of images of %s with %s", short(resource.Name), imageDigest, sha256.Algorithm)
		}
		if resource.Use() == descriptor.UseNone {
			continue // never fetched, or fetched only by that digest
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
		return refuse("resource %s has no digest, so the signature does not cover its content: "+
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
