package lifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

func TestAFieldOfAWrongTypeIsAnErrorThatDoesNotQuoteIt(t *testing.T) {
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec:
  replicas: %s
  selector: {matchLabels: {app: x}}
  template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: i, env: [{name: A, value: %s}]}]}}
---
`
	s := newEnvironment(t, operatorYAML+fmt.Sprintf(deployment, "env", "1", "48151623")+fmt.Sprintf(deployment, "replicas", `"48151623"`, "a")+`
apiVersion: v1
kind: Secret
metadata: {name: secret}
stringData: {password: 48151623}
`, nil)
	result := s.apply()
	require.Equal(t, shared.StateError, result.Observed.State, result.Observed.Message)
	require.Equal(t, readiness.ReasonApplyFailed, result.Observed.Reason)
	for _, said := range []string{
		"3 of 8 objects could not be applied",
		"Deployment " + s.id + `-remote/env: invalid: spec.template.spec.containers[name="c"].env[name="A"].value: expected string`,
		"Deployment " + s.id + "-remote/replicas: invalid: spec.replicas: expected numeric (int or float)",
		"Secret " + s.id + "-remote/secret: invalid: stringData.password: expected string",
	} {
		require.Contains(t, result.Observed.Message, said)
	}
	require.True(t, s.report(result.Observed, false).Changed)
	m := s.read()
	require.Equal(t, shared.StateError, m.Status.State)
	encoded, err := json.Marshal(m.Status)
	require.NoError(t, err)
	require.NotContains(t, string(encoded), "48151623")
}

func TestARetryableFailureIsAnErrorAfterAWhile(t *testing.T) {
	s := newEnvironment(t, configMap("late"), nil)
	s.requests.intercept(func(req *http.Request) error {
		if req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/late") {
			return apierrors.NewInternalError(errors.New("failed calling webhook"))
		}
		return nil
	})
	result := s.apply()
	require.Equal(t, shared.StateProcessing, result.Observed.State)
	require.Equal(t, readiness.ReasonApplyRetried, result.Observed.Reason)
	s.report(result.Observed, false)
	s.later = 11 * time.Minute
	result = s.apply()
	require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Equal(t, readiness.ReasonApplyRetried, result.Observed.Reason)
	s.requests.intercept(nil)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
}

func TestADuplicateItemIsReportedAsSuch(t *testing.T) {
	s := newEnvironment(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: twice}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: a, image: a, ports: [{name: http, containerPort: 80}, {name: metrics, containerPort: 80}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: last}
spec: {containers: [{name: a, image: a, env: [{name: A, value: first}, {name: A, value: last}]}]}
`, nil)
	result := s.apply()
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Contains(t, result.Observed.Message, "ports: duplicate entries for key")
	// Of two environment variables the last one counts, as for kubectl.
	containers, _, err := unstructured.NestedSlice(s.get("v1", "Pod", "ID-remote", "last").Object, "spec", "containers")
	require.NoError(t, err)
	require.Equal(t, []any{map[string]any{"name": "A", "value": "last"}}, containers[0].(map[string]any)["env"]) //nolint:errcheck // it is a container
}
