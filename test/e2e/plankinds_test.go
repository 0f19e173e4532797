package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// placed is a manifest whose objects all name the namespace that we would choose, as upstream has another default.
func placed(manifest string) string {
	return strings.NewReplacer("metadata: {name: ", "metadata: {namespace: kyma-system, name: ", "metadata:\n", "metadata:\n  namespace: kyma-system\n").Replace(manifest)
}

// A Kyma of upstream's has a module of each kind that the catalog, a Secret or a maintenance policy decides about. The plan
// of its take-over says of each what will become of it, and that is what becomes of it.
func TestAPlanKnowsEachKindOfModule(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.json")
	now := time.Now().UTC()
	replacePolicy(t, policy, generatedPolicy(now))
	s := harness.NewEnvironment(t)
	private := newPrivateRegistry(t, s.Registry)
	secret := func(name string, data map[string][]byte, labels map[string]string) *corev1.Secret {
		t.Helper()
		made := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: harness.ControlPlaneNamespace, Labels: labels},
			Type:       corev1.SecretTypeDockerConfigJson, Data: data,
		}
		require.NoError(t, s.ControlPlane.Create(t.Context(), made))
		t.Cleanup(func() { _ = s.ControlPlane.Delete(context.Background(), made) })
		return made
	}
	secret("planned-modules", registryData("http://"+private), nil)

	minimal := func(name string) harness.MinimalModule {
		return harness.MinimalModule{Name: name, Channels: "regular", Manifest: placed("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  version: 1.0.0\n")}
	}
	modules := []harness.MinimalModule{
		{Name: "planned-injects", Channels: "regular", Manifest: placed(injecting("planned-injects", "planned-pull-secret"))},
		{Name: "planned-may-not", Channels: "regular", Manifest: placed(injecting("planned-may-not", "planned-other-secret"))},
		minimal("planned-downtime"), minimal("planned-fetched"), minimal("planned-dropped"), minimal("planned-orphaned"),
	}
	modules[5].Channels = "" // its ModuleTemplate has a version, and no ModuleReleaseMeta is there
	kyma := harness.NewKyma("planned")
	kyma.Finalizers = []string{shared.FinalizerKyma}
	kyma.Labels = map[string]string{shared.LabelRegion: "us"}
	for _, module := range modules {
		s.PushModule(module)
		kyma.Spec.Modules = append(kyma.Spec.Modules, v1beta2.Module{Name: module.Name})
	}
	s.Create(kyma)
	for _, module := range modules {
		upstreamLeftModule(s, kyma, module.Name, module.Manifest, func(m *v1beta2.Manifest) { m.Spec.Install.Source.Repo = private })
	}
	s.PushModule(harness.MinimalModule{Name: "planned-downtime", Version: "1.1.0", Channels: "regular", Config: "requiresDowntime: true"})
	s.PushModule(harness.MinimalModule{Name: "planned-fetched", Version: "1.1.0", Channels: "regular", PushFlags: []string{"--descriptor", "none"}})
	s.PushMinimal("planned-new")
	cluster.InstallDefinitions(t, s.Remote)
	there := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: harness.RemoteNamespace}}
	for _, name := range []string{"planned-injects", "planned-may-not", "planned-downtime", "planned-fetched", "planned-orphaned", "planned-new"} {
		there.Spec.Modules = append(there.Spec.Modules, v1beta2.Module{Name: name})
	}
	there.Spec.Channel = "regular"
	require.NoError(t, s.Remote.Create(t.Context(), there))

	flags := []string{"--oci-registry-cred-secret", "planned-modules", "--maintenance-policy-path", policy, "--inject-data-from-kcp-modules", "planned-injects"}
	plan := func(flags ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), testfleet.Binary(t, "lifecycle-manager"), append([]string{"migrate", "--kubeconfig", s.ControlPlane.Kubeconfig, "plan", "planned"}, flags...)...)
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, string(said))
		t.Log(string(said))
		return string(said)
	}
	const (
		stay    = " 1.0.0 (Ready): 2 objects stay as they are and get our mark"
		one     = " 1.0.0 (Ready): 1 objects stay as they are and get our mark"
		failed  = "inject-data-from-kcp transform failed: "
		missing = failed + `failed to fetch kcp secret "planned-pull-secret": failed to get secret planned-pull-secret-kcp-system: secrets "planned-pull-secret" not found`
		waits   = "  planned-downtime" + one + "; it stays at 1.0.0, and waits for a maintenance window to become 1.1.0: "
	)

	said := plan(flags...)
	require.Contains(t, said, "Kyma kcp-system/planned: upstream's, taken over at its first reconcile\n")
	require.Contains(t, said, "  planned-injects"+stay+"; becomes Error: "+missing+"\n")
	require.Contains(t, said, "  planned-may-not"+stay+"\n", "nothing changes for it")
	require.Contains(t, said, waits+"the maintenance policy has no further window for this Kyma\n", "an empty default is no window")
	require.Contains(t, said, "  planned-fetched"+one+"; it becomes 1.1.0\n", "the Secret alone names the registry")
	require.Contains(t, said, "  planned-dropped"+one+"; it is removed, because its Kyma does not list it\n", "the remote Kyma decides")
	require.Contains(t, said, "  planned-orphaned"+one+"; it stays at 1.0.0, and the Kyma shows it as Error: no ModuleReleaseMeta found "+
		"(the ModuleTemplates kcp-system/planned-orphaned-1.0.0 of module planned-orphaned are in no channel: publish a ModuleReleaseMeta for it)\n")
	require.Contains(t, said, "  planned-new 1.0.0: is installed\n")
	for _, rule := range shared.StateRules() {
		require.Contains(t, said, "With --module-state-from="+string(rule)+", 1 of 4 modules change their state.\n")
	}
	require.NotContains(t, said, "hidden")

	t.Log("what decides changes, and the plan with it")
	moveTo := func(region string) {
		harness.Edit(s.T, s.ControlPlane, s.Kyma("planned"), func(k *v1beta2.Kyma) { k.Labels[shared.LabelRegion] = region })
	}
	pull := secret("planned-pull-secret", pullData("hidden-pull"), nil)
	moveTo("europe")
	said = plan(flags...)
	require.Contains(t, said, "  planned-injects"+stay+"; becomes Error: "+failed+"kcp source secret is missing the required operator.kyma-project.io/module-name label: secret=planned-pull-secret\n")
	require.Contains(t, said, waits+"the next maintenance window begins at "+now.Add(24*time.Hour).Format(time.RFC3339)+"\n")
	harness.EditObject(t, s.ControlPlane, pull, func() { pull.Labels = map[string]string{shared.LabelModuleName: "planned-injects"} })
	moveTo("asia")
	said = plan(flags...)
	require.Contains(t, said, "  planned-injects"+stay+"; gets the data of Secret kcp-system/planned-pull-secret\n")
	require.Contains(t, said, "  planned-downtime"+one+"; it becomes 1.1.0, which requires a downtime, without waiting for a maintenance window\n")
	require.NotContains(t, said, "hidden")
	said = plan("--oci-registry-plain-http", s.Registry)
	require.Contains(t, said, "  planned-injects"+stay+"\n", "by default it may not ask")
	require.Contains(t, said, "; it stays at 1.0.0, and the Kyma shows it as Error: ")
	require.Contains(t, said, "no registry to fetch it from is configured")

	t.Log("what the first plan said is what becomes of the modules")
	require.NoError(t, s.ControlPlane.Delete(t.Context(), pull))
	moveTo("us")
	s.Instance.Flags = append(s.Instance.Flags, flags...)
	s.Instance.Start()
	s.Eventually("each module is as planned", 3*time.Minute, func(c *assert.CollectT) {
		rows := harness.ModulesByName(s.Kyma("planned").Status.Modules)
		assert.Equal(c, shared.StateError, rows["planned-injects"].State)
		assert.Contains(c, rows["planned-injects"].Message, missing)
		assert.Equal(c, shared.StateReady, rows["planned-may-not"].State)
		assert.True(c, rows["planned-downtime"].Maintenance)
		assert.Equal(c, "1.0.0", rows["planned-downtime"].Version)
		assert.Equal(c, "the maintenance policy has no further window for this Kyma", rows["planned-downtime"].Hint)
		assert.Equal(c, "1.1.0", rows["planned-fetched"].Version)
		assert.Equal(c, shared.StateReady, rows["planned-fetched"].State)
		assert.Equal(c, shared.StateError, rows["planned-orphaned"].State)
		assert.Equal(c, "1.0.0", rows["planned-orphaned"].Version)
		assert.Equal(c, shared.StateReady, rows["planned-new"].State)
		assert.Empty(c, s.MinimalVersion(harness.RemoteNamespace, "planned-dropped"))
		for _, stays := range []string{"planned-downtime", "planned-orphaned"} {
			found := &corev1.ConfigMap{}
			if assert.NoError(c, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: stays}, found)) {
				assert.Contains(c, found.Annotations, shared.AnnotationOwnedBy, "what waits is taken over too")
			}
		}
	})
}
