package removal

import "github.com/kyma-project/lifecycle-manager/api/shared"

// markLabels and markAnnotations are the marks on which we, and others who trust them, rely when we change or remove
// an object.
func markLabels() []string { return []string{shared.LabelManagedBy, shared.LabelWatchedBy} }

func markAnnotations() []string {
	return []string{shared.AnnotationOwnedBy, shared.AnnotationOwnedByUpstream, shared.AnnotationAppliedDigest, shared.AnnotationDisclaimer}
}

// noneOf returns a merge patch that removes these keys.
func noneOf(keys []string) map[string]any {
	patch := map[string]any{}
	for _, key := range keys {
		patch[key] = nil
	}
	return patch
}
