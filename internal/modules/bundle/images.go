package bundle

import (
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// replaceImages replaces the images of rendered workloads by their localized copies. A copy has the same name (the
// last segment of the path), tag and digest; its registry does not matter. Environment variables with an image as
// their value are replaced as well, because operators get the images that they run this way.
func replaceImages(objects []*unstructured.Unstructured, localized []string) {
	if len(localized) == 0 {
		return
	}
	copies := make(map[string][]image, len(localized))
	for _, reference := range localized {
		parsed := parseImage(reference)
		copies[parsed.name] = append(copies[parsed.name], parsed)
	}
	replacement := func(reference string) (string, bool) {
		original := parseImage(reference)
		for _, candidate := range copies[original.name] {
			if original.isCopiedTo(candidate) {
				return candidate.reference, true
			}
		}
		return "", false
	}
	for _, u := range objects {
		path, ok := kinds.PodSpecPath(u.GroupVersionKind().GroupKind())
		if !ok {
			continue
		}
		for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
			found, _, _ := unstructured.NestedFieldNoCopy(u.Object, append(slices.Clone(path), list)...)
			containers, _ := found.([]any)
			for _, content := range containers {
				if container, ok := content.(map[string]any); ok {
					localize(container, replacement)
				}
			}
		}
	}
}

// localize replaces the image of a container and the images in its environment.
func localize(container map[string]any, replacement func(string) (string, bool)) {
	reference, _ := container["image"].(string)
	if local, ok := replacement(reference); ok {
		container["image"] = local
	}
	variables, _ := container["env"].([]any)
	for _, content := range variables {
		variable, _ := content.(map[string]any)
		value, _ := variable["value"].(string)
		// A value without a registry and a tag or digest could be any word.
		parsed, err := name.ParseReference(value, name.StrictValidation)
		if err != nil || strings.Contains(value, "://") || strings.ContainsAny(value, "= ") ||
			!strings.HasPrefix(value, parsed.Context().RegistryStr()+"/") {
			continue
		}
		if local, ok := replacement(value); ok {
			variable["value"] = local
		}
	}
}

// image is a parsed image reference. Tag and digest may be empty.
type image struct{ reference, name, tag, digest string }

func parseImage(reference string) image {
	rest, digest, _ := strings.Cut(reference, "@")
	last, tag, _ := strings.Cut(rest[strings.LastIndex(rest, "/")+1:], ":")
	return image{reference: reference, name: last, tag: tag, digest: digest}
}

// isCopiedTo reports whether both references mean the same image. If both have a tag or a digest, these must be
// equal. A reference with only a tag never equals a reference with only a digest, because nothing proves it.
func (i image) isCopiedTo(other image) bool {
	switch {
	case i.name == "" || i.name != other.name:
		return false
	case i.digest != "" && other.digest != "":
		return i.digest == other.digest
	default:
		return i.tag == other.tag && (i.tag != "" || i.digest == other.digest)
	}
}
