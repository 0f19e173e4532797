package resolve

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
)

func TestAControlPlaneTargetIsRecordedForThePlannedSpec(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	made := b.only(t)
	require.Equal(t, &v1beta2.TargetRecord{Cluster: v1beta2.TargetClusterControlPlane, SpecDigest: desired.SpecDigest(made.Spec)}, made.Status.Target)
	require.True(t, desired.IsDecided(made))

	made.Status.Target = nil
	require.NoError(t, b.Cluster.Status().Update(context.Background(), made))
	b.reconcile(t)
	require.True(t, desired.IsDecided(b.only(t)), "the next reconcile writes a missing record")
}

func TestThePlannedManifestIsRecordedBeforeItIsWritten(t *testing.T) {
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, template)
	b.Cluster.Fail = func(verb, _ string) error {
		if verb == "apply" {
			return errors.New("the process died")
		}
		return nil
	}
	_, err := b.ResolveKyma(context.Background(), b.in)
	require.Error(t, err)
	require.Len(t, b.read(t).Status.Planned, 1)
	b.Cluster.Fail = nil
	b.reconcile(t)
	require.True(t, planned.Allows(b.read(t), b.only(t)))

	b.upgrade(t, template, "1.1.0")
	b.reconcile(t)
	require.Equal(t, "1.1.0", b.only(t).Spec.Version)
	require.True(t, planned.Allows(b.read(t), b.only(t)))

	kyma := b.read(t)
	kyma.Status.Planned = nil
	require.NoError(t, b.Cluster.Status().Update(context.Background(), kyma))
	b.Cluster.Forget()
	b.reconcile(t)
	require.True(t, planned.Allows(b.read(t), b.only(t)), "the next reconcile writes a missing record")
	require.Equal(t, []string{"patch status Kyma kyma-sample"}, b.Cluster.Writes(), "and writes nothing else")
}

func TestAnUnplannedManifestIsReleased(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	forged := b.only(t).DeepCopy()
	forged.Name, forged.UID, forged.ResourceVersion, forged.Status = "forged", "", "", v1beta2.ManifestStatus{}
	forged.Labels[shared.LabelMandatoryModule], forged.Labels[shared.LabelSkipReconciliation] = "true", "true"
	require.NoError(t, b.Cluster.Create(context.Background(), forged))
	theirs := forged.DeepCopy()
	theirs.Name, theirs.UID, theirs.ResourceVersion = "upstreams", "", ""
	theirs.Status.Synced = []v1beta2.SyncedObject{{Version: "v1", Kind: "ConfigMap", Name: "keda"}}
	require.NoError(t, b.Cluster.Create(context.Background(), theirs))
	b.reconcile(t)
	var names []string
	for _, m := range b.manifests(t) {
		names = append(names, m.Name)
	}
	require.Len(t, names, 2, names)
	require.NotContains(t, names, "forged", "despite its finalizers, and without a removal")
	require.Contains(t, names, "upstreams", "upstream's Manifest is not a forgery")
}

func TestARemoteModuleHasNoControlPlaneRecord(t *testing.T) {
	kyma := desiredtest.Accepted(desiredtest.Kyma("keda"), v1beta2.SyncGenerationDefault, "regular", v1beta2.Module{Name: "keda"})
	b := newBench(t, kyma, desired.Settings{Mode: desired.ModeControlPlane}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	made := b.only(t)
	require.True(t, made.Spec.Remote)
	require.Nil(t, made.Status.Target)
	require.True(t, desired.IsDecided(made))
}

func TestAManifestWrittenByUpstreamsCurrentGenerationBecomesRemote(t *testing.T) {
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

func TestAnEditedSpecIsRestoredWithAnEvent(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	events := &recorder{}
	b.Events = events
	b.reconcile(t)
	was := b.only(t)
	b.reconcile(t)
	require.Empty(t, events.told)

	edited := was.DeepCopy()
	edited.Spec.Version = "9.9.9"
	require.NoError(t, b.Cluster.Update(context.Background(), edited))
	require.True(t, desired.IsEdited(b.only(t)))
	require.False(t, desired.IsDecided(b.only(t)), "nor is the edited spec decided for the control plane")
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
