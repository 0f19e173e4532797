package descriptor

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Mappings of component names to OCI repositories (OCM specification).
const (
	mappingURLPath = "urlPath"
	mappingDigest  = "sha256-digest"

	componentDescriptors = "component-descriptors"
)

// Place returns the location of the component's blobs: name is the path of an OCI repository below repo. The argument
// is the repository (`<registry>[/<subpath>]`) that the component was fetched from or transferred to, which stores
// components by name. If it is empty, Place uses the descriptor's own repository with its mapping. It returns empty
// strings if the descriptor names no repository.
func (d *Descriptor) Place(repository string) (repo, name string) {
	switch {
	case repository != "":
		return repository + "/" + componentDescriptors, d.Component
	case d.Repository == "":
		return "", ""
	case d.digestMapping:
		sum := sha256.Sum256([]byte(d.Component))
		return d.Repository, hex.EncodeToString(sum[:])
	default:
		return d.Repository + "/" + componentDescriptors, d.Component
	}
}

// InManifest returns the repository of a component's blob, as Place returns it, in the form for a Manifest. Upstream
// appends the folder of components itself when it reads a layer, so a Manifest omits that folder. A blob under another
// name than the component's is not in that folder, so its repository stays as it is.
func InManifest(repo, name, component string) string {
	base, in := strings.CutSuffix(repo, "/"+componentDescriptors)
	if !in || name != component || strings.HasSuffix(base, "/"+componentDescriptors) {
		return repo
	}
	return base
}

// FromManifest returns the repository of a blob from its form in a Manifest of this component. It reads the form that
// InManifest writes, and the form with the folder of components, which older builds and older releases of upstream
// wrote.
func FromManifest(repo, name, component string) string {
	repo = strings.TrimSuffix(repo, "/")
	if name != component || strings.HasSuffix(repo, "/"+componentDescriptors) {
		return repo
	}
	return repo + "/" + componentDescriptors
}

// ArtifactMediaType is the media type of a Part with the digest of an OCI manifest. The manifest's only layer is the
// content.
const ArtifactMediaType = "application/vnd.oci.image.manifest.v1+json"

// Blob returns the digest of the access's blob. If the blob is not in the component's own repository, it also returns
// the blob's OCI repository, without tag and digest. Blob does not validate the digest.
//
// The blob of a localBlob is in the component's repository, even after a transfer. Its global access counts only if the
// local reference is not a digest.
func (a Access) Blob() (digest, repository string) {
	switch a.Kind() {
	case AccessLocalOCIBlob:
		return a.Digest, ""
	case AccessLocalBlob:
		if global, ok := a.global(); ok {
			return global.Blob()
		}
		return a.LocalReference, ""
	case AccessOCIBlob:
		repository, _, _ = strings.Cut(a.Reference, "@")
		return a.Digest, repository
	case AccessOCIArtifact:
		repository, digest, _ = strings.Cut(a.ImageReference, "@")
		if tag := strings.LastIndex(repository, ":"); tag > strings.LastIndex(repository, "/") {
			repository = repository[:tag]
		}
		return digest, repository
	}
	return "", ""
}

// global returns the global access of a localBlob if it must be used.
func (a Access) global() (Access, bool) {
	if a.Kind() != AccessLocalBlob || a.GlobalAccess == nil || sha256Digest.MatchString(a.LocalReference) {
		return Access{}, false
	}
	kind := a.GlobalAccess.Kind()
	return *a.GlobalAccess, kind == AccessOCIBlob || kind == AccessOCIArtifact
}
