package e2e

import (
	"bytes"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/upstream"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

const (
	businessDefinition = `
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: businesses.rule.example.com}
spec:
  group: rule.example.com
  names: {kind: Business, plural: businesses, singular: business, listKind: BusinessList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
	business = "apiVersion: rule.example.com/v1\nkind: Business\nmetadata: {name: default, namespace: kyma-system}\n"
)

var businessKind = schema.GroupVersionKind{Group: "rule.example.com", Version: "v1", Kind: "Business"}

// A module of today's generation is ready, while its custom resource warns of something that is its user's business.
func TestAModuleKeepsTheStateOfItsWorkloadsAfterTheTakeOver(t *testing.T) {
	s := harness.NewEnvironment(t, "--module-state-from", "workloads")
	s.SweepOften() // a restart with another rule reaches settled modules by the sweep
	module := withWorkload("warns", "1.0.0")
	module.Manifest += businessDefinition
	module.DefaultCR = business
	s.PushModule(module)
	kyma := harness.NewKyma("ruled", "warns")
	kyma.Finalizers = []string{shared.FinalizerKyma}
	s.Create(kyma)
	manifest := upstreamLeftModule(s, kyma, "warns", module.Manifest, func(m *v1beta2.Manifest) {
		raw, err := yaml.YAMLToJSON([]byte(business))
		require.NoError(t, err)
		m.Spec.Resource = &runtime.RawExtension{Raw: raw}
	})
	s.Eventually("upstream's custom resource is created", time.Minute, func(c *assert.CollectT) {
		assert.NoError(c, upstream.CreateDefaultCR(t.Context(), s.Remote, manifest))
	})
	reports := func(state string) {
		t.Helper()
		cr := &unstructured.Unstructured{}
		cr.SetGroupVersionKind(businessKind)
		require.NoError(t, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: "default"}, cr))
		require.NoError(t, unstructured.SetNestedField(cr.Object, state, "status", "state"))
		require.NoError(t, s.Remote.Update(t.Context(), cr))
	}
	reports("Warning")
	migrate := func(args ...string) (string, error) {
		t.Helper()
		var out bytes.Buffer
		cmd := exec.CommandContext(t.Context(), testfleet.Binary(t, "lifecycle-manager"), append([]string{"migrate", "--kubeconfig", s.ControlPlane.Kubeconfig}, args...)...)
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		return out.String(), err
	}
	s.Eventually("the plan says under which rule the module changes its state", 2*time.Minute, func(c *assert.CollectT) {
		said, err := migrate("plan", "ruled")
		require.NoError(c, err, said)
		assert.Contains(c, said, "warns 1.0.0 (Ready): 3 objects stay as they are and get our mark; default custom resource Business default; "+
			"becomes Warning with --module-state-from=custom-resource: Business kyma-system/default reports Warning\n")
		assert.Contains(c, said, "With --module-state-from=custom-resource, 1 of 1 modules change their state.\nWith --module-state-from=workloads, 0 of 1 modules change their state.\n")
	})
	said, err := migrate("hold", "--all")
	require.Error(t, err, said)
	require.Contains(t, said, "set --module-state-from to choose where modules' states come from")
	require.Contains(t, said, "warns of Kyma ruled (Ready)")
	require.False(t, s.Kyma("ruled").IsSkipReconciliation(), "hold guesses nothing")

	said, err = migrate("hold", "--all", "--module-state-from", "custom-resource")
	require.NoError(t, err, said)
	s.Instance.Start()
	s.Eventually("adopt refuses, as the instance follows another rule", time.Minute, func(c *assert.CollectT) {
		said, err := migrate("adopt", "ruled")
		require.Error(c, err)
		assert.Contains(c, said, "the running instance has another value of --module-state-from than hold was given")
	})
	said, err = migrate("hold", "ruled", "--module-state-from", "workloads")
	require.NoError(t, err, said)
	said, err = migrate("adopt", "ruled", "--timeout", "2m")
	require.NoError(t, err, said)
	s.ReadyAmongOthers("ruled", "warns", "1.0.0")
	reports("Error")
	s.EditRemote(func(k *v1beta2.Kyma) { metav1.SetMetaDataAnnotation(&k.ObjectMeta, "edited", "once") })
	s.ReadyAmongOthers("ruled", "warns", "1.0.0")
	require.Equal(t, shared.StateReady, s.Kyma("ruled").Status.State)

	s.Instance.Stop()
	s.Instance.Flags = []string{"--module-state-from", "custom-resource"}
	s.Instance.Start()
	s.Eventually("after a restart with the older rule the module is in error", 2*time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, shared.StateError, s.Module("ruled", "warns").State)
		assert.Equal(c, shared.StateError, s.Kyma("ruled").Status.State)
	})
}
