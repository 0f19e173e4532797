package desiredtest

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Scheme returns a scheme with the built-in kinds and ours.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(v1beta2.AddToScheme(scheme))
	return scheme
}

// Cluster is an API server in memory that records requests. In addition to the fake client's features, it gives objects
// uids and generations like a real server.
type Cluster struct {
	client.Client
	mu     sync.Mutex
	reads  []string
	writes []string
	// Fail is called before each request, if it is set. If it returns an error, the request fails with it.
	Fail func(verb string, object string) error
	next int
}

// NewCluster returns a cluster with these objects, and the namespace kube-system with the given uid.
func NewCluster(uid string, objects ...client.Object) *Cluster {
	c := &Cluster{}
	all := append([]client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shared.NamespaceKubeSystem, UID: types.UID(uid)}}}, objects...)
	inner := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(all...).WithReturnManagedFields().
		WithStatusSubresource(&v1beta2.Kyma{}, &v1beta2.Manifest{}, &v1beta2.RemoteAgent{}, &v1beta2.ModuleRollout{}, &v1beta2.RolloutPolicy{}, &v1beta2.RemovalBudget{}).
		WithIndex(&v1beta2.ModuleTemplate{}, desired.IndexTemplateKeys, desired.TemplateKeysIndexer).
		WithIndex(&v1beta2.ModuleReleaseMeta{}, desired.IndexReleaseMetaKeys, desired.ReleaseMetaKeysIndexer).
		WithIndex(&v1beta2.ModuleRollout{}, desired.IndexRolloutModule, desired.RolloutModuleIndexer).
		WithIndex(&v1beta2.Manifest{}, "lifecycle-manager.manifest-component", func(object client.Object) []string {
			return []string{object.GetAnnotations()[shared.AnnotationOCMComponentName]}
		}).
		Build()
	c.Client = interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := c.note(&c.reads, "get", o, key.Name); err != nil {
				return err
			}
			return w.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := c.note(&c.reads, "list", list, ""); err != nil {
				return err
			}
			return w.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := c.note(&c.writes, "create", o, o.GetName()); err != nil {
				return err
			}
			c.born(o)
			return w.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if err := c.note(&c.writes, "update", o, o.GetName()); err != nil {
				return err
			}
			if !sameSpec(ctx, w, o) {
				o.SetGeneration(o.GetGeneration() + 1)
			}
			return w.Update(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := c.note(&c.writes, "delete", o, o.GetName()); err != nil {
				return err
			}
			return w.Delete(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, w client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := c.note(&c.writes, "patch", o, o.GetName()); err != nil {
				return err
			}
			return w.Patch(ctx, o, patch, opts...)
		},
		Apply: func(ctx context.Context, w client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return c.apply(ctx, w, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, w client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := c.note(&c.writes, "patch "+sub, o, o.GetName()); err != nil {
				return err
			}
			err := w.SubResource(sub).Patch(ctx, o, patch, opts...)
			if patch.Type() == types.JSONPatchType && err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
				// In the fake client, a failed test in a JSON patch is not an API error.
				return apierrors.NewInvalid(schema.GroupKind{}, o.GetName(), nil)
			}
			return err
		},
		SubResourceUpdate: func(ctx context.Context, w client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			if err := c.note(&c.writes, "update "+sub, o, o.GetName()); err != nil {
				return err
			}
			return w.SubResource(sub).Update(ctx, o, opts...)
		},
	})
	return c
}

// sameSpec reports whether an update changes only metadata and status.
func sameSpec(ctx context.Context, w client.Client, o client.Object) bool {
	stored, ok := o.DeepCopyObject().(client.Object)
	if !ok || w.Get(ctx, client.ObjectKeyFromObject(o), stored) != nil {
		return false
	}
	content := func(object client.Object) map[string]any {
		all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil
		}
		for _, part := range []string{"metadata", "status", "kind", "apiVersion"} {
			delete(all, part)
		}
		return all
	}
	return equality.Semantic.DeepEqual(content(stored), content(o))
}

// apply applies with the fake client, then sets what a real server would set: a uid, and a generation that changes with
// the spec.
func (c *Cluster) apply(ctx context.Context, w client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	configuration, ok := o.(interface{ GetName() *string })
	name := ""
	if ok && configuration.GetName() != nil {
		name = *configuration.GetName()
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	sent := &unstructured.Unstructured{Object: content}
	if name == "" {
		name = sent.GetName()
	}
	if err := c.note(&c.writes, "apply", sent, name); err != nil {
		return err
	}
	before := &unstructured.Unstructured{}
	before.SetGroupVersionKind(sent.GroupVersionKind())
	existed := w.Get(ctx, client.ObjectKeyFromObject(sent), before) == nil
	if err := w.Apply(ctx, o, opts...); err != nil {
		return err
	}
	after := &unstructured.Unstructured{}
	after.SetGroupVersionKind(sent.GroupVersionKind())
	if err := w.Get(ctx, client.ObjectKeyFromObject(sent), after); err != nil {
		return err
	}
	switch {
	case !existed:
		c.born(after)
	case !reflect.DeepEqual(before.Object["spec"], after.Object["spec"]):
		after.SetGeneration(before.GetGeneration() + 1)
	default:
		after.SetGeneration(before.GetGeneration())
	}
	if err := w.Update(ctx, after, client.FieldOwner("api-server")); err != nil {
		return err
	}
	// The configuration that was passed in gets the server's answer.
	if answer, ok := o.(interface{ UnstructuredContent() map[string]any }); ok {
		content := answer.UnstructuredContent()
		content["metadata"] = after.Object["metadata"]
	}
	return nil
}

func (c *Cluster) born(o client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	if o.GetUID() == "" {
		o.SetUID(types.UID("uid-" + o.GetName() + "-" + strconv.Itoa(c.next)))
	}
	if o.GetGeneration() == 0 {
		o.SetGeneration(1)
	}
}

func (c *Cluster) note(where *[]string, verb string, o runtime.Object, name string) error {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = reflect.TypeOf(o).Elem().Name()
	}
	what := fmt.Sprintf("%s %s", verb, kind)
	if name != "" {
		what += " " + name
	}
	c.mu.Lock()
	*where = append(*where, what)
	fail := c.Fail
	c.mu.Unlock()
	if fail != nil {
		return fail(verb, kind+" "+name)
	}
	return nil
}

// Writes returns the requests that changed something since the last Forget, as "verb Kind name".
func (c *Cluster) Writes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.writes...)
}

// Reads returns the requests that read something since the last Forget.
func (c *Cluster) Reads() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.reads...)
}

// Forget clears the recorded requests.
func (c *Cluster) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads, c.writes = nil, nil
}
