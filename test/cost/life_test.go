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

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// TestALifeIsRecorded records what is asked of a cluster from the first synchronization to the purge, for the tests that
// ask the same of a fake cluster and of a real one (test/memfleet/conformance).
func TestALifeIsRecorded(t *testing.T) {
	if os.Getenv("RECORD_REQUESTS") == "" {
		t.Skip("`make record-requests` runs it")
	}
	i := newInstance(t, true)
	untilUpgraded(i, &bill{}, 1)
	i.recorder.Begin("prune")
	upgradeTo(i, harness.TwentyExchanged())
	i.recorder.Begin("removal")
	removed(i)
	i.recorder.Begin("purge")
	purged(i)
	i.recorder.Write(t, harness.RecordedRequests(t))
}

// removed lets the cluster's owner do without the module.
func removed(i *instance) {
	i.askFor()
	i.kickKyma()
	i.until("the Manifest is being deleted", func() bool {
		m := i.manifest()
		return m == nil || m.DeletionTimestamp != nil
	})
	i.kickRemoval()
	i.until("the Manifest is gone", func() bool { return i.manifest() == nil })
	i.kickKyma()
	i.until("the Kyma is Ready", func() bool {
		kyma := i.kyma()
		return kyma.Status.State == shared.StateReady && len(kyma.Status.Modules) == 0
	})
	i.quiet()
}

// purged lets the Kyma be deleted while one of the module's custom resources has a finalizer that nobody serves.
func purged(i *instance) {
	installed(i, harness.TwentyExchanged())
	held := &unstructured.Unstructured{}
	held.SetAPIVersion(harness.Twenty(i.id).Widgets().GroupVersion().String())
	held.SetKind("Widget")
	held.SetNamespace(harness.Twenty(i.id).Namespace())
	held.SetName("held")
	held.SetFinalizers([]string{"example.com/nobody"})
	require.NoError(i, i.Remote.Create(i.Context(), held))

	kyma := i.kyma()
	metav1.SetMetaDataAnnotation(&kyma.ObjectMeta, shared.AnnotationPurgeGracePeriod, "5s")
	require.NoError(i, i.Control.Update(i.Context(), kyma))
	require.NoError(i, i.Control.Delete(i.Context(), kyma))
	i.kickKyma()
	i.until("the Manifest is being deleted", func() bool {
		m := i.manifest()
		return m == nil || m.DeletionTimestamp != nil
	})
	i.kickRemoval()
	i.until("the Kyma is gone", func() bool {
		return apierrors.IsNotFound(i.Control.Get(context.Background(), client.ObjectKey{Namespace: i.id, Name: kymaName}, &v1beta2.Kyma{}))
	})
	i.quiet()
}

// kickRemoval tells the Manifest's workflow that it is being deleted.
func (i *instance) kickRemoval() {
	i.Helper()
	if m := i.manifest(); m != nil {
		require.NoError(i, i.assembly.Kicks.Manifest(i.Context(), kick.RefOf(m), kick.Kick{Reason: "Manifest changed", Urgent: true, Deleting: true}))
	}
}
