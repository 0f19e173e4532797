package cost

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness/fixture"
	"github.com/kyma-project/lifecycle-manager/test/harness/recorder"
)

// TestTheRequestsOfALifeAreRecorded records the requests to a cluster from the first synchronization to the purge, for
// the tests that send them to a fake cluster and to a real one (test/memfleet/conformance).
func TestTheRequestsOfALifeAreRecorded(t *testing.T) {
	if os.Getenv("RECORD_REQUESTS") == "" {
		t.Skip("`make record-requests` runs it")
	}
	i := newInstance(t, true)
	untilUpgraded(i, &bill{}, 1)
	i.recorder.Begin("prune")
	upgradeTo(i, fixture.Exchanged())
	i.recorder.Begin("removal")
	removed(i)
	i.recorder.Begin("purge")
	purged(i)
	i.recorder.Write(t, recorder.Folder(t))
}

// removed removes the module as the cluster's owner does.
func removed(i *instance) {
	i.askFor()
	i.kickKyma()
	i.until("the Manifest is being deleted", func() bool {
		m := i.manifest()
		return m == nil || m.DeletionTimestamp != nil
	})
	i.until("the Manifest is gone", func() bool { return i.manifest() == nil })
	i.kickKyma()
	i.until("the Kyma is Ready", func() bool {
		kyma := i.kyma()
		return kyma.Status.State == shared.StateReady && len(kyma.Status.Modules) == 0
	})
	i.quiet()
}

// purged deletes the Kyma while one of the module's custom resources has a finalizer that nobody serves.
func purged(i *instance) {
	installed(i, fixture.Exchanged())
	blocked := &unstructured.Unstructured{}
	blocked.SetAPIVersion(fixture.Module(i.id).Widgets().GroupVersion().String())
	blocked.SetKind("Widget")
	blocked.SetNamespace(fixture.Module(i.id).Namespace())
	blocked.SetName("blocked")
	blocked.SetFinalizers([]string{"example.com/nobody"})
	require.NoError(i, i.Remote.Create(i.Context(), blocked))

	kyma := i.kyma()
	metav1.SetMetaDataAnnotation(&kyma.ObjectMeta, shared.AnnotationPurgeGracePeriod, "5s")
	require.NoError(i, i.Control.Update(i.Context(), kyma))
	require.NoError(i, i.Control.Delete(i.Context(), kyma))
	i.kickKyma()
	i.until("the Manifest is being deleted", func() bool {
		m := i.manifest()
		return m == nil || m.DeletionTimestamp != nil
	})
	i.until("the Kyma is gone", func() bool {
		return apierrors.IsNotFound(i.Control.Get(context.Background(), client.ObjectKey{Namespace: i.id, Name: kymaName}, &v1beta2.Kyma{}))
	})
	i.quiet()
}
