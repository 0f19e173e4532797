package install

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// unreasoned is how the API server answers with an error that has no status of its own.
func unreasoned(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message}}
}

func TestAnObjectThatDoesNotFitIsToldWithoutItsValues(t *testing.T) {
	t.Parallel()
	const object = "failed to create typed patch object (a/b; v1, Kind=Secret): "
	cases := map[string]struct{ said, want string }{
		"one field":                     {object + ".stringData.password: expected string, got &value.valueUnstructured{Value:48151623}", "invalid: stringData.password: expected string"},
		"more than one field":           {object + "errors:\n  .data.a: expected string, got 48151623\n  .data.b: expected string, got 48151623", "invalid: data.a: expected string"},
		"a number":                      {object + ".spec.replicas: expected numeric (int or float), got string", "invalid: spec.replicas: expected numeric (int or float)"},
		"an element with a name":        {object + `.spec.env[name="A"].value: expected string, got 48151623`, `invalid: spec.env[name="A"].value: expected string`},
		"an element with another key":   {object + `.spec.all[key="48151623"].value: expected string, got 1`, "invalid: spec.all[…].value: expected string"},
		"an element of a set":           {object + `.spec.all[="48151623]: a"]: expected string, got 1`, "invalid: spec.all[…] does not fit its kind"},
		"a field that is not declared":  {object + ".spec.foo: field not declared in schema", "invalid: spec.foo does not fit its kind"},
		"two elements with one name":    {object + `.spec.containers[name="a"].env: duplicate entries for key [name="A"]`, `invalid: spec.containers[name="a"].env: duplicate entries for key [name="A"]`},
		"two elements with another key": {object + "errors:\n  .spec.ports: duplicate entries for key [containerPort=48151623,protocol=\"TCP\"]\n  .a: expected string, got 1", "invalid: spec.ports: duplicate entries for key […]"},
		"no field":                      {object + "expected map, got 48151623): .a: expected string, got 1", "the API server cannot make sense of it: a field may be of a wrong type"},
		"other words":                   {"unable to convert 48151623: it is odd", "the API server cannot make sense of it: a field may be of a wrong type"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, refusal(unreasoned(tc.said)))
			require.NotContains(t, refusal(unreasoned(tc.said)), "48151623")
		})
	}
}

func TestWhatTheAPIServerCannotMakeSenseOfDoesNotPass(t *testing.T) {
	t.Parallel()
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Sample"}
	p := placed{object: &object{gvk: kind}}
	of := func(d definition) kinds { return kinds{own: map[schema.GroupKind]definition{kind.GroupKind(): d}} }
	cases := map[string]struct {
		err     error
		kinds   kinds
		passing bool
	}{
		"a field of a wrong type":                    {unreasoned("x"), kinds{}, false},
		"the same of a kind of the module":           {unreasoned("x"), of(definition{}), false},
		"what converts the module's kind may start":  {unreasoned("x"), of(definition{converted: true}), true},
		"an admission webhook does not answer":       {apierrors.NewInternalError(errors.New("x")), kinds{}, true},
		"the API server takes too long":              {apierrors.NewTimeoutError("x", 1), kinds{}, true},
		"the API server is not available":            {apierrors.NewServiceUnavailable("x"), kinds{}, true},
		"a proxy before the API server answered 502": {apierrors.NewGenericServerResponse(http.StatusBadGateway, "patch", schema.GroupResource{}, "x", "", 0, true), kinds{}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.passing, failureOf(p, tc.kinds, tc.err).passing)
		})
	}
}

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
	s := newStand(t, operatorYAML+fmt.Sprintf(deployment, "env", "1", "48151623")+fmt.Sprintf(deployment, "replicas", `"48151623"`, "a")+`
apiVersion: v1
kind: Secret
metadata: {name: secret}
stringData: {password: 48151623}
`, nil)
	result := s.apply()
	require.Equal(t, shared.StateError, result.Observed.State, result.Observed.Message)
	require.Equal(t, ReasonApplyFailed, result.Observed.Reason)
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

func TestWhatCannotBeAppliedForTheMomentIsAnErrorAfterAWhile(t *testing.T) {
	s := newStand(t, configMap("late"), nil)
	s.requests.cut(func(req *http.Request) error {
		if req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/late") {
			return apierrors.NewInternalError(errors.New("failed calling webhook"))
		}
		return nil
	})
	result := s.apply()
	require.Equal(t, shared.StateProcessing, result.Observed.State)
	require.Equal(t, ReasonApplyRetried, result.Observed.Reason)
	s.report(result.Observed, false)
	s.later = 11 * time.Minute
	result = s.apply()
	require.Equal(t, OutcomeIncomplete, result.Outcome)
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Equal(t, ReasonApplyRetried, result.Observed.Reason)
	s.requests.cut(nil)
	require.Equal(t, OutcomeApplied, s.apply().Outcome)
}

func TestAnItemThatIsThereTwiceIsCalledThat(t *testing.T) {
	s := newStand(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: twice}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: a, image: a, env: [{name: A, value: s3cret}, {name: A, value: other}]}]}
`, nil)
	result := s.apply()
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Contains(t, result.Observed.Message, `env: duplicate entries for key [name="A"]`)
	require.NotContains(t, result.Observed.Message, "s3cret")
}
