package inprocess

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/test/harness/fixture"
)

// operatorsFinalizer keeps a custom resource until its operator has cleaned up.
const operatorsFinalizer = "example.com/operator"

// operator stands in for the operator of the module: it sets a custom resource Ready, and removes its finalizer when it is
// being deleted. Like a real one, it works only while its Deployment and its account are there.
type operator struct {
	harness *Harness
	module  fixture.Module
}

// Serve runs the operator of the module with this id until the end of the test.
func (h *Harness) Serve(t testing.TB, id string) {
	ctx, cancel := context.WithCancel(context.Background())
	o := &operator{harness: h, module: fixture.Module(id)}
	var working sync.WaitGroup
	working.Go(func() {
		for ctx.Err() == nil {
			if o.isDeployed(ctx) {
				o.step(ctx)
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		working.Wait()
	})
}

func (o *operator) isDeployed(ctx context.Context) bool {
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	_, err := o.harness.remote.Resource(deployments).Namespace(o.module.Namespace()).Get(ctx, "operator", metav1.GetOptions{})
	if err != nil {
		return false
	}
	account := &corev1.ServiceAccount{}
	err = o.harness.Remote.Get(ctx, keyOf(o.module.Namespace(), "operator"), account)
	return !apierrors.IsNotFound(err)
}

// step does what is next for each custom resource. What fails is retried with the next step.
func (o *operator) step(ctx context.Context) {
	crs := o.harness.remote.Resource(o.module.Widgets()).Namespace(o.module.RemoteNamespace())
	list, err := crs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range list.Items {
		cr := &list.Items[i]
		hasFinalizer := slices.Contains(cr.GetFinalizers(), operatorsFinalizer)
		state, _, _ := unstructured.NestedString(cr.Object, "status", "state")
		switch {
		case cr.GetDeletionTimestamp() != nil && hasFinalizer:
			cr.SetFinalizers(nil)
			_, _ = crs.Update(ctx, cr, metav1.UpdateOptions{})
		case cr.GetDeletionTimestamp() != nil:
		case !hasFinalizer:
			cr.SetFinalizers([]string{operatorsFinalizer})
			_, _ = crs.Update(ctx, cr, metav1.UpdateOptions{})
		case state != "Ready":
			if unstructured.SetNestedField(cr.Object, "Ready", "status", "state") == nil {
				_, _ = crs.UpdateStatus(ctx, cr, metav1.UpdateOptions{})
			}
		}
	}
}
