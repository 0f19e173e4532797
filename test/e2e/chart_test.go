package e2e

import (
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/chart"
	"github.com/kyma-project/lifecycle-manager/test/harness/fleets"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// An API server accepts what the chart makes. The previous release is installed by its chart as an operator would, in a
// namespace with restricted Pod Security, with its own program, definitions and rights. The pods of the fleet are simulated,
// so the processes that they would have run are run here, with the arguments, the environment and the account of each. The
// release is upgraded to this one, rolled back and uninstalled under a Kyma that does not notice.
func TestTheChartIsAcceptedAndRunsWhatItInstalls(t *testing.T) {
	fleets.Idles(t)
	s := harness.NewEnvironment(t)
	t.Run("an API server accepts what the chart makes of all documented values", func(t *testing.T) { assertAccepted(t, s) })
	previous := testfleet.Previous(t)
	restrict(s, "restricted")
	t.Cleanup(func() { restrict(s, "") })
	// Helm refuses to take over what others made, and the environment has made the definitions.
	all, err := crds.All()
	require.NoError(t, err)
	for _, definition := range all {
		require.NoError(t, s.ControlPlane.Delete(t.Context(), definition))
	}
	s.Eventually("the definitions are gone", time.Minute, func(c *assert.CollectT) {
		for name := range all {
			assert.True(c, apierrors.IsNotFound(s.ControlPlane.Get(t.Context(), client.ObjectKey{Name: name}, &apiextensionsv1.CustomResourceDefinition{})))
		}
	})
	values := map[string]any{
		"temporal": map[string]any{"address": s.Fleet.Temporal.Address, "namespace": s.Namespace},
		"shape":    "split", "workers": map[string]any{"replicas": 1},
		"metrics":  map[string]any{"secure": true},
		"webhook":  map[string]any{"enabled": false}, // which may ask the same about accounts as secure metrics do
		"settings": map[string]any{"resync-interval": "3s", "module-upgrade-rollout-max-delay": "0s", "oci-registry-plain-http": []string{s.Registry}},
	}
	this := filepath.Join(testfleet.Root(t), "deploy", "helm", "lifecycle-manager")
	upgradeTo(t, s, withoutColumns(t, filepath.Join(previous, "chart")), values, "--install")
	t.Cleanup(func() { // else its policy would keep other tests of the fleet from writing statuses
		_ = exec.CommandContext(context.Background(), os.Getenv("HELM"), "uninstall", release, "--namespace", harness.ControlPlaneNamespace, "--kubeconfig", s.ControlPlane.Kubeconfig).Run()
	})
	require.Empty(t, columnsOfKymas(s))
	s.Push("test/modules/sample/1.0.0")
	s.Push("test/modules/sample/1.1.0")
	before, now := filepath.Join(previous, release), testfleet.Binary(t, release)
	watchers, workers := runPod(s, before, release+"-watchers"), runPod(s, before, release+"-workers")
	s.Create(harness.NewKyma("charted", "sample"))
	s.BecomesReady("charted", "sample@1.0.0")

	t.Run("an upgrade to this chart changes the settings of the instance", func(t *testing.T) {
		values["settings"].(map[string]any)["resync-interval"] = "2s" //nolint:forcetypeassert,errcheck // see above
		upgradeTo(t, s, this, values)
		require.NotEmpty(t, columnsOfKymas(s))
		for name, definition := range all {
			upgraded := &apiextensionsv1.CustomResourceDefinition{}
			require.NoError(t, s.ControlPlane.Get(t.Context(), client.ObjectKey{Name: name}, upgraded))
			require.Len(t, upgraded.Spec.Versions, len(definition.Spec.Versions))
			for i, version := range definition.Spec.Versions {
				require.Equal(t, version.Schema, upgraded.Spec.Versions[i].Schema, "%s %s", name, version.Name)
			}
		}
		rendered := chart.Release{Name: release, Namespace: harness.ControlPlaneNamespace, Values: values}
		s.RecordRights(rendered, rendered.Objects(t))
		watchers, workers = rollOut(s, now, watchers, workers)
		require.Contains(t, watchers.args, "--resync-interval=2s")
		s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" })
		s.BecomesReady("charted", "sample@1.1.0")
		answersOnlyReaders(s, watchers)
		answersOnlyReaders(s, workers)
	})
	t.Run("a roll-back takes them back, and keeps definitions and Kymas", func(t *testing.T) {
		s.ForgetRights() // the earlier chart may have given others
		helm(t, s, "rollback", release, "1", "--wait")
		watchers, workers = rollOut(s, before, watchers, workers)
		require.Contains(t, watchers.args, "--resync-interval=3s")
		s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Channel = "regular" })
		harness.Edit(t, s.ControlPlane, s.Kyma("charted"), func(k *v1beta2.Kyma) {
			metav1.SetMetaDataAnnotation(&k.ObjectMeta, desired.AnnotationAllowDowngrade, shared.ValueTrue)
		})
		s.BecomesReady("charted", "sample@1.0.0")
	})
	t.Run("after it is uninstalled, definitions and Kymas are there still", func(t *testing.T) {
		watchers.stop()
		workers.stop()
		helm(t, s, "uninstall", release, "--wait")
		require.True(t, apierrors.IsNotFound(s.ControlPlane.Get(t.Context(), deploymentKey(release+"-watchers"), &appsv1.Deployment{})))
		for name := range all {
			now := &apiextensionsv1.CustomResourceDefinition{}
			require.NoError(t, s.ControlPlane.Get(t.Context(), client.ObjectKey{Name: name}, now))
			require.True(t, now.DeletionTimestamp.IsZero())
		}
		require.Equal(t, "charted", s.Kyma("charted").Name)
		require.Equal(t, "1.0.0", s.MinimalVersion(harness.RemoteNamespace, "sample-operator"), "and so is what is in the remote cluster")
	})
	t.Run("installed again in one Deployment, it goes on where it was", func(t *testing.T) {
		values["shape"], values["webhook"] = "all", map[string]any{"enabled": true}
		upgradeTo(t, s, this, values, "--install")
		removeWebhook(s, release+"-webhook", release+"-webhook-tls")
		runPod(s, now, release)
		s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
		s.BecomesReady("charted")
	})
}

// withoutColumns is a copy of a chart whose definition of Kymas has no columns for kubectl, as if this release had added
// them: if no definition has changed since, nothing would be upgraded.
func withoutColumns(t *testing.T, from string) string {
	t.Helper()
	earlier := filepath.Join(t.TempDir(), release)
	require.NoError(t, os.CopyFS(earlier, os.DirFS(from)))
	path := filepath.Join(earlier, "files", "crds", "operator.kyma-project.io_kymas.yaml")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var definition apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.UnmarshalStrict(content, &definition))
	for i := range definition.Spec.Versions {
		definition.Spec.Versions[i].AdditionalPrinterColumns = nil
	}
	content, err = yaml.Marshal(definition)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return earlier
}

// columnsOfKymas are the columns of kubectl for Kymas.
func columnsOfKymas(s *harness.Environment) []apiextensionsv1.CustomResourceColumnDefinition {
	s.T.Helper()
	now := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(s.T, s.ControlPlane.Get(s.T.Context(), client.ObjectKey{Name: "kymas." + shared.OperatorGroup}, now))
	return now.Spec.Versions[len(now.Spec.Versions)-1].AdditionalPrinterColumns
}

// rollOut replaces the processes by those of a program as their Deployments do: new ones come before old ones go. Workers are ready when the new
// leader has the settings of both.
func rollOut(s *harness.Environment, program string, watchers, workers pod) (newWatchers, newWorkers pod) {
	s.T.Helper()
	newWatchers = runPod(s, program, release+"-watchers")
	watchers.stop()
	newWorkers = runPod(s, program, release+"-workers")
	workers.stop()
	return newWatchers, newWorkers
}

// release is the name of the release, and of what it has.
const release = "lifecycle-manager"

func deploymentKey(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: harness.ControlPlaneNamespace, Name: name}
}

// restrict sets the level of Pod Security that is enforced for pods beside the control plane.
func restrict(s *harness.Environment, level string) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: harness.ControlPlaneNamespace}}
	patch := `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":null}}}`
	if level != "" {
		patch = strings.ReplaceAll(patch, "null", `"`+level+`"`)
	}
	require.NoError(s.T, s.ControlPlane.Patch(context.Background(), namespace, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

// pod is a process that a Deployment of the chart would have run.
type pod struct {
	*process.Process
	args           []string
	metrics, probe string
}

func (p pod) stop() { p.Stop(syscall.SIGTERM) }

// runPod runs a program as the pod of a Deployment would, but for the addresses and folders of its own, of which a machine
// has one, and waits until it is ready.
func runPod(s *harness.Environment, program, name string) pod {
	s.T.Helper()
	deployment := &appsv1.Deployment{}
	require.NoError(s.T, s.ControlPlane.Get(s.T.Context(), deploymentKey(name), deployment))
	template := deployment.Spec.Template.Spec
	container := template.Containers[0]
	p := pod{args: container.Args, metrics: process.FreeAddress(s.T), probe: process.FreeAddress(s.T)}
	folder := s.T.TempDir()
	args := append(slices.Clone(p.args), "--kubeconfig", s.KubeconfigOf(template.ServiceAccountName),
		"--metrics-bind-address", p.metrics, "--health-probe-bind-address", p.probe, "--webhook-bind-address", process.FreeAddress(s.T),
		"--webhook-cert-dir", filepath.Join(folder, "webhook"), "--artifact-cache-dir", filepath.Join(folder, "artifacts"),
		"--leader-election-lease-duration", "6s", "--leader-election-renew-deadline", "4s", "--leader-election-retry-period", "1s")
	env := os.Environ()
	for _, variable := range container.Env {
		require.Nil(s.T, variable.ValueFrom, "a variable that the test does not know how to fill in")
		env = append(env, variable.Name+"="+variable.Value)
	}
	log, err := os.Create(filepath.Join(folder, name+".log"))
	require.NoError(s.T, err)
	s.T.Cleanup(func() {
		p.Stop(syscall.SIGKILL)
		if s.T.Failed() {
			content, _ := os.ReadFile(log.Name())
			s.T.Logf("the log of %s ends with:\n%s", name, content[max(0, len(content)-6000):])
		}
	})
	p.Process = process.Start(s.T, log, env, program, args...)
	if strings.HasSuffix(name, "-workers") { // watchers are ready when there are workers
		require.Eventually(s.T, func() bool { return process.IsReady(p.probe) || !p.Running() }, time.Minute, 50*time.Millisecond)
	}
	require.True(s.T, p.Running())
	return p
}

// answersOnlyReaders checks that metrics are for those only who may read them.
func answersOnlyReaders(s *harness.Environment, p pod) {
	s.T.Helper()
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // self-signed, on loopback
	get := func(token string) int {
		request, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, "https://"+p.metrics+"/metrics", http.NoBody)
		require.NoError(s.T, err)
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := insecure.Do(request)
		require.NoError(s.T, err)
		defer func() { _ = response.Body.Close() }()
		return response.StatusCode
	}
	require.Equal(s.T, http.StatusUnauthorized, get(""))
	require.Equal(s.T, http.StatusForbidden, get(s.TokenOf("default")))
	s.Apply(s.ControlPlane, harness.ControlPlaneNamespace, []byte(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"scraper"},
"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"lifecycle-manager-metrics-reader"},"subjects":[{"kind":"ServiceAccount","name":"scraper","namespace":"kcp-system"}]}
---
{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"scraper"}}`))
	s.Eventually("who is bound to the role of readers may read", 30*time.Second, func(c *assert.CollectT) {
		assert.Equal(c, http.StatusOK, get(s.TokenOf("scraper")))
	})
}

// upgradeTo upgrades the release to the chart in a folder, with values.
func upgradeTo(t *testing.T, s *harness.Environment, folder string, values map[string]any, flags ...string) {
	t.Helper()
	content, err := yaml.Marshal(values)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(file, content, 0o600))
	helm(t, s, append([]string{"upgrade", release, folder, "--values", file, "--wait", "--timeout", "3m"}, flags...)...)
}

// helm runs a command of Helm's on the control plane.
func helm(t *testing.T, s *harness.Environment, args ...string) {
	t.Helper()
	args = append(args, "--namespace", harness.ControlPlaneNamespace, "--kubeconfig", s.ControlPlane.Kubeconfig)
	out, err := exec.CommandContext(t.Context(), helmProgram(t), args...).CombinedOutput()
	require.NoError(t, err, "helm %s: %s", args[0], out)
}

// helmProgram is Helm's command line, which make has built.
func helmProgram(t *testing.T) string {
	t.Helper()
	program := os.Getenv("HELM")
	require.NotEmpty(t, program, "HELM is not set: test/run says where it is")
	return program
}
