package install

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// replaceImages replaces the images of rendered workloads by their localized copies: those whose last path
// segment and tag are the same, wherever they come from.
func replaceImages(objects []*unstructured.Unstructured, localized []string) {
	if len(localized) == 0 {
		return
	}
	byName := make(map[string]string, len(localized))
	for _, image := range localized {
		byName[nameAndTag(image)] = image
	}
	for _, u := range objects {
		path, ok := podSpecPath(u.GroupVersionKind().GroupKind())
		if !ok {
			continue
		}
		for _, list := range []string{"initContainers", "containers"} {
			found, _, _ := unstructured.NestedFieldNoCopy(u.Object, append(slices.Clone(path), list)...)
			containers, _ := found.([]any)
			for _, container := range containers {
				c, ok := container.(map[string]any)
				if !ok {
					continue
				}
				image, _ := c["image"].(string)
				if replacement, ok := byName[nameAndTag(image)]; ok {
					c["image"] = replacement
				}
			}
		}
	}
}

// nameAndTag is the last path segment of an image with its tag, without a digest.
func nameAndTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	return image[strings.LastIndex(image, "/")+1:]
}

func podSpecPath(kind schema.GroupKind) ([]string, bool) {
	switch kind {
	case schema.GroupKind{Kind: kindPod}:
		return []string{pathSpec}, true
	case schema.GroupKind{Group: groupBatch, Kind: "CronJob"}:
		return []string{pathSpec, "jobTemplate", pathSpec, "template", pathSpec}, true
	case schema.GroupKind{Group: groupApps, Kind: kindDeployment},
		schema.GroupKind{Group: groupApps, Kind: kindStatefulSet},
		schema.GroupKind{Group: groupApps, Kind: "DaemonSet"},
		schema.GroupKind{Group: groupApps, Kind: kindReplicaSet},
		schema.GroupKind{Group: groupBatch, Kind: kindJob}:
		return []string{pathSpec, "template", pathSpec}, true
	}
	return nil, false
}

// imagesKey is the part of a bundle's key that stands for the localized images.
func imagesKey(localized []string) string {
	if len(localized) == 0 {
		return ""
	}
	return "|" + strings.Join(localized, ",")
}
