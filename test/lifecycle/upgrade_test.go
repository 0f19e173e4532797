package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
)

const heldYAML = `
apiVersion: ID.example.com/v1
kind: Sample
metadata: {name: held}
---
`

func TestARemovedInventoryEntryDoesNotBlockReadiness(t *testing.T) {
	s := newEnvironment(t, moduleYAML+heldYAML, nil)
	s.installReady()
	held := s.get("ID.example.com/v1", "Sample", "ID-remote", "held")
	held.SetFinalizers([]string{"example.com/somebody"})
	require.NoError(t, s.remote.Update(context.Background(), held))

	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Version = "1.1.0"
		m.Spec.Install.Source = s.layer(moduleYAML)
	})
	upgraded := s.apply()
	require.Equal(t, manifests.OutcomeApplied, upgraded.Outcome, upgraded.Observed.Message)
	held = s.get("ID.example.com/v1", "Sample", "ID-remote", "held")
	require.NotNil(t, held.GetDeletionTimestamp(), "it is pruned, and somebody holds it")
	seen := s.ready(s.wait(upgraded.Observed))
	require.Equal(t, int32(6), seen.Total)
	s.report(seen, true)

	held.SetFinalizers(nil)
	require.NoError(t, s.remote.Update(context.Background(), held))
	require.Eventually(t, func() bool { return s.get("ID.example.com/v1", "Sample", "ID-remote", "held") == nil }, time.Minute, 50*time.Millisecond)
	require.Len(t, s.read().Status.Inventory, 7, "nobody has seen yet that it is gone")
	again := s.apply()
	require.Len(t, s.read().Status.Inventory, 6)
	require.Equal(t, shared.StateReady, s.ready(s.settle(again)).State)

	s.update(func(m *v1beta2.Manifest) { m.Spec.Install.Source = s.layer(moduleYAML + heldYAML) })
	back := s.apply()
	require.Equal(t, int32(7), s.ready(s.wait(back.Observed)).Total, "what it has again counts again")
}

func TestAJobThatRanAndWasCleanedUpIsNotMissing(t *testing.T) {
	s := newEnvironment(t, operatorYAML+`
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: once, image: "example.com/once:1"}]}}}
`, nil)
	s.installReady()
	job := s.get("batch/v1", "Job", "ID-remote", "once")
	require.NoError(t, s.remote.Delete(context.Background(), job))
	require.Eventually(t, func() bool {
		left := s.get("batch/v1", "Job", "ID-remote", "once")
		if left != nil && len(left.GetFinalizers()) > 0 {
			left.SetFinalizers(nil)
			_ = s.remote.Update(context.Background(), left)
		}
		return left == nil
	}, time.Minute, 50*time.Millisecond)
	again := s.apply()
	require.Equal(t, shared.StateReady, s.ready(s.settle(again)).State)
	require.Nil(t, s.get("batch/v1", "Job", "ID-remote", "once"), "it runs once for a version")
}

// exportedYAML is what people ship: stringData, the old name of a pod's account, a variable twice, an owner from elsewhere.
const exportedYAML = `
apiVersion: v1
kind: Secret
metadata: {name: plain}
stringData: {user: admin, oldkey: "1", shared: a}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: owned
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: gone, uid: 99999999-2222-3333-4444-555555555555}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: exported}
spec:
  replicas: 0
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec:
      serviceAccount: old
      containers: [{name: c, image: i, env: [{name: LEVEL, value: info}, {name: LEVEL, value: debug}]}]
`

// upgradedYAML is the next version of exportedYAML, without what it can do without.
func upgradedYAML() string {
	next := strings.Replace(exportedYAML, `{user: admin, oldkey: "1", shared: a}`, `{user: root, newkey: "2", shared: a}`, 1)
	return strings.Replace(next, "      serviceAccount: old\n", "", 1)
}

func TestWhatAnAPIServerMovesToOtherFieldsGoesWithTheVersionThatDropsIt(t *testing.T) {
	s := newEnvironment(t, exportedYAML, nil)
	installed := s.apply()
	require.Equal(t, manifests.OutcomeApplied, installed.Outcome, installed.Observed.Message)
	require.Empty(t, s.get("v1", "ConfigMap", "ID-remote", "owned").GetOwnerReferences(), "Kubernetes would delete it")
	pod, _, _ := unstructured.NestedMap(s.get("apps/v1", "Deployment", "ID-remote", "exported").Object, "spec", "template", "spec")
	require.Equal(t, "old", pod["serviceAccountName"])
	require.Contains(t, fmt.Sprint(pod["containers"]), "env:[map[name:LEVEL value:debug]]")

	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Version = "1.1.0"
		m.Spec.Install.Source = s.layer(upgradedYAML())
	})
	upgraded := s.apply()
	require.Equal(t, manifests.OutcomeApplied, upgraded.Outcome, upgraded.Observed.Message)
	require.Equal(t, map[string]any{"user": "cm9vdA==", "newkey": "Mg==", "shared": "YQ=="}, s.get("v1", "Secret", "ID-remote", "plain").Object["data"])
	pod, _, _ = unstructured.NestedMap(s.get("apps/v1", "Deployment", "ID-remote", "exported").Object, "spec", "template", "spec")
	require.NotContains(t, pod, "serviceAccountName")
	require.NotContains(t, pod, "serviceAccount")
}

// Earlier releases applied stringData as it is, so that they own no key in data.
func TestASecretThatAnEarlierReleaseAppliedLosesTheKeysThatAVersionDrops(t *testing.T) {
	s := newEnvironment(t, exportedYAML, nil)
	installed := s.apply()
	require.Equal(t, manifests.OutcomeApplied, installed.Outcome, installed.Observed.Message)
	apply := func(manager string, change func(map[string]any)) {
		live := s.get("v1", "Secret", "ID-remote", "plain")
		body := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": live.GetName(), "namespace": live.GetNamespace()}}
		secret := &unstructured.Unstructured{Object: body}
		if manager == shared.FieldManagerModuleResources {
			secret.SetLabels(live.GetLabels())
			secret.SetAnnotations(live.GetAnnotations())
		}
		change(secret.Object)
		require.NoError(t, s.remote.Patch(t.Context(), secret, client.Apply, client.FieldOwner(manager), client.ForceOwnership)) //nolint:staticcheck // as the release did
	}
	apply(shared.FieldManagerModuleResources, func(secret map[string]any) {
		secret["stringData"] = map[string]any{"user": "admin", "oldkey": "1", "shared": "a", "kept": "x"}
	})
	apply("somebody", func(secret map[string]any) { secret["data"] = map[string]any{"kept": "eA==", "theirs": "eA=="} })

	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Version = "1.1.0"
		m.Spec.Install.Source = s.layer(upgradedYAML())
	})
	upgraded := s.apply()
	require.Equal(t, manifests.OutcomeApplied, upgraded.Outcome, upgraded.Observed.Message)
	require.Equal(t, map[string]any{"user": "cm9vdA==", "newkey": "Mg==", "shared": "YQ==", "kept": "eA==", "theirs": "eA=="},
		s.get("v1", "Secret", "ID-remote", "plain").Object["data"], "what somebody else owns stays")
	s.requests.take()
	s.apply()
	require.Empty(t, writes(s.requests.take()), "the ownership moves once")
}
