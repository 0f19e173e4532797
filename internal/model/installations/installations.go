// Package installations lets the engine treat an agent like a module. In the control plane an agent is a RemoteAgent
// and not a Manifest, because operators have scripts that act on all Manifests of a Kyma or of all mandatory modules.
// The readers and clients of this package return a RemoteAgent as a Manifest with the RemoteAgent's name
// (shared.IsRemoteAgentName).
package installations

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Reader returns a reader that finds RemoteAgents as Manifests. If the control plane does not define RemoteAgents,
// because only upstream runs there, the reader finds none.
func Reader(r client.Reader) client.Reader {
	switch r.(type) {
	case reader, *writer:
		return r
	}
	return reader{r}
}

// Client returns a client that reads and writes RemoteAgents as Manifests.
func Client(c client.Client) client.Client {
	if _, ok := c.(*writer); ok {
		return c
	}
	return &writer{Client: c}
}

// Resource returns the object of the control plane that a Manifest of the engine stands for: a RemoteAgent if the
// Manifest is an agent's.
func Resource(m *v1beta2.Manifest) client.Object {
	if !shared.IsRemoteAgentName(m.Name) {
		return m
	}
	agent := v1beta2.RemoteAgent(*m)
	agent.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(shared.KindRemoteAgent))
	return &agent
}

type reader struct{ client.Reader }

// Get implements client.Reader.
func (r reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return get(ctx, r.Reader, key, into, options)
}

// List implements client.Reader.
func (r reader) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	return list(ctx, r.Reader, into, options)
}

func get(ctx context.Context, r client.Reader, key client.ObjectKey, into client.Object, options []client.GetOption) error {
	return as(into, key.Name, func(resource client.Object) error {
		err := r.Get(ctx, key, resource, options...)
		if meta.IsNoMatchError(err) && resource != into {
			return apierrors.NewNotFound(v1beta2.GroupVersion.WithResource(shared.ResourceRemoteAgents).GroupResource(), key.Name)
		}
		return err
	})
}

// list adds the RemoteAgents to a list of Manifests, and removes the Manifests that earlier builds created for agents.
func list(ctx context.Context, r client.Reader, into client.ObjectList, options []client.ListOption) error {
	err := r.List(ctx, into, options...)
	manifests, ok := into.(*v1beta2.ManifestList)
	if err != nil || !ok {
		return err
	}
	var agents v1beta2.RemoteAgentList
	if err := r.List(ctx, &agents, options...); err != nil && !meta.IsNoMatchError(err) {
		return err
	}
	modules := manifests.Items
	manifests.Items = make([]v1beta2.Manifest, 0, len(modules)+len(agents.Items))
	for i := range modules {
		if !isFormer(&modules[i]) {
			manifests.Items = append(manifests.Items, modules[i])
		}
	}
	for i := range agents.Items {
		if m := v1beta2.Manifest(agents.Items[i]); shared.IsRemoteAgentName(m.Name) {
			m.TypeMeta = metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindManifest}
			manifests.Items = append(manifests.Items, m)
		}
	}
	return nil
}

// as calls a function with the resource that an object stands for: a RemoteAgent if it is a Manifest with a
// RemoteAgent's name, else the object itself. Both share their memory, so changes to the resource are changes to the
// object.
func as(object client.Object, name string, call func(resource client.Object) error) error {
	if !shared.IsRemoteAgentName(name) {
		return call(object)
	}
	resource := object
	if m, ok := object.(*v1beta2.Manifest); ok {
		resource = (*v1beta2.RemoteAgent)(m)
	}
	return named(object, func() error { return call(resource) })
}

// named calls a function while the kind of an object is renamed from Manifest to RemoteAgent, and restores the kind
// afterwards.
func named(object runtime.Object, call func() error) error {
	kind := object.GetObjectKind()
	rename := func(from, to string) {
		if gvk := kind.GroupVersionKind(); gvk.Kind == from {
			kind.SetGroupVersionKind(gvk.GroupVersion().WithKind(to))
		}
	}
	rename(shared.KindManifest, shared.KindRemoteAgent)
	defer rename(shared.KindRemoteAgent, shared.KindManifest)
	return call()
}
