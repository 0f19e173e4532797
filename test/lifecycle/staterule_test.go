package lifecycle

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

// A claim for a volume that nobody provides stays pending.
const unboundClaim = `
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: nobody, resources: {requests: {storage: 1Mi}}}
`

func TestWhoseStateCountsIsASettingOfTheInstance(t *testing.T) {
	s := newEnvironment(t, strings.TrimSuffix(moduleYAML, "\n")+unboundClaim, func(m *v1beta2.Manifest) {
		withDefaultCR(m)
		m.Spec.Manager = &v1beta2.Manager{GroupVersionKind: v1beta2.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Name: "nobody"}
		m.Annotations = map[string]string{desired.AnnotationCustomStateCheck: `[{"jsonPath":"{","value":"x","mappedState":"Ready"}]`}
	})
	s.stateRule = shared.StateFromWorkloads
	s.restart()
	seen := s.ready(s.install())
	require.Equal(t, readiness.ReasonReady, seen.Reason, "neither the claim nor the manager nor the custom resource, which says nothing, counts")
	s.report(seen, true)

	s.setState("default", "Error")
	changed, requests := s.probe()
	require.False(t, changed)
	require.NotContains(t, strings.Join(requests, " "), "/samples", "a state that does not count is not read")

	s.update(func(m *v1beta2.Manifest) { delete(m.Annotations, desired.AnnotationCustomStateCheck) })
	s.stateRule = shared.StateFromCustomResource
	s.restart()
	changed, _ = s.probe()
	require.True(t, changed, "the sweep notices that another rule counts")
	seen = s.wait(seen)
	require.Equal(t, shared.StateError, seen.State)
	require.Equal(t, readiness.ReasonModuleCRError, seen.Reason)

	s.setState("default", "Warning")
	s.update(func(m *v1beta2.Manifest) { m.Spec.Manager = nil })
	require.Equal(t, readiness.ReasonResourcesPending, s.wait(seen).Reason, "under the older rule the claim counts")
}

func TestAWarningOfTheCustomResourceEndsWithTheRule(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	s.setState("default", "Warning")
	seen := s.wait(readiness.Observed{State: shared.StateReady, Reason: readiness.ReasonReady})
	require.Equal(t, shared.StateWarning, seen.State)
	s.report(seen, true)

	s.stateRule = shared.StateFromWorkloads
	s.restart()
	changed, _ := s.probe()
	require.True(t, changed)
	seen = s.ready(s.settle(s.apply()))
	s.report(seen, true)
	changed, _ = s.probe()
	require.False(t, changed)
}
