package objects

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// absent is a resource version that no object has. An apply with it creates an object, and is refused as a conflict
// if the object exists.
//
// In the first two seconds of a definition's life, the API server delays a POST of its kind by two seconds, for API
// servers that have not seen the definition yet (crdHandler in k8s.io/apiextensions-apiserver). It answers an apply
// at once. An apply is stricter about the schema, so an object that an apply refuses is posted as well.
const absent = "1"

// isRefusal reports whether an API server answered with an error. An API server that does not answer is not asked
// twice.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// Create creates a custom resource, even right after its definition was created. It returns an error if the object
// already exists.
func Create(ctx context.Context, c dynamic.ResourceInterface, object *unstructured.Unstructured, fieldManager string) (*unstructured.Unstructured, error) {
	applied := object.DeepCopy()
	applied.SetResourceVersion(absent)
	live, err := c.Apply(ctx, object.GetName(), applied, metav1.ApplyOptions{FieldManager: fieldManager})
	if !isRefusal(err) {
		return live, err
	}
	return c.Create(ctx, object, metav1.CreateOptions{FieldManager: fieldManager})
}

// CreateTyped is Create for an object of a Go type. It updates the object with the API server's answer.
func CreateTyped(ctx context.Context, c client.Client, object client.Object, owner client.FieldOwner) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("convert %s: %w", object.GetName(), err)
	}
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return fmt.Errorf("find the kind of %s: %w", object.GetName(), err)
	}
	unstructured.RemoveNestedField(content, "status")
	applied := &unstructured.Unstructured{Object: content}
	applied.SetGroupVersionKind(kind)
	applied.SetResourceVersion(absent)
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), owner)
	switch {
	case err == nil:
		return runtime.DefaultUnstructuredConverter.FromUnstructured(applied.Object, object)
	case isRefusal(err):
		return c.Create(ctx, object, owner)
	}
	return err
}
