package bundle

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts/render"
)

// Adapted returns the rendered objects as Build takes them into a bundle, before it encodes them: without the fields that
// others own, and with the adaptation. The rendered objects are changed.
func Adapted(rendered *render.Rendered, by Adaptation) ([]*unstructured.Unstructured, error) {
	dropIgnored(rendered.Objects)
	if err := by.adapt(rendered.Objects); err != nil {
		return nil, err
	}
	return rendered.Objects, nil
}
