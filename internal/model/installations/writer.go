package installations

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

type writer struct{ client.Client }

// Get implements client.Reader.
func (w *writer) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return get(ctx, w.Client, key, into, options)
}

// List implements client.Reader.
func (w *writer) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	return list(ctx, w.Client, into, options)
}

// Create implements client.Writer.
func (w *writer) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	return as(object, object.GetName(), func(resource client.Object) error { return w.Client.Create(ctx, resource, options...) })
}

// Delete implements client.Writer.
func (w *writer) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return as(object, object.GetName(), func(resource client.Object) error { return w.Client.Delete(ctx, resource, options...) })
}

// Update implements client.Writer.
func (w *writer) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	return as(object, object.GetName(), func(resource client.Object) error { return w.Client.Update(ctx, resource, options...) })
}

// Patch implements client.Writer.
func (w *writer) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	patch, err := computed(patch, object)
	if err != nil {
		return err
	}
	return as(object, object.GetName(), func(resource client.Object) error { return w.Client.Patch(ctx, resource, patch, options...) })
}

// Apply implements client.Writer.
func (w *writer) Apply(ctx context.Context, configuration runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	object, ok := configuration.(client.Object)
	if !ok || !shared.IsRemoteAgentName(object.GetName()) {
		return w.Client.Apply(ctx, configuration, options...)
	}
	return named(object, func() error { return w.Client.Apply(ctx, configuration, options...) })
}

// Status implements client.StatusClient.
func (w *writer) Status() client.SubResourceWriter { return status{w.Client.Status()} }

type status struct{ client.SubResourceWriter }

// Update implements client.SubResourceWriter.
func (s status) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	return as(object, object.GetName(), func(resource client.Object) error { return s.SubResourceWriter.Update(ctx, resource, options...) })
}

// Patch implements client.SubResourceWriter.
func (s status) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	patch, err := computed(patch, object)
	if err != nil {
		return err
	}
	return as(object, object.GetName(), func(resource client.Object) error {
		return s.SubResourceWriter.Patch(ctx, resource, patch, options...)
	})
}

// computed returns the patch with its content if the object is a RemoteAgent. A merge patch must be computed before the
// object changes its type, because it compares two objects of the same type.
func computed(patch client.Patch, object client.Object) (client.Patch, error) {
	if !shared.IsRemoteAgentName(object.GetName()) {
		return patch, nil
	}
	content, err := patch.Data(object)
	if err != nil {
		return nil, err
	}
	return client.RawPatch(patch.Type(), content), nil
}
