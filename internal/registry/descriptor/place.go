package descriptor

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// How a repository keeps components (OCM specification, mapping of component names to OCI repositories).
const (
	mappingURLPath = "urlPath"
	mappingDigest  = "sha256-digest"

	componentDescriptors = "component-descriptors"
)

// Place is where the component's blobs are: name is the path of an OCI repository below repo. Within a given
// repository (`<registry>[/<subpath>]`), which a component was fetched from or transferred to, components are kept by
// name. Without one, the descriptor's own is meant, with its mapping; both are empty where it names none.
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

// InManifest is the repository of a component's blob, as Place returns it, in the form that a Manifest has it. Upstream
// appends the folder of components itself when it reads a layer, so a Manifest does not name the folder. A blob that is
// kept under another name than the component's is not in that folder: its repository stays as it is.
func InManifest(repo, name, component string) string {
	base, in := strings.CutSuffix(repo, "/"+componentDescriptors)
	if !in || name != component || strings.HasSuffix(base, "/"+componentDescriptors) {
		return repo
	}
	return base
}

// FromManifest returns the repository of a blob by what a Manifest of this component says. It reads the form that
// InManifest writes, and the one with the folder of components, which older builds and older releases of upstream wrote.
func FromManifest(repo, name, component string) string {
	repo = strings.TrimSuffix(repo, "/")
	if name != component || strings.HasSuffix(repo, "/"+componentDescriptors) {
		return repo
	}
	return repo + "/" + componentDescriptors
}

// ArtifactMediaType is the media type of a Part whose digest is that of an OCI manifest, of which the one layer is
// meant.
const ArtifactMediaType = "application/vnd.oci.image.manifest.v1+json"

// Blob says which blob the access means: its digest, and for one that is not in the component's own repository the
// OCI repository that it is in, without tag and digest. The digest is what the access says, whether it is one or not.
//
// The blob of a localBlob is in the component's repository, wherever that was transferred to; its global access counts
// only where the local reference is no digest.
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

// global is the global access of a localBlob, where it is the way to take.
func (a Access) global() (Access, bool) {
	if a.Kind() != AccessLocalBlob || a.GlobalAccess == nil || sha256Digest.MatchString(a.LocalReference) {
		return Access{}, false
	}
	kind := a.GlobalAccess.Kind()
	return *a.GlobalAccess, kind == AccessOCIBlob || kind == AccessOCIArtifact
}
