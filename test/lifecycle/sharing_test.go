package lifecycle

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// sharedManifest is the Manifest of a Kyma that has the module in the control plane, created so many minutes ago.
func sharedManifest(kyma string, age int, change func(*v1beta2.Manifest)) *v1beta2.Manifest {
	m := &v1beta2.Manifest{
		ObjectMeta: metav1.ObjectMeta{
			Name: kyma + "-keda", Namespace: "kcp-system", UID: types.UID("uid-of-" + kyma), Generation: 1, Finalizers: desired.ManifestFinalizers(),
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Duration(age) * time.Minute)),
			Labels:            map[string]string{desired.LabelSharedModule: "keda", shared.LabelKymaName: kyma},
			OwnerReferences:   []metav1.OwnerReference{*metav1.NewControllerRef(kymaNamed(kyma), v1beta2.GroupVersion.WithKind(shared.KindKyma))},
		},
		Spec: v1beta2.ManifestSpec{Version: "1.0.0"},
	}
	if change != nil {
		change(m)
	}
	m.Status.Target = &v1beta2.TargetRecord{Cluster: v1beta2.TargetClusterControlPlane, SpecDigest: desired.SpecDigest(m.Spec)}
	return m
}

func kymaNamed(name string) *v1beta2.Kyma {
	return &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kcp-system", UID: types.UID("uid-of-kyma-" + name)}}
}

// sharing returns activities without clusters: sharing a module needs none.
func sharing(t *testing.T, all ...*v1beta2.Manifest) (*worker.ManifestActivities, client.Client) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1beta2.Manifest{})
	for _, m := range all {
		kyma := kymaNamed(m.KymaName())
		cluster.Plan(kyma, m)
		builder = builder.WithObjects(m, kyma)
	}
	c := builder.Build()
	return assembled(t, manifests.Options{
		ControlPlane: c, Settings: desired.Settings{AllowControlPlaneModules: true}, Clusters: access{},
	}), c
}

func holding(m *v1beta2.Manifest) {
	m.Status.State, m.Status.InstalledRef, m.Status.InstalledVersion = shared.StateReady, "sha256:1", m.Spec.Version
	m.Status.Inventory = []v1beta2.InventoryEntry{{ID: "default_settings__ConfigMap", Version: "v1", UID: "u"}}
	m.Status.DefaultCR = &v1beta2.DefaultCRRecord{APIVersion: "a/v1", Kind: "Keda", Name: "default", UID: "cr"}
}

func going(m *v1beta2.Manifest) {
	now := metav1.Now()
	m.DeletionTimestamp = &now
}

func TestAModuleThatAnotherKymaHasInTheControlPlaneShowsWhatIsInstalled(t *testing.T) {
	for name, test := range map[string]struct {
		holder func(*v1beta2.Manifest)
		mine   func(*v1beta2.Manifest)
		want   readiness.Observed
	}{
		"ready": {holder: holding, want: readiness.Observed{State: shared.StateReady, Reason: manifests.ReasonShared, Message: "the module is shared in the control plane with Kyma kcp-system/first"}},
		"on its way": {
			holder: func(m *v1beta2.Manifest) { m.Status.LastOperation = &v1beta2.LastOperation{Operation: "installing"} },
			want: readiness.Observed{State: shared.StateProcessing, Reason: manifests.ReasonShared,
				Message: "the module is shared in the control plane with Kyma kcp-system/first: installing"},
		},
		"of another version": {
			holder: holding, mine: func(m *v1beta2.Manifest) { m.Spec.Version = "2.0.0" },
			want: readiness.Observed{State: shared.StateWarning, Reason: manifests.ReasonSharedVersion,
				Message: "the module is shared in the control plane with Kyma kcp-system/first, which has it in version 1.0.0: version 2.0.0 is refused"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			second := sharedManifest("second", 1, test.mine)
			a, _ := sharing(t, sharedManifest("first", 5, test.holder), second)
			result, err := a.Install.ApplyManifest(context.Background(), install.ApplyInput{Ref: kick.RefOf(second)})
			require.NoError(t, err)
			require.Equal(t, manifests.OutcomeShared, result.Outcome)
			require.Equal(t, test.want, result.Observed)
		})
	}
}

func TestTheHolderOfASharedModuleInstallsIt(t *testing.T) {
	first, second := sharedManifest("first", 5, nil), sharedManifest("second", 1, nil)
	a, _ := sharing(t, first, second)
	other, err := a.Steps.InstalledByAnother(context.Background(), first)
	require.NoError(t, err)
	require.Nil(t, other)

	first = sharedManifest("first", 5, going)
	a, _ = sharing(t, first, second)
	other, err = a.Steps.InstalledByAnother(context.Background(), second)
	require.NoError(t, err)
	require.Nil(t, other, "what is being deleted holds nothing")
}

func TestTheHolderHandsOverWhatItHasAndRemovesNothing(t *testing.T) {
	ctx := context.Background()
	first := sharedManifest("first", 5, func(m *v1beta2.Manifest) {
		holding(m)
		going(m)
		m.Status.TakenOverFrom = []string{"kcp-system/zeroth-keda"}
	})
	second := sharedManifest("second", 1, func(m *v1beta2.Manifest) { m.Status.InputsDigest, m.Status.Settled = "seen", true })
	a, c := sharing(t, first, second)
	result, err := a.Uninstall.Remove(ctx, kick.RefOf(first))
	require.NoError(t, err)
	require.Equal(t, manifests.OutcomeRemoved, result.Outcome)
	require.Error(t, c.Get(ctx, client.ObjectKeyFromObject(first), &v1beta2.Manifest{}), "it is released, without access to any cluster")

	now := &v1beta2.Manifest{}
	require.NoError(t, c.Get(ctx, client.ObjectKeyFromObject(second), now))
	require.Equal(t, first.Status.Inventory, now.Status.Inventory)
	require.Equal(t, first.Status.DefaultCR, now.Status.DefaultCR)
	require.Equal(t, "sha256:1", now.Status.InstalledRef)
	require.Equal(t, []string{"kcp-system/first-keda", "kcp-system/zeroth-keda"}, now.Status.TakenOverFrom)
	require.Empty(t, now.Status.InputsDigest, "a reconcile is due")
	require.False(t, now.Status.Settled)
	for mark, owns := range map[string]bool{"kcp-system/second-keda": true, "kcp-system/first-keda": true, "kcp-system/zeroth-keda": true, "kcp-system/other": false, "": false} {
		live := &metav1.ObjectMeta{Annotations: map[string]string{shared.AnnotationOwnedBy: mark}}
		require.Equal(t, owns, inventory.OwnerOf(now).Owns(live), mark)
	}
}

func TestHandingOverTwiceEqualsHandingOverOnce(t *testing.T) {
	ctx := context.Background()
	first := sharedManifest("first", 5, func(m *v1beta2.Manifest) { holding(m); going(m) })
	second := sharedManifest("second", 1, nil)
	a, c := sharing(t, first, second)
	for range 2 {
		handed, err := a.Steps.HandOver(ctx, first)
		require.NoError(t, err)
		require.True(t, handed)
	}
	now := &v1beta2.Manifest{}
	require.NoError(t, c.Get(ctx, client.ObjectKeyFromObject(second), now))
	require.Len(t, now.Status.Inventory, 1)
	require.Len(t, now.Status.TakenOverFrom, 1)
}

func TestOnlyTheLastOwnerRemovesASharedModule(t *testing.T) {
	ctx := context.Background()
	first := sharedManifest("first", 5, func(m *v1beta2.Manifest) { holding(m); going(m) })
	second := sharedManifest("second", 1, going)
	a, _ := sharing(t, first, second)
	handed, err := a.Steps.HandOver(ctx, first)
	require.NoError(t, err)
	require.False(t, handed, "the other one is being deleted too")

	remote := sharedManifest("third", 1, func(m *v1beta2.Manifest) { holding(m); m.Spec.Remote = true })
	handed, err = a.Steps.HandOver(ctx, remote)
	require.NoError(t, err)
	require.False(t, handed)
}

func TestWhatWasHandedOverMeanwhileIsNotForgotten(t *testing.T) {
	ctx := context.Background()
	second := sharedManifest("second", 1, going)
	a, c := sharing(t, sharedManifest("first", 5, going), second)
	read := &v1beta2.Manifest{}
	require.NoError(t, c.Get(ctx, client.ObjectKeyFromObject(second), read))
	handedTo := read.DeepCopy()
	holding(handedTo)
	require.NoError(t, c.Status().Update(ctx, handedTo))
	err := a.Steps.RemoveFinalizers(ctx, read)
	require.ErrorContains(t, err, "took over a shared module")
	require.NoError(t, c.Get(ctx, client.ObjectKeyFromObject(second), read))
	require.NotEmpty(t, read.Finalizers)
}

func TestANewerVersionThatWasTakenOverIsNotDowngraded(t *testing.T) {
	second := sharedManifest("second", 1, func(m *v1beta2.Manifest) {
		m.Status.InstalledVersion, m.Status.InstalledRef, m.Status.TakenOverFrom = "2.0.0", "sha256:2", []string{"kcp-system/first-keda"}
	})
	a, _ := sharing(t, second)
	result, err := a.Install.ApplyManifest(context.Background(), install.ApplyInput{Ref: kick.RefOf(second)})
	require.NoError(t, err)
	require.Equal(t, manifests.OutcomeShared, result.Outcome)
	require.Equal(t, shared.StateWarning, result.Observed.State)
	require.Contains(t, result.Observed.Message, "installed in version 2.0.0: version 1.0.0 is lower")
}
