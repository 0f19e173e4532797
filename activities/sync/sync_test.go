package sync

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/definitions"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// bench is an instance with one Kyma. Its control plane and its remote cluster are in memory.
type bench struct {
	*Activities
	control, remote *desiredtest.Cluster
	in              Input
	unreachable     error
	// access is cached until it is set to nil, like in the registry of clusters.
	access *clusters.Cluster
	// now is the clock of the activities, or nil for time.Now.
	now func() time.Time
}

func (b *bench) Reach(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error) {
	return b.ForKyma(ctx, namespace, kymaName)
}

func (b *bench) ForKyma(context.Context, string, string) (*clusters.Cluster, error) {
	if b.unreachable != nil {
		return nil, b.unreachable
	}
	if b.access == nil {
		b.access = &clusters.Cluster{}
	}
	b.access.Client = b.remote
	return b.access, nil
}

func newBench(t *testing.T, kyma *v1beta2.Kyma, settings desired.Settings, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{
		control: desiredtest.NewCluster("control-uid", append([]client.Object{kyma}, objects...)...),
		remote:  desiredtest.NewCluster("remote-uid"),
		in:      Input{Ref: kick.RefOf(kyma)},
	}
	b.assemble(t, settings, "1.0.0")
	return b
}

func (b *bench) assemble(t *testing.T, settings desired.Settings, version string) {
	t.Helper()
	all, err := crds.Get(crds.Kymas, crds.ModuleTemplates, crds.ModuleReleaseMetas)
	require.NoError(t, err)
	b.Activities, err = New(Options{
		Settings: settings, ControlPlane: b.control, Catalog: b.control, Clusters: b, Definitions: all, Version: version,
		Clock: func() time.Time {
			if b.now != nil {
				return b.now()
			}
			return time.Now()
		},
	})
	require.NoError(t, err)
}

func (b *bench) sync(t *testing.T) Result {
	t.Helper()
	result, err := b.syncRemote(context.Background(), b.in)
	require.NoError(t, err)
	return result
}

func (b *bench) kyma(t *testing.T) *v1beta2.Kyma {
	t.Helper()
	kyma := &v1beta2.Kyma{}
	require.NoError(t, b.control.Get(context.Background(), b.in.Ref.Key(), kyma))
	return kyma
}

func (b *bench) remoteKyma(t *testing.T) *v1beta2.Kyma {
	t.Helper()
	kyma := &v1beta2.Kyma{}
	require.NoError(t, b.remote.Get(context.Background(), types.NamespacedName{Namespace: "kyma-system", Name: "default"}, kyma))
	return kyma
}

func (b *bench) editRemote(t *testing.T, change func(*v1beta2.Kyma)) {
	t.Helper()
	kyma := b.remoteKyma(t)
	change(kyma)
	require.NoError(t, b.remote.Update(context.Background(), kyma))
}

func (b *bench) forget() {
	b.control.Forget()
	b.remote.Forget()
}

func names(modules []v1beta2.Module) []string {
	var all []string
	for _, module := range modules {
		all = append(all, module.Name)
	}
	return all
}

func TestTheFirstSynchronizationBringsEverythingInTheRightOrder(t *testing.T) {
	kyma := desiredtest.Kyma("keda")
	kyma.Labels[shared.LabelRuntimeID] = "runtime"
	b := newBench(t, kyma, desired.Settings{}, desiredtest.Template("keda", "1.0.0"), desiredtest.ReleaseMeta("keda", "regular=1.0.0"))
	result := b.sync(t)
	require.Equal(t, Result{Outcome: OutcomeSynced, Cluster: "remote-uid", AcceptedChange: true, Writes: 7}, result)
	require.Equal(t, []string{
		"patch Kyma kyma-sample",        // the finalizer comes before anything that must be cleaned up
		"patch status Kyma kyma-sample", // the place
		"patch status Kyma kyma-sample", // the accepted state of the remote Kyma
	}, b.control.Writes())
	require.Equal(t, []string{
		"create Namespace kyma-system",
		"create CustomResourceDefinition kymas.operator.kyma-project.io",
		"create CustomResourceDefinition moduletemplates.operator.kyma-project.io",
		"create CustomResourceDefinition modulereleasemetas.operator.kyma-project.io",
		"apply Kyma default",
		"apply ModuleReleaseMeta keda",
		"apply ModuleTemplate keda-1.0.0",
	}, b.remote.Writes())
	require.LessOrEqual(t, len(b.remote.Writes())+len(b.remote.Reads()), 10+2, "10 requests for the first synchronization, and one per catalog object")

	copied := b.remoteKyma(t)
	require.Equal(t, "regular", copied.Spec.Channel)
	require.Equal(t, []string{"keda"}, names(copied.Spec.Modules))
	require.Equal(t, map[string]string{
		"operator.kyma-project.io/watched-by": "kyma", "operator.kyma-project.io/managed-by": "kyma", "kyma-project.io/runtime-id": "runtime",
	}, copied.Labels)
	require.True(t, desired.IsSyncedCopy(copied))

	recorded := b.kyma(t).Status.Remote
	require.Equal(t, &v1beta2.RemoteStatus{
		Name: "default", Namespace: "kyma-system", Generation: "Default", Cluster: "remote-uid",
		UID: string(copied.UID), ObservedGeneration: 1, Channel: "regular", Modules: copied.Spec.Modules,
	}, recorded)

	namespace := &corev1.Namespace{}
	require.NoError(t, b.remote.Get(context.Background(), types.NamespacedName{Name: "kyma-system"}, namespace))
	require.Equal(t, "enabled", namespace.Labels["istio-injection"])
	require.Equal(t, "enabled", namespace.Labels["namespaces.warden.kyma-project.io/validate"])
}

func TestASteadySynchronizationWritesNothing(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.Template("keda", "1.0.0"), desiredtest.ReleaseMeta("keda", "regular=1.0.0"))
	b.sync(t)
	b.forget()
	require.Equal(t, Result{Outcome: OutcomeSynced, Cluster: "remote-uid"}, b.sync(t))
	require.Empty(t, b.control.Writes())
	require.Empty(t, b.remote.Writes())
	require.Equal(t, []string{
		"get Namespace kube-system", "get Namespace kyma-system", "list CustomResourceDefinitionList",
		"get Kyma default", "list ModuleTemplateList", "list ModuleReleaseMetaList",
	}, b.remote.Reads())
}

func TestTheRemoteOwnersEditIsRecordedBeforeItHasAnEffect(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{})
	b.sync(t)
	b.editRemote(t, func(k *v1beta2.Kyma) {
		k.Spec.Channel = "fast"
		k.Spec.Modules = []v1beta2.Module{{Name: "btp"}}
	})
	b.forget()
	require.True(t, b.sync(t).AcceptedChange)
	require.Empty(t, b.remote.Writes())
	recorded := b.kyma(t).Status.Remote
	require.Equal(t, "fast", recorded.Channel)
	require.Equal(t, []string{"btp"}, names(recorded.Modules))
	require.False(t, b.sync(t).AcceptedChange)
}

func TestTheRecordIsWrittenOnlyIfTheKymaHasNotChanged(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{})
	b.control.Fail = func(verb, _ string) error {
		if verb != "patch status" {
			return nil
		}
		b.control.Fail = nil
		kyma := b.kyma(t)
		kyma.Spec.Channel = "fast"
		return b.control.Update(ctx, kyma)
	}
	_, err := b.syncRemote(ctx, b.in)
	require.True(t, apierrors.IsConflict(err), "%v", err)
	require.Equal(t, fault.Transient, fault.Of(err).Kind)
	require.Nil(t, b.kyma(t).Status.Remote)
	require.Empty(t, b.remote.Writes(), "the place is recorded before anything is written there")
	require.True(t, b.sync(t).AcceptedChange)
}

func TestAnInvalidEditLeavesTheLastAcceptedStateInForce(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{})
	b.sync(t)
	b.editRemote(t, func(k *v1beta2.Kyma) { k.Spec.Modules = []v1beta2.Module{{Name: "btp"}, {Name: "btp"}} })
	result := b.sync(t)
	require.Equal(t, OutcomeSynced, result.Outcome)
	require.Equal(t, fault.Rejected, result.Faults[fault.PartInvalid].Kind)
	require.Equal(t, "remote Kyma kyma-system/default cannot be accepted: module btp is listed twice", result.Faults[fault.PartInvalid].Message)
	require.Equal(t, []string{"keda"}, names(b.kyma(t).Status.Remote.Modules))
	b.forget()
	require.Equal(t, ReasonRemoteKymaInvalid, b.sync(t).Faults[fault.PartInvalid].Reason)
	require.Empty(t, b.control.Writes(), "a refused edit is noted once")
}

func TestADeletedRemoteKymaIsRestoredWithTheLastAcceptedState(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{})
	b.sync(t)
	b.editRemote(t, func(k *v1beta2.Kyma) { k.Spec.Channel, k.Spec.Modules = "fast", []v1beta2.Module{{Name: "btp"}} })
	b.sync(t)
	require.NoError(t, b.remote.Delete(context.Background(), b.remoteKyma(t)))
	result := b.sync(t)
	require.False(t, result.AcceptedChange, "it asks for the same")
	copied := b.remoteKyma(t)
	require.Equal(t, "fast", copied.Spec.Channel)
	require.Equal(t, []string{"btp"}, names(copied.Spec.Modules))
	require.Equal(t, string(copied.UID), b.kyma(t).Status.Remote.UID)
}

func TestOnlyOurLabelsOfTheRemoteKymaAreRestored(t *testing.T) {
	b := newBench(t, desiredtest.Kyma(), desired.Settings{})
	b.sync(t)
	b.editRemote(t, func(k *v1beta2.Kyma) {
		k.Labels = map[string]string{shared.LabelWatchedBy: "nobody", "mine": "stays"}
		k.Annotations = map[string]string{"note": "stays"}
	})
	b.forget()
	b.sync(t)
	require.Equal(t, []string{"patch Kyma default"}, b.remote.Writes())
	copied := b.remoteKyma(t)
	require.Equal(t, map[string]string{shared.LabelWatchedBy: "kyma", shared.LabelManagedBy: "kyma", "mine": "stays"}, copied.Labels)
	require.Equal(t, "stays", copied.Annotations["note"])
	require.True(t, desired.IsSyncedCopy(copied))
}

func TestWhichModulesAreCopiedIntoANewRemoteKyma(t *testing.T) {
	on, off := true, false
	for name, test := range map[string]struct {
		sync *v1beta2.Sync
		want []string
	}{
		"without spec.sync all":            {want: []string{"keda"}},
		"with spec.sync none":              {sync: &v1beta2.Sync{Enabled: &on, Namespace: "kyma-system"}},
		"with noModuleCopy off all":        {sync: &v1beta2.Sync{Enabled: &on, Namespace: "kyma-system", NoModuleCopy: &off}, want: []string{"keda"}},
		"with noModuleCopy set to on none": {sync: &v1beta2.Sync{Enabled: &on, Namespace: "kyma-system", NoModuleCopy: &on}},
	} {
		t.Run(name, func(t *testing.T) {
			kyma := desiredtest.Kyma("keda")
			kyma.Spec.Sync = test.sync
			b := newBench(t, kyma, desired.Settings{})
			b.sync(t)
			copied := &v1beta2.Kyma{}
			place := b.kyma(t).Status.Remote
			require.NoError(t, b.remote.Get(context.Background(), types.NamespacedName{Namespace: place.Namespace, Name: place.Name}, copied))
			require.Equal(t, test.want, names(copied.Spec.Modules))
		})
	}
}

func TestAKymaThatIsNotSynchronizedStaysUnchanged(t *testing.T) {
	for name, test := range map[string]struct {
		change   func(*v1beta2.Kyma)
		settings desired.Settings
		ref      func(*kick.Ref)
		want     Outcome
	}{
		"another one of the same name": {ref: func(r *kick.Ref) { r.UID = "other" }, want: OutcomeGone},
		"single-cluster mode":          {settings: desired.Settings{Mode: desired.ModeSingleCluster}, want: OutcomeOff},
		"spec.sync without enabled":    {change: func(k *v1beta2.Kyma) { k.Spec.Sync = &v1beta2.Sync{} }, want: OutcomeOff},
		"skipped":                      {change: func(k *v1beta2.Kyma) { k.Labels[shared.LabelSkipReconciliation] = "true" }, want: OutcomeOff},
		"another instance's":           {change: func(k *v1beta2.Kyma) { k.Labels[shared.LabelManagedBy] = "other" }, want: OutcomeOff},
		"a synced copy":                {change: func(k *v1beta2.Kyma) { k.Annotations[desired.AnnotationSyncedFrom] = "a/b" }, want: OutcomeOff},
		"being deleted": {change: func(k *v1beta2.Kyma) {
			now := metav1.Now()
			k.DeletionTimestamp, k.Finalizers = &now, []string{shared.FinalizerKyma}
		}, want: OutcomeDeleting},
	} {
		t.Run(name, func(t *testing.T) {
			kyma := desiredtest.Kyma("keda")
			if test.change != nil {
				test.change(kyma)
			}
			b := newBench(t, kyma, test.settings)
			if test.ref != nil {
				test.ref(&b.in.Ref)
			}
			require.Equal(t, Result{Outcome: test.want}, b.sync(t))
			require.Empty(t, b.control.Writes())
			require.Empty(t, b.remote.Reads())
			require.Empty(t, b.remote.Writes())
		})
	}
}

func TestManifestsOfAKymaThatIsGoneAreListedByItsUID(t *testing.T) {
	manifest := func(name string, owner types.UID, deleted bool) *v1beta2.Manifest {
		m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
			Namespace: desiredtest.Namespace, Name: name, UID: types.UID(name), Finalizers: desired.ManifestFinalizers(),
			Labels:          map[string]string{shared.LabelKymaName: "kyma-sample"},
			OwnerReferences: []metav1.OwnerReference{{Kind: shared.KindKyma, Name: "kyma-sample", UID: owner, Controller: new(true)}},
		}}
		if deleted {
			m.DeletionTimestamp = new(metav1.Now())
		}
		return m
	}
	left := manifest("left", "earlier", true)
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, left, manifest("not-deleted-yet", "earlier", false), manifest("of-another", "kyma-uid", true))
	b.in.Ref.UID = "earlier"
	require.Equal(t, Result{Outcome: OutcomeGone, Left: []kick.Ref{kick.RefOf(left)}}, b.sync(t))
}

func TestAnUnreachableClusterIsReported(t *testing.T) {
	b := newBench(t, desiredtest.Kyma(), desired.Settings{})
	b.unreachable = fault.New(fault.Unreachable, clusters.ReasonAccessSecretNotFound, "access secret not found")
	_, err := b.syncRemote(context.Background(), b.in)
	require.Equal(t, clusters.ReasonAccessSecretNotFound, fault.Of(err).Reason)

	b.unreachable = nil
	b.remote.Fail = func(string, string) error { return apierrors.NewUnauthorized("expired") }
	_, err = b.syncRemote(context.Background(), b.in)
	require.Equal(t, fault.Unreachable, fault.Of(err).Kind)
	require.Nil(t, b.kyma(t).Status.Remote)
}

func TestAFailedPartDoesNotPreventReadingTheRemoteKyma(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.Template("keda", "1.0.0"), desiredtest.ReleaseMeta("keda", "regular=1.0.0"))
	b.remote.Fail = func(verb, object string) error {
		if verb == "apply" && strings.HasPrefix(object, "ModuleTemplate") {
			return apierrors.NewInternalError(errors.New("etcd is tired"))
		}
		return nil
	}
	result := b.sync(t)
	require.True(t, result.AcceptedChange)
	require.Equal(t, fault.Transient, result.Faults[fault.PartCatalog].Kind)
	require.Contains(t, result.Faults[fault.PartCatalog].Message, "ModuleTemplate kyma-system/keda-1.0.0")
	require.True(t, result.Faults[fault.PartDefinitions].IsZero())

	b.remote.Fail = nil
	require.True(t, b.sync(t).Faults[fault.PartCatalog].IsZero())
}

// otherKyma returns another Kyma with its remote Kyma in this cluster.
func otherKyma(cluster string) *v1beta2.Kyma {
	other := desiredtest.Kyma()
	other.Name, other.UID = "other", "other-uid"
	other.Status.Remote = &v1beta2.RemoteStatus{Name: "default", Namespace: "kyma-system", Generation: v1beta2.SyncGenerationDefault, Cluster: cluster}
	return other
}

// syncsOntoThatOfOther synchronizes to the remote Kyma of the Kyma "other", which is refused.
func (b *bench) syncsOntoThatOfOther(t *testing.T) error {
	t.Helper()
	taken := desiredtest.Kyma("istio")
	taken.Name, taken.Namespace, taken.Annotations = "default", "kyma-system", map[string]string{desired.AnnotationSyncedFrom: "kcp-system/other"}
	require.NoError(t, b.remote.Create(context.Background(), taken))
	b.forget()
	_, err := b.syncRemote(context.Background(), b.in)
	require.Equal(t, ReasonRemoteKymaOwned, fault.Of(err).Reason)
	return err
}

func TestARemoteKymaOfAnotherKymaStaysUnchanged(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, otherKyma("remote-uid"))
	err := b.syncsOntoThatOfOther(t)
	require.ErrorContains(t, err, "belongs to another Kyma")
	require.NotContains(t, err.Error(), "kcp-system/other", "messages do not reveal other Kymas")
	require.Equal(t, []string{"istio"}, names(b.remoteKyma(t).Spec.Modules))
	require.Empty(t, b.remote.Writes())
	require.Nil(t, b.kyma(t).Status.Remote, "the cluster does not belong to this Kyma")

	require.NoError(t, b.control.Delete(context.Background(), otherKyma("")))
	require.True(t, b.sync(t).AcceptedChange, "its Kyma is gone, so it is taken over")
	require.Equal(t, []string{"istio"}, names(b.kyma(t).Status.Remote.Modules))
}

func TestAMarkWithTheNameOfAnotherKymaDoesNotRevealIfItExists(t *testing.T) {
	for name, others := range map[string][]client.Object{
		"it exists, with another cluster":       {otherKyma("another-cluster")},
		"it exists, and was never synchronized": {otherKyma("")},
		"it does not exist":                     nil,
	} {
		t.Run(name, func(t *testing.T) {
			for _, other := range others {
				if kyma, ok := other.(*v1beta2.Kyma); ok && kyma.Status.Remote.Cluster == "" {
					kyma.Status.Remote = nil
				}
			}
			b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, append(others, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))...)
			b.sync(t)
			forged := map[string]string{desired.AnnotationSyncedFrom: "kcp-system/other"}
			b.editRemote(t, func(k *v1beta2.Kyma) { k.Annotations = forged })
			b.sync(t)
			require.Equal(t, "kcp-system/kyma-sample", b.remoteKyma(t).Annotations[desired.AnnotationSyncedFrom], "its drift is corrected")
		})
	}
}

func TestARemoteKymaIsCleanedUpWhateverItsMark(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, otherKyma("another-cluster"))
	b.sync(t)
	b.editRemote(t, func(k *v1beta2.Kyma) {
		k.Annotations = map[string]string{desired.AnnotationSyncedFrom: "kcp-system/other"}
	})
	kyma := b.kyma(t)
	r, err := b.connect(t.Context(), kyma, desired.SyncOf(kyma, b.Settings), false)
	require.NoError(t, err)
	place := types.NamespacedName{Namespace: "kyma-system", Name: "default"}
	require.NoError(t, b.deleteRemoteKyma(t.Context(), kyma, place, kyma.Status.Remote.UID, r))
	require.True(t, apierrors.IsNotFound(b.remote.Get(t.Context(), place, &v1beta2.Kyma{})))
}

func TestAccessToAnotherKymasClusterIsNotRecorded(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, otherKyma("cluster-of-other"))
	b.sync(t)
	before := b.kyma(t).Status.Remote
	home := b.remote

	b.remote = desiredtest.NewCluster("cluster-of-other")
	require.Error(t, b.syncsOntoThatOfOther(t))
	require.Empty(t, b.remote.Writes())
	require.Equal(t, before, b.kyma(t).Status.Remote, "its modules stay in their cluster")

	b.remote = home
	b.sync(t)
	b.remote = desiredtest.NewCluster("replaced")
	require.Equal(t, "replaced", b.sync(t).Cluster)
	require.Equal(t, "replaced", b.kyma(t).Status.Remote.Cluster, "an empty cluster is accepted")
	require.Equal(t, []string{"keda"}, names(b.remoteKyma(t).Spec.Modules))
}

func TestSynchronizationIntoTheControlPlanesOwnClusterIsSafe(t *testing.T) {
	on := true
	build := func(namespace string, objects ...client.Object) *bench {
		kyma := desiredtest.Kyma("keda")
		kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on, Namespace: namespace}
		b := newBench(t, kyma, desired.Settings{AllowControlPlaneModules: true}, objects...)
		b.remote = b.control
		return b
	}
	b := build("kcp-system")
	_, err := b.syncRemote(context.Background(), b.in)
	require.Equal(t, ReasonOntoItself, fault.Of(err).Reason)
	require.Nil(t, b.kyma(t).Status.Remote)

	original := desiredtest.Kyma("istio")
	original.Namespace, original.UID = "copies", "original-uid"
	b = build("copies", original)
	_, err = b.syncRemote(context.Background(), b.in)
	require.Equal(t, ReasonRemoteKymaOwned, fault.Of(err).Reason)
	require.ErrorContains(t, err, "is not a copy")

	beside := desiredtest.ChannelTemplate("btp", "regular", "1.0.0")
	beside.Namespace, beside.UID = "copies", "beside"
	b = build("copies", desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), beside)
	b.sync(t)
	var templates v1beta2.ModuleTemplateList
	require.NoError(t, b.control.List(context.Background(), &templates))
	require.Len(t, templates.Items, 3, "an existing original is not copied onto itself")
	for _, template := range templates.Items {
		copied := template.Namespace == "copies" && template.Name == "keda-regular"
		require.Equal(t, copied, desired.IsSyncedCopy(&template), template.Name)
	}
	b.forget()
	b.sync(t)
	require.Empty(t, b.control.Writes())
}

func TestDefinitionsAreNeverDowngradedOrNarrowed(t *testing.T) {
	b := newBench(t, desiredtest.Kyma(), desired.Settings{})
	b.sync(t)
	ctx := context.Background()
	key := types.NamespacedName{Name: crds.Kymas}
	read := func() *apiextensionsv1.CustomResourceDefinition {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(t, b.remote.Get(ctx, key, crd))
		return crd
	}

	crd := read()
	crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1beta9", Served: true})
	crd.Spec.Names.ShortNames = []string{"edited"}
	require.NoError(t, b.remote.Update(ctx, crd))
	b.forget()
	b.sync(t)
	require.Contains(t, b.remote.Writes(), "update CustomResourceDefinition kymas.operator.kyma-project.io")
	crd = read()
	require.Equal(t, []string{"ky"}, crd.Spec.Names.ShortNames, "an edit is reverted")
	require.Equal(t, "v1beta9", crd.Spec.Versions[len(crd.Spec.Versions)-1].Name, "an unknown version stays served")
	b.forget()
	b.sync(t)
	require.Empty(t, b.remote.Writes())

	crd.Annotations[definitions.AnnotationVersion] = "2.0.0"
	crd.Annotations[definitions.AnnotationDigest] = "of a newer build"
	require.NoError(t, b.remote.Update(ctx, crd))
	b.forget()
	b.sync(t)
	require.Empty(t, b.remote.Writes(), "a newer build has written it")
}

func TestAForeignDefinitionIsExtendedAndNeverDeleted(t *testing.T) {
	b := newBench(t, desiredtest.Kyma(), desired.Settings{})
	all, err := crds.Get(crds.Kymas)
	require.NoError(t, err)
	theirs := all[0]
	theirs.Labels, theirs.Annotations = nil, nil
	theirs.Spec.Versions = theirs.Spec.Versions[:1]
	require.NoError(t, b.remote.Create(context.Background(), theirs))
	b.sync(t)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, b.remote.Get(context.Background(), types.NamespacedName{Name: crds.Kymas}, crd))
	require.Equal(t, "kyma", crd.Labels[shared.LabelManagedBy])
	require.NotContains(t, crd.Annotations, definitions.AnnotationCreated)
	require.Greater(t, len(crd.Spec.Versions), 1)
}

func TestProbe(t *testing.T) {
	ctx := context.Background()
	setup := func(t *testing.T) *bench {
		b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.Template("keda", "1.0.0"), desiredtest.ReleaseMeta("keda", "regular=1.0.0"))
		b.sync(t)
		copied := b.remoteKyma(t)
		copied.Status = desired.RemoteStatus(b.kyma(t))
		require.NoError(t, b.remote.Status().Update(ctx, copied))
		b.forget()
		return b
	}
	for why, change := range map[string]func(*testing.T, *bench){
		"":                    func(*testing.T, *bench) {},
		"remote Kyma is gone": func(t *testing.T, b *bench) { require.NoError(t, b.remote.Delete(ctx, b.remoteKyma(t))) },
		"remote Kyma was edited": func(t *testing.T, b *bench) {
			b.editRemote(t, func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" })
		},
		"remote Kyma was edited ": func(t *testing.T, b *bench) {
			b.editRemote(t, func(k *v1beta2.Kyma) { k.Annotations[shared.AnnotationDeferUpgradesUntil] = "2026-12-24T18:00:00Z" })
		},
		"labels of the remote Kyma were changed": func(t *testing.T, b *bench) {
			copied := b.remoteKyma(t)
			require.NoError(t, b.remote.Patch(ctx, copied, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null}}`))))
		},
		"status of the remote Kyma is not ours": func(t *testing.T, b *bench) {
			copied := b.remoteKyma(t)
			copied.Status.State = shared.StateReady
			require.NoError(t, b.remote.Status().Update(ctx, copied))
		},
		"remote catalog differs": func(t *testing.T, b *bench) {
			require.NoError(t, b.remote.Delete(ctx, &v1beta2.ModuleTemplate{ObjectMeta: metav1.ObjectMeta{Name: "keda-1.0.0", Namespace: "kyma-system"}}))
		},
	} {
		t.Run("says: "+why, func(t *testing.T) {
			b := setup(t)
			change(t, b)
			b.forget()
			changed, got, err := b.Probe(ctx, b.kyma(t), false)
			require.NoError(t, err)
			require.Equal(t, strings.TrimSpace(why), got)
			require.Equal(t, why != "", changed)
			require.Empty(t, b.remote.Writes())
			require.Empty(t, b.control.Writes())
			require.LessOrEqual(t, len(b.remote.Reads()), 3)
		})
	}
	t.Run("says that it was never synchronized", func(t *testing.T) {
		b := newBench(t, desiredtest.Kyma(), desired.Settings{})
		changed, why, err := b.Probe(ctx, b.kyma(t), false)
		require.NoError(t, err)
		require.True(t, changed)
		require.Equal(t, "never synchronized", why)
	})
	t.Run("an error is not a difference", func(t *testing.T) {
		b := setup(t)
		b.remote.Fail = func(string, string) error { return apierrors.NewInternalError(errors.New("x")) }
		changed, _, err := b.Probe(ctx, b.kyma(t), false)
		require.False(t, changed)
		require.Equal(t, fault.Transient, fault.Of(err).Kind)
	})
}

func TestAnUnservedKindIsDistinguishedFromAMissingObject(t *testing.T) {
	resource := schema.GroupResource{Group: "operator.kyma-project.io", Resource: "kymas"}
	require.False(t, remote.KindMissing(apierrors.NewNotFound(resource, "default")))
	require.True(t, remote.KindMissing(fmt.Errorf("read: %w", apierrors.NewGenericServerResponse(404, "GET", resource, "default", "404 page not found", 0, true))))
	require.False(t, remote.KindMissing(nil))
}

func TestTheStrategyLocalClientMustBeAllowed(t *testing.T) {
	on := true
	kyma := desiredtest.Kyma()
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on, Namespace: "copies", Strategy: v1beta2.SyncStrategyLocalClient}
	b := newBench(t, kyma, desired.Settings{})
	_, err := b.syncRemote(context.Background(), b.in)
	require.Equal(t, fault.Rejected, fault.Of(err).Kind)
	require.Equal(t, "ControlPlaneTargetNotAllowed", fault.Of(err).Reason)
	require.Nil(t, b.kyma(t).Status.Remote)
	for name, settings := range map[string]desired.Settings{
		"by the flag": {AllowControlPlaneModules: true}, "in a single cluster": {Mode: desired.ModeSingleCluster},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, kyma.DeepCopy(), settings)
			require.Equal(t, OutcomeSynced, b.sync(t).Outcome)
		})
	}
}
