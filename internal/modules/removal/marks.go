package removal

import "github.com/kyma-project/lifecycle-manager/api/shared"

// markLabels and markAnnotations are what would make us, or anybody who trusts them, change or remove an object.
func markLabels() []string { return []string{shared.LabelManagedBy, shared.LabelWatchedBy} }

func markAnnotations() []string {
	return []string{shared.AnnotationOwnedBy, shared.AnnotationOwnedByUpstream, shared.AnnotationAppliedDigest, shared.AnnotationDisclaimer}
}

// noneOf is a merge patch that removes these keys.
func noneOf(keys []string) map[string]any {
	patch := map[string]any{}
	for _, key := range keys {
		patch[key] = nil
	}
	return patch
}
