package migration

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

func TestThePlanCountsModulesThatChangeTheirState(t *testing.T) {
	t.Parallel()
	under := func(fromCR, fromWorkloads shared.State) outlook {
		return outlook{
			shared.StateFromCustomResource: {State: fromCR, Message: "Sample a reports it"},
			shared.StateFromWorkloads:      {State: fromWorkloads, Message: "module is ready"},
		}
	}
	counts := &tally{changed: map[shared.StateRule]int{}}
	require.Empty(t, counts.String())
	for _, test := range []struct {
		outlook   outlook
		now       shared.State
		changes   string
		disagrees bool
	}{
		{under(shared.StateReady, shared.StateReady), shared.StateReady, "", false},
		{under(shared.StateWarning, shared.StateReady), shared.StateReady, "; becomes Warning with --module-state-from=custom-resource: Sample a reports it", true},
		{under(shared.StateWarning, shared.StateReady), shared.StateWarning, "; becomes Ready with --module-state-from=workloads: module is ready", true},
		{under(shared.StateError, shared.StateError), shared.StateReady, "; becomes Error with --module-state-from=custom-resource: Sample a reports it; becomes Error with --module-state-from=workloads: module is ready", false},
		{nil, shared.StateReady, "", false},
	} {
		require.Equal(t, test.changes, test.outlook.changes(test.now))
		require.Equal(t, test.disagrees, test.outlook.disagrees())
		counts.add(test.outlook, test.now)
	}
	require.Equal(t, "With --module-state-from=custom-resource, 2 of 4 modules change their state.\nWith --module-state-from=workloads, 2 of 4 modules change their state.\n", counts.String())
}

func TestAdoptRefusesIfTheInstanceHasAnotherRule(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	require.NoError(t, clientscheme.AddToScheme(scheme))
	require.NoError(t, v1beta2.AddToScheme(scheme))
	record := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: shared.NamespaceControlPlane, Name: "lifecycle-manager-settings", Labels: map[string]string{shared.LabelPurpose: agreement.Purpose}},
		Data:       map[string]string{"managed-by": shared.ManagedByLifecycleManager},
	}
	others := record.DeepCopy()
	others.Name, others.Data = "lifecycle-manager-settings-other", map[string]string{"managed-by": "other", flagStateRule: "workloads"}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(ofUpstreams("free", nil), others).Build()
	m := &migration{flags: &flags{namespace: shared.NamespaceControlPlane, stateRule: "workloads"}, controlPlane: c}
	isHeld := func() bool {
		kyma := &v1beta2.Kyma{}
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: shared.NamespaceControlPlane, Name: "free"}, kyma))
		return kyma.IsSkipReconciliation()
	}
	var said strings.Builder
	require.NoError(t, m.hold(t.Context(), &said, nil, true))

	require.ErrorIs(t, m.adopt(t.Context(), &said, []string{"free"}, 0), errNobodyLeads, "no process has ever started")
	require.NoError(t, c.Create(t.Context(), record))
	require.ErrorIs(t, m.adopt(t.Context(), &said, []string{"free"}, 0), errOtherRule)
	require.True(t, isHeld())

	now, leader, seconds := metav1.NewMicroTime(time.Now()), "one", int32(15)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: agreement.LeaseName("")}}
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &leader, AcquireTime: &now, RenewTime: &now, LeaseDurationSeconds: &seconds}
	require.NoError(t, c.Create(t.Context(), lease))
	require.ErrorIs(t, m.adopt(t.Context(), &said, []string{"free"}, 0), errNobodyLeads, "an earlier leader wrote the record")
	require.True(t, isHeld())
	metav1.SetMetaDataAnnotation(&record.ObjectMeta, shared.AnnotationSettingsConfirmed, now.Add(time.Second).Format(time.RFC3339Nano))
	require.NoError(t, c.Update(t.Context(), record))
	require.ErrorIs(t, m.adopt(t.Context(), &said, []string{"free"}, 0), errOtherRule)

	elsewhere := record.DeepCopy()
	elsewhere.Namespace, elsewhere.ResourceVersion, elsewhere.Annotations = "former", "", nil
	elsewhere.Data[flagStateRule] = "workloads"
	released := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere.Namespace, Name: lease.Name}}
	require.NoError(t, c.Create(t.Context(), elsewhere))
	require.NoError(t, c.Create(t.Context(), released))
	m.flags.stateRule = "custom-resource"
	require.NoError(t, m.hold(t.Context(), &said, []string{"free"}, false), "the Kyma may be held again for the other rule")
	require.NoError(t, m.adopt(t.Context(), &said, []string{"free"}, 0))
	require.False(t, isHeld())
}

func TestHoldReachesRemoteClustersLikeTheInstance(t *testing.T) {
	t.Parallel()
	record := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "releases", Name: "lifecycle-manager-settings", Labels: map[string]string{shared.LabelPurpose: agreement.Purpose}},
		Data:       map[string]string{"sync-namespace": "other", "access-secret-namespace": "secrets", "access-secret-allow": "http,files", flagStateRule: "workloads"},
	}
	c := fake.NewClientBuilder().WithObjects(record).Build()
	var allowed []string
	taken := func(args ...string) *flags {
		f := &flags{access: Access{Register: func(set *pflag.FlagSet) { set.StringSliceVar(&allowed, flagAccessAllow, nil, "") }, Check: func() error { return nil }}}
		hold := newHoldCommand(f, nil)
		require.NoError(t, hold.ParseFlags(args))
		require.NoError(t, f.takeRecorded(t.Context(), c))
		return f
	}
	f := taken("--sync-namespace", "given")
	require.Equal(t, "given", f.syncNamespace)
	require.Equal(t, "secrets", f.accessSecretNamespace)
	require.Equal(t, []string{"http", "files"}, allowed)
	require.Empty(t, f.stateRule, "hold does not guess it")
	require.NoError(t, c.Delete(t.Context(), record))
	require.Equal(t, shared.NamespaceRemote, taken().syncNamespace, "no process has led yet")
}

func TestThePlanUsesTheStateChecksOfTemplates(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	template := func(name, module, version, channel, path string) *v1beta2.ModuleTemplate {
		found := &v1beta2.ModuleTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: shared.NamespaceControlPlane, Name: name}}
		found.Spec.ModuleName, found.Spec.Version, found.Spec.Channel = module, version, channel
		found.Spec.CustomStateCheck = []v1beta2.CustomStateCheck{{JSONPath: path, Value: "ok", MappedState: shared.StateReady}}
		return found
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		template("keda-1.0.0", "keda", "1.0.0", "", "status.one"), template("keda-1.1.0", "keda", "1.1.0", "", "status.other"),
		template("older-regular", "older", "", "regular", "status.older"),
	).Build()
	m := &migration{flags: &flags{namespace: shared.NamespaceControlPlane}, controlPlane: c}
	for module, path := range map[string]string{"keda": "status.one", "older": "status.older", "other": ""} {
		manifest := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
			Namespace: shared.NamespaceControlPlane, Labels: map[string]string{shared.LabelModuleName: module, shared.LabelChannel: "regular"},
		}}
		manifest.Spec.Version = "1.0.0"
		require.NoError(t, m.noteStateChecks(t.Context(), manifest))
		checks, err := readiness.StateChecks(manifest)
		require.NoError(t, err)
		require.Equal(t, path != "", len(checks) == 1, module)
		if path != "" {
			require.Equal(t, path, checks[0].JSONPath)
		}
	}
}
