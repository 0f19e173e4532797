package lifecycle

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

const denierYAML = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: ID}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ID-remote}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  validations: [{expression: "!has(object.data) || !('forbidden' in object.data)", message: "no forbidden settings here"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: ID}
spec: {policyName: ID, validationActions: [Deny]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota, namespace: ID-remote}
spec: {hard: {count/secrets: "0"}}
`

func TestRefusedObjectsAreReportedAndTheOthersAreApplied(t *testing.T) {
	fixed := func(value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed}\nimmutable: true\ndata: {password: " + value + "}\n---\n"
	}
	s := newEnvironment(t, fixed("hunter2"), nil)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	for _, document := range strings.Split(strings.ReplaceAll(denierYAML, "ID", s.id), "---\n") {
		u := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(document), &u.Object))
		require.NoError(t, s.remote.Create(context.Background(), u))
		t.Cleanup(func() { _ = s.remote.Delete(context.Background(), u) })
	}
	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Install.Source = s.layer(fixed("hunter3") + configMap("fine") +
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: denied}\ndata: {forbidden: hunter4}\n---\n" +
			"apiVersion: v1\nkind: Secret\nmetadata: {name: over}\nstringData: {password: hunter5}\n")
	})
	words := []string{
		"ConfigMap " + s.id + "-remote/denied: ", "no forbidden settings here", "ConfigMap " + s.id + "-remote/fixed: invalid: data", "Secret " + s.id + "-remote/over: ", "exceeded quota",
	}
	var result install.ApplyResult
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		// What was applied before the policies worked is unchanged, and would not be applied again.
		for kind, name := range map[string]string{"ConfigMap": "denied", "Secret": "over"} {
			if early := s.get("v1", kind, "ID-remote", name); early != nil {
				require.NoError(t, s.remote.Delete(context.Background(), early))
			}
		}
		result = s.apply()
		assert.True(c, strings.HasPrefix(result.Observed.Message, "3 of 4 objects could not be applied: "), result.Observed.Message)
		for _, word := range words {
			// Before a quota's controller has counted, the API server refuses with another message.
			assert.Contains(c, result.Observed.Message, word)
		}
	}, 2*time.Minute, 200*time.Millisecond, "policies and quotas take a moment to work")
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Equal(t, readiness.ReasonApplyFailed, result.Observed.Reason)
	require.NotContains(t, result.Observed.Message, "hunter", "values may be secret")
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "fine"))
}

const refuserYAML = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: ID-refuser}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [ID.example.com], apiVersions: [v1], operations: [CREATE], resources: [samples]}]
  validations: [{expression: "false", message: "not on a Friday", reason: REASON}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: ID-refuser}
spec: {policyName: ID-refuser, validationActions: [Deny]}
`

func TestADefaultCRThatIsNotAdmittedIsRetried(t *testing.T) {
	testfleet.NeedsRealRemote(t, "asking admission policies")
	for _, reason := range []string{"Forbidden", "Invalid"} {
		t.Run(reason, func(t *testing.T) {
			s := newEnvironment(t, moduleYAML, withDefaultCR)
			seen := s.apply().Observed
			for !seen.DefaultCRWanted {
				seen = s.wait(seen)
			}
			ctx := context.Background()
			var policy []*unstructured.Unstructured
			for _, document := range strings.Split(strings.NewReplacer("ID", s.id, "REASON", reason).Replace(refuserYAML), "---\n") {
				u := &unstructured.Unstructured{}
				require.NoError(t, yaml.Unmarshal([]byte(document), &u.Object))
				require.NoError(t, s.remote.Create(ctx, u))
				t.Cleanup(func() { _ = s.remote.Delete(context.Background(), u) })
				policy = append(policy, u)
			}
			admitted := func() bool {
				return s.remote.Create(ctx, s.sample("probe"), client.DryRunAll) == nil
			}
			require.Eventually(t, func() bool { return !admitted() }, 2*time.Minute, 200*time.Millisecond, "a policy takes a moment to work")

			_, err := s.activities.Install.EnsureDefaultCR(ctx, install.WaitInput{Ref: s.ref(), Reported: seen})
			f := fault.Of(err)
			require.Equal(t, fault.Transient, f.Kind, f.Message)
			require.Equal(t, readiness.ReasonDefaultCRInvalid, f.Reason)
			require.Contains(t, f.Message, "the cluster refuses Sample "+s.id+"-remote/default: ")
			require.Contains(t, f.Message, "ValidatingAdmissionPolicy", "who refuses it")

			for _, u := range policy {
				require.NoError(t, s.remote.Delete(ctx, u))
			}
			require.Eventually(t, admitted, 2*time.Minute, 200*time.Millisecond, "and to go")
			require.Eventually(t, func() bool {
				made, err := s.activities.Install.EnsureDefaultCR(ctx, install.WaitInput{Ref: s.ref(), Reported: seen})
				if err == nil {
					seen = made.Observed
				}
				return err == nil
			}, time.Minute, 200*time.Millisecond)
			require.Equal(t, readiness.ReasonModuleCRPending, seen.Reason)
			require.NotNil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "default"))
		})
	}
}

func TestADefaultCRWithASchemaMismatchIsRejected(t *testing.T) {
	s := newEnvironment(t, strings.Replace(moduleYAML, "spec: {type: object, ", "spec: {type: object, required: [needed], ", 1), withDefaultCR)
	seen := s.apply().Observed
	for !seen.DefaultCRWanted {
		seen = s.wait(seen)
	}
	_, err := s.activities.Install.EnsureDefaultCR(context.Background(), install.WaitInput{Ref: s.ref(), Reported: seen})
	f := fault.Of(err)
	require.Equal(t, fault.Rejected, f.Kind, f.Message)
	require.Equal(t, readiness.ReasonDefaultCRInvalid, f.Reason)
	require.Contains(t, f.Message, "spec.needed is required")
}
