package apply

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
)

// unreasoned returns the API server's answer for an error without a status of its own.
func unreasoned(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message}}
}

func TestASchemaMismatchIsReportedWithoutValues(t *testing.T) {
	t.Parallel()
	const object = "failed to create typed patch object (a/b; v1, Kind=Secret): "
	cases := map[string]struct{ message, want string }{
		"one field":                     {object + ".stringData.password: expected string, got &value.valueUnstructured{Value:48151623}", "invalid: stringData.password: expected string"},
		"more than one field":           {object + "errors:\n  .data.a: expected string, got 48151623\n  .data.b: expected string, got 48151623", "invalid: data.a: expected string"},
		"a number":                      {object + ".spec.replicas: expected numeric (int or float), got string", "invalid: spec.replicas: expected numeric (int or float)"},
		"an element with a name":        {object + `.spec.env[name="A"].value: expected string, got 48151623`, `invalid: spec.env[name="A"].value: expected string`},
		"an element with another key":   {object + `.spec.all[key="48151623"].value: expected string, got 1`, "invalid: spec.all[…].value: expected string"},
		"an element of a set":           {object + `.spec.all[="48151623]: a"]: expected string, got 1`, "invalid: spec.all[…] does not match the schema of its kind"},
		"a field that is not declared":  {object + ".spec.foo: field not declared in schema", "invalid: spec.foo does not match the schema of its kind"},
		"two elements with one name":    {object + `.spec.containers[name="a"].env: duplicate entries for key [name="A"]`, `invalid: spec.containers[name="a"].env: duplicate entries for key [name="A"]`},
		"two elements with another key": {object + "errors:\n  .spec.ports: duplicate entries for key [containerPort=48151623,protocol=\"TCP\"]\n  .a: expected string, got 1", "invalid: spec.ports: duplicate entries for key […]"},
		"no field":                      {object + "expected map, got 48151623): .a: expected string, got 1", "it does not match the schema of its kind: a field may have the wrong type"},
		"another message":               {"unable to convert 48151623: it is odd", "it does not match the schema of its kind: a field may have the wrong type"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, Refusal(unreasoned(tc.message)))
			require.NotContains(t, Refusal(unreasoned(tc.message)), "48151623")
		})
	}
}

func TestASchemaMismatchIsNotRetryable(t *testing.T) {
	t.Parallel()
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Sample"}
	p := bundle.Placed{Object: &bundle.Object{GVK: kind}}
	of := func(d kinds.Definition) kinds.Mapper {
		return kinds.Mapper{Own: map[schema.GroupKind]kinds.Definition{kind.GroupKind(): d}}
	}
	cases := map[string]struct {
		err       error
		kinds     kinds.Mapper
		retryable bool
	}{
		"a field of a wrong type":                               {unreasoned("x"), kinds.Mapper{}, false},
		"the same with a kind of the module":                    {unreasoned("x"), of(kinds.Definition{}), false},
		"the conversion webhook of the module's kind may start": {unreasoned("x"), of(kinds.Definition{Converted: true}), true},
		"an admission webhook does not answer":                  {apierrors.NewInternalError(errors.New("x")), kinds.Mapper{}, true},
		"the API server takes too long":                         {apierrors.NewTimeoutError("x", 1), kinds.Mapper{}, true},
		"the API server is not available":                       {apierrors.NewServiceUnavailable("x"), kinds.Mapper{}, true},
		"a proxy before the API server answered 502":            {apierrors.NewGenericServerResponse(http.StatusBadGateway, "patch", schema.GroupResource{}, "x", "", 0, true), kinds.Mapper{}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.retryable, failureOf(p, tc.kinds, tc.err).Retryable)
		})
	}
}

func TestAMissingRightIsNamedWithoutTheUser(t *testing.T) {
	err := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "a",
		errors.New(`User "system:serviceaccount:a-long-namespace-of-many-letters:a-long-name-of-an-account-with-as-many" cannot patch resource "deployments" in API group "apps" in the namespace "kyma-system"`))
	require.Equal(t, `forbidden: cannot patch resource "deployments" in API group "apps" in the namespace "kyma-system"`, Refusal(err))
	err = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("exceeded quota"))
	require.Equal(t, `pods "a" is forbidden: exceeded quota`, Refusal(err))
}
