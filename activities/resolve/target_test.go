package resolve

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/activities/resolve/planning"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestThatAModuleGoesIntoTheControlPlaneIsRecordedForTheSpecThatWasPlanned(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	made := b.only(t)
	require.Equal(t, &v1beta2.TargetRecord{Cluster: v1beta2.TargetClusterControlPlane, SpecDigest: desired.SpecDigest(made.Spec)}, made.Status.Target)
	require.True(t, desired.IsDecided(made))

	made.Status.Target = nil
	require.NoError(t, b.Cluster.Status().Update(context.Background(), made))
	b.reconcile(t)
	require.True(t, desired.IsDecided(b.only(t)), "a record that was lost, or never written, comes with the next reconcile")
}

func TestARemoteModuleHasNoRecordOfTheControlPlane(t *testing.T) {
	kyma := desiredtest.Accepted(desiredtest.Kyma("keda"), v1beta2.SyncGenerationDefault, "regular", v1beta2.Module{Name: "keda"})
	b := newBench(t, kyma, desired.Settings{Mode: desired.ModeControlPlane}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	made := b.only(t)
	require.True(t, made.Spec.Remote)
	require.Nil(t, made.Status.Target)
	require.True(t, desired.IsDecided(made))
}

func TestAManifestThatTodaysGenerationWroteBecomesRemote(t *testing.T) {
	kyma := desiredtest.Accepted(desiredtest.Kyma("keda"), v1beta2.SyncGenerationDefault, "regular", v1beta2.Module{Name: "keda"})
	theirs := installed("keda", "1.0.0") // with the schema's default, remote: false
	theirs.Status.Synced = []v1beta2.SyncedObject{{Version: "v1", Kind: "ConfigMap", Name: "keda"}}
	b := newBench(t, kyma, desired.Settings{Mode: desired.ModeControlPlane}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), theirs)
	require.False(t, desired.IsDecided(theirs))
	require.Equal(t, []string{theirs.Name}, b.reconcile(t).Updated)
	now := b.only(t)
	require.True(t, now.Spec.Remote)
	require.True(t, desired.IsDecided(now))
}

func TestAnEditedSpecIsPutBackWithAnEvent(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	events := &recorder{}
	b.events = events
	b.reconcile(t)
	was := b.only(t)
	b.reconcile(t)
	require.Empty(t, events.told)

	edited := was.DeepCopy()
	edited.Spec.Version = "9.9.9"
	require.NoError(t, b.Cluster.Update(context.Background(), edited))
	require.True(t, desired.IsEdited(b.only(t)))
	require.False(t, desired.IsDecided(b.only(t)), "nor was that decided for the control plane")
	b.reconcile(t)
	now := b.only(t)
	require.Equal(t, was.Spec, now.Spec)
	require.False(t, desired.IsEdited(now))
	require.Len(t, events.told, 1)
	require.Contains(t, events.told[0], "SpecRestored")
}

type recorder struct{ told []string }

func (r *recorder) Event(_ runtime.Object, _, reason, message string) {
	r.told = append(r.told, reason+": "+message)
}

func (r *recorder) AnnotatedEventf(about runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	r.Event(about, eventType, reason, fmt.Sprintf(format, args...))
}

func TestADigestOfASpecDoesNotDependOnTheOrderOfFields(t *testing.T) {
	spec := func(raw string) v1beta2.ManifestSpec {
		return v1beta2.ManifestSpec{Version: "1.0.0", Resource: &runtime.RawExtension{Raw: []byte(raw)}}
	}
	first := desired.SpecDigest(spec(`{"kind":"A","spec":{"a":1,"b":2}}`))
	require.Equal(t, first, desired.SpecDigest(spec(`{"spec": {"b":2, "a":1}, "kind":"A"}`)))
	require.NotEqual(t, first, desired.SpecDigest(spec(`{"spec": {"b":2, "a":3}, "kind":"A"}`)))
}

func TestOnlyTheControllerOfAManifestOwnsIt(t *testing.T) {
	m := installed("keda", "1.0.0")
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{UID: "kyma-uid"}}
	require.True(t, planning.OwnedBy(m, kyma))
	m.OwnerReferences[0].Controller = nil
	require.False(t, planning.OwnedBy(m, kyma))
}
