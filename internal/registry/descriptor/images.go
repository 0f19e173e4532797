package descriptor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	metav1 "ocm.software/ocm/api/ocm/compdesc/meta/v1"
	"ocm.software/ocm/api/tech/signing"
	"ocm.software/ocm/api/tech/signing/hasher/sha256"
)

// Limits of a Manifest's `.spec.localizedImages`, which holds the images.
const (
	maxImages      = 512
	maxImageLength = 1024
)

// placedImage matches a reference to an image with a registry, and a tag, a digest or both.
var placedImage = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)+` +
	`(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}|(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?@sha256:[0-9a-f]{64})$`)

// artifactNormalisation is the normalization of a resource's digest that equals the digest of an OCI artifact's
// manifest (OCM specification, artifact normalisation types).
const artifactNormalisation = "ociArtifactDigest/v1"

func artifactDigest(digest *metav1.DigestSpec) string {
	if digest.IsNone() || digest.IsExcluded() || digest.NormalisationAlgorithm != artifactNormalisation ||
		signing.NormalizeHashAlgorithm(digest.HashAlgorithm) != sha256.Algorithm {
		return ""
	}
	value := "sha256:" + strings.ToLower(digest.Value)
	if !sha256Digest.MatchString(value) {
		return ""
	}
	return value
}

// IsImage reports whether a resource is an image of the module: an OCI artifact that is not itself installed.
func (r Resource) IsImage() bool {
	return r.Use() == UseNone && r.Access.Kind() == AccessOCIArtifact && r.Access.ImageReference != ""
}

// addImage records the location of an image. The reference must have a registry, and a tag or a digest. With less, any
// image of the same name would count as a copy of it. The digest in the component decides which image runs.
func (c *Contents) addImage(at *field.Path, resource Resource) *field.Error {
	if !resource.IsImage() {
		return nil
	}
	reference := resource.Access.ImageReference
	at = at.Child("access", "imageReference")
	if len(reference) > maxImageLength || !placedImage.MatchString(reference) {
		return field.Invalid(at, short(reference), fmt.Sprintf(
			"resource %s: is not an image reference <registry>/<name>:<tag>, with or without a digest", resource.Name))
	}
	if accessed, _ := resource.Access.Blob(); resource.Artifact != "" && accessed != resource.Artifact {
		if accessed != "" {
			return field.Invalid(at, short(reference), fmt.Sprintf("resource %s: the component has digest %s", resource.Name, resource.Artifact))
		}
		reference += "@" + resource.Artifact
	}
	if slices.Contains(c.Images, reference) {
		return nil
	}
	if len(c.Images) == maxImages {
		return field.Forbidden(at, fmt.Sprintf("resource %s: at most %d images are allowed", resource.Name, maxImages))
	}
	c.Images = append(c.Images, reference)
	return nil
}
