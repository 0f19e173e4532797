package lifecycle

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestTheProbeReadsTheDefaultCustomResourceAndEachKindOnce(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()

	changed, requests := s.probe()
	require.False(t, changed)
	require.ElementsMatch(t, []string{
		"GET /apis/" + s.id + ".example.com/v1/namespaces/" + s.id + "-remote/samples/default",
		"GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions", "GET /apis/rbac.authorization.k8s.io/v1/clusterroles",
		"GET /apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "GET /apis/apps/v1/deployments",
		"GET /api/v1/serviceaccounts", "GET /api/v1/configmaps",
	}, requests)

	for state, differs := range map[string]bool{"Warning": true, "Error": true, "Processing": true, "Ready": false} {
		s.setState("default", state)
		changed, _ := s.probe()
		require.Equal(t, differs, changed, state)
	}

	require.NoError(t, s.remote.Delete(context.Background(), s.sample("default")))
	changed, _ = s.probe()
	require.False(t, changed, "what its user deleted stays deleted")
	s.update(func(m *v1beta2.Manifest) {
		m.Annotations = map[string]string{shared.AnnotationRecreateDefaultCR: "true"}
	})
	changed, _ = s.probe()
	require.True(t, changed, "unless it is to come back")
}

func TestTheProbeReadsTheStateWhereTheModuleSaysItIs(t *testing.T) {
	s := newEnvironment(t, moduleYAML, func(m *v1beta2.Manifest) {
		withDefaultCR(m)
		m.Annotations = map[string]string{
			"operator.kyma-project.io/custom-state-check": `[{"jsonPath":"spec.greeting","value":"hello","mappedState":"Ready"}]`,
		}
	})
	s.report(s.ready(s.install()), true)
	changed, _ := s.probe()
	require.False(t, changed)
	sample := s.get("ID.example.com/v1", "Sample", "ID-remote", "default")
	sample.Object["spec"] = map[string]any{"greeting": "bye"}
	require.NoError(t, s.remote.Update(context.Background(), sample))
	changed, _ = s.probe()
	require.True(t, changed)
}

func TestTheProbeOfAClusterThatDoesNotAnswerKnowsNothing(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	s.requests.intercept(func(r *http.Request) error {
		if strings.Contains(r.URL.Path, "/samples/") {
			return errors.New("no route")
		}
		return nil
	})
	changed, err := s.activities.Drift.Probe(context.Background(), []*v1beta2.Manifest{s.cached(), s.cached()}, 0)
	require.Empty(t, changed)
	require.Equal(t, fault.Unreachable, fault.Of(err).Kind)
}
