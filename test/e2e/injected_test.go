package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// injecting is what a module is made of whose Secret asks for the data of the Secret of that name in the control plane.
func injecting(module, secret string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata: {name: %s}
data: {version: 1.0.0}
---
apiVersion: v1
kind: Secret
metadata:
  name: %s
  annotations: {operator.kyma-project.io/inject-data-from-kcp: "true"}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths":{}}'}
`, module, secret)
}

// As upstream's users have it: the module deployer has an annotated Secret in its layer, and the control plane one of the
// same name that is labelled for it.
func TestADeployerGetsTheDataOfItsSecretAndNobodyElseDoes(t *testing.T) {
	cache := t.TempDir()
	s := harness.NewEnvironment(t, "--artifact-cache-dir", cache)
	s.SweepOften() // a change of the Secret is found by passes
	s.PushModule(harness.MinimalModule{Name: "deployer", Channels: "regular", Manifest: injecting("deployer", "image-pull-secret")})
	s.PushModule(harness.MinimalModule{Name: "bystander", Channels: "regular", Manifest: injecting("bystander", "others-pull-secret")})
	s.Instance.Start()
	kyma := harness.NewKyma("injecting", "deployer", "bystander")
	s.Create(kyma)

	data := func(name string) (map[string][]byte, error) {
		found := &corev1.Secret{}
		err := s.Remote.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: name}, found)
		return found.Data, err
	}
	has := func(password string) {
		t.Helper()
		s.Eventually("the module's Secret has the password "+password, 2*time.Minute, func(c *assert.CollectT) {
			found, err := data("image-pull-secret")
			if assert.NoError(c, err) {
				assert.Equal(c, pullData(password), found)
			}
		})
	}
	fails := func(message string) {
		t.Helper()
		s.Eventually("Manifest and module say "+message, 2*time.Minute, func(c *assert.CollectT) {
			for _, m := range s.Manifests(s.Kyma("injecting")) {
				if m.ModuleName() == "deployer" && assert.NotNil(c, m.Status.LastOperation) {
					assert.Equal(c, shared.StateError, m.Status.State)
					assert.Equal(c, message, m.Status.LastOperation.Operation)
					assert.Contains(c, m.Status.LastOperation.Hint, "create it in the control plane")
				}
			}
			module := harness.ModulesByName(s.Kyma("injecting").Status.Modules)["deployer"]
			assert.Equal(c, shared.StateError, module.State)
			assert.Contains(c, module.Message, message)
		})
	}
	const failed = "inject-data-from-kcp transform failed: "
	const missing = failed + `failed to fetch kcp secret "image-pull-secret": failed to get secret image-pull-secret-kcp-system: secrets "image-pull-secret" not found`

	fails(missing)
	require.Empty(t, s.MinimalVersion(harness.RemoteNamespace, "deployer"), "nothing of it is applied")
	s.Eventually("a module that may not ask has what its layer says", 2*time.Minute, func(c *assert.CollectT) {
		found, err := data("others-pull-secret")
		if assert.NoError(c, err) {
			assert.Equal(c, map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{}}`)}, found)
		}
	})

	source := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "image-pull-secret", Namespace: harness.ControlPlaneNamespace, Labels: map[string]string{shared.LabelModuleName: "deployer"}},
		Type:       corev1.SecretTypeDockerConfigJson, Data: pullData("hidden-1st"),
	}
	require.NoError(t, s.ControlPlane.Create(t.Context(), source))
	t.Cleanup(func() { _ = s.ControlPlane.Delete(context.Background(), source) })
	has("hidden-1st")
	s.BecomesReady("injecting", "deployer@1.0.0", "bystander@1.0.0")

	harness.EditObject(t, s.ControlPlane, source, func() { source.Data = pullData("hidden-2nd") })
	has("hidden-2nd")

	harness.EditObject(t, s.ControlPlane, source, func() { source.Labels[shared.LabelModuleName] = "not-deployer" })
	fails(failed + "kcp source secret operator.kyma-project.io/module-name label does not match the manifest module: secret=image-pull-secret expected=deployer actual=not-deployer")
	harness.EditObject(t, s.ControlPlane, source, func() { source.Labels = nil })
	fails(failed + "kcp source secret is missing the required operator.kyma-project.io/module-name label: secret=image-pull-secret")
	has("hidden-2nd")
	harness.EditObject(t, s.ControlPlane, source, func() { source.Labels = map[string]string{shared.LabelModuleName: "deployer"} })
	s.BecomesReady("injecting", "deployer@1.0.0", "bystander@1.0.0")
	require.NoError(t, s.ControlPlane.Delete(t.Context(), source))
	fails(missing)
	has("hidden-2nd")

	for _, password := range []string{"hidden-1st", "hidden-2nd"} {
		saysNowhere(t, s, password)
		for _, encoded := range []string{password, string(pullData(password)[corev1.DockerConfigJsonKey])} {
			isInNoHistoryStatusOrFile(t, s, kyma, cache, encoded)
		}
	}
}

// isInNoHistoryStatusOrFile requires that a secret is in no workflow of a Kyma, in none of its resources, and in no file below
// a folder.
func isInNoHistoryStatusOrFile(t *testing.T, s *harness.Environment, kyma *v1beta2.Kyma, folder, secret string) {
	t.Helper()
	require.NotContains(t, fmt.Sprint(s.Kyma(kyma.Name)), secret)
	ids := []string{kick.KymaWorkflowID(kick.RefOf(kyma))}
	for _, m := range s.Manifests(s.Kyma(kyma.Name)) {
		require.NotContains(t, fmt.Sprint(m), secret)
	}
	for _, id := range ids {
		for _, run := range s.Runs("WorkflowId = '" + id + "'") {
			require.NotContains(t, s.HistoryOf(run).String(), secret)
		}
	}
	files := 0
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		require.NotContains(t, string(content), secret)
		return err
	}))
	require.Positive(t, files, "layers are cached")
}
