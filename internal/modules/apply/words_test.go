package apply

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

func TestTheAPIServersReasonIsShownWithoutTheValue(t *testing.T) {
	t.Parallel()
	spec := field.NewPath("spec")
	container := spec.Child("template", "spec", "containers").Index(0)
	type settings struct{ Password string }
	cases := map[string]struct {
		kind string
		err  *field.Error
		want string
	}{
		"a value that is wrong":             {"CronJob", field.Invalid(spec.Child("timeZone"), "hunter2", "unknown time zone"), "invalid: spec.timeZone: unknown time zone"},
		"a rule of a definition":            {"Sample", field.Invalid(spec, "object", "size must be at least 3"), "invalid: spec: size must be at least 3"},
		"a rule that quotes no value":       {"Sample", field.Invalid(spec, field.OmitValueType{}, "size must be at least 3"), "invalid: spec: size must be at least 3"},
		"a reason that begins with a quote": {"Sample", field.Invalid(spec, field.OmitValueType{}, `"a" must not be empty`), `invalid: spec: "a" must not be empty`},
		"a rule for the whole object":       {"Sample", field.Invalid(nil, "object", "a and b exclude one another"), "invalid: the object: a and b exclude one another"},
		"a number":                          {"Deployment", field.Invalid(spec.Child("replicas"), -48151623, "must be positive"), "invalid: spec.replicas: must be positive"},
		"a structure":                       {"RoleBinding", field.Invalid(field.NewPath("roleRef"), settings{"hunter2: x"}, "cannot change roleRef"), "invalid: roleRef: cannot change roleRef"},
		"a structure in Go's own syntax":    {"Sample", field.Invalid(spec, func() {}, "hunter2"), "invalid: spec is invalid or cannot be changed"},
		"a quotation with a colon":          {"Sample", field.Invalid(spec.Child("x"), `hunter2": a: "b`, "is odd"), "invalid: spec.x: is odd"},
		"what is missing":                   {"Sample", field.Required(spec.Child("size"), ""), "invalid: spec.size is required"},
		"what is missing, and why":          {"Sample", field.Required(spec.Child("size"), "with mode fixed"), "invalid: spec.size is required: with mode fixed"},
		"a choice":                          {"Sample", field.NotSupported(spec.Child("mode"), "hunter2", []string{"a", "b"}), `invalid: spec.mode is not supported: supported values: "a", "b"`},
		"what is forbidden":                 {"Deployment", field.Forbidden(spec.Child("strategy", "rollingUpdate"), "not with Recreate"), "invalid: spec.strategy.rollingUpdate must not be set or changed: not with Recreate"},
		"what cannot be changed":            {"StatefulSet", field.Forbidden(spec, "updates to statefulset spec for fields other than 'replicas' are forbidden"), "invalid: spec: updates to statefulset spec for fields other than 'replicas' are forbidden"},
		"a diff of both objects":            {"Pod", field.Forbidden(spec, "pod updates may not change fields other than `image`\n{\"Env\":\"hunter2\"}"), "invalid: spec: pod updates may not change fields other than `image`"},
		"a duplicate":                       {"Sample", field.Duplicate(spec.Child("list").Index(1), "hunter2"), "invalid: spec.list[1] is given twice"},
		"too many":                          {"Sample", field.TooMany(spec.Child("list"), 48151623, 3), "invalid: spec.list: must have at most 3 items"},
		"a Secret":                          {"Secret", field.Invalid(field.NewPath("type"), "hunter2", "hunter2 is odd"), "invalid: type is invalid or cannot be changed"},
		"a Secret that cannot be changed":   {"Secret", field.Invalid(field.NewPath("type"), "hunter2", "field is immutable"), "invalid: type cannot be changed"},
		"data":                              {"ConfigMap", field.Invalid(field.NewPath("data").Key("a"), "hunter2", "hunter2 is odd"), "invalid: data[a] is invalid or cannot be changed"},
		"an annotation":                     {"Ingress", field.Invalid(field.NewPath("metadata", "annotations").Key("a"), "hunter2", "hunter2 is odd"), "invalid: metadata.annotations[a] is invalid or cannot be changed"},
		"an environment variable":           {"Deployment", field.Invalid(container.Child("env").Index(0).Child("value"), "hunter2", "hunter2 is odd"), "invalid: spec.template.spec.containers[0].env[0].value is invalid or cannot be changed"},
		"an argument":                       {"Deployment", field.Invalid(container.Child("args").Index(0), "hunter2", "hunter2 is odd"), "invalid: spec.template.spec.containers[0].args[0] is invalid or cannot be changed"},
		"a header":                          {"Deployment", field.Invalid(container.Child("livenessProbe", "httpGet", "httpHeaders").Index(0), "hunter2", "hunter2 is odd"), "invalid: spec.template.spec.containers[0].livenessProbe.httpGet.httpHeaders[0] is invalid or cannot be changed"},
		"a field called like a secret":      {"Sample", field.Invalid(spec.Child("adminPassword", "value"), "hunter2", "hunter2 is odd"), "invalid: spec.adminPassword.value is invalid or cannot be changed"},
		"a volume from a Secret":            {"Pod", field.Forbidden(spec.Child("volumes").Index(0).Child("secret"), "may not specify more than 1 volume type"), "invalid: spec.volumes[0].secret must not be set or changed: may not specify more than 1 volume type"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := apierrors.NewInvalid(schema.GroupKind{Kind: tc.kind}, "a", field.ErrorList{tc.err})
			require.Equal(t, tc.want, Refusal(err))
			require.NotContains(t, Refusal(err), "hunter2")
		})
	}
	long := apierrors.NewInvalid(schema.GroupKind{Kind: "Sample"}, "a", field.ErrorList{field.Invalid(spec, "x", strings.Repeat("long ", 200)), field.Invalid(spec.Child("b"), "x", strings.Repeat("long ", 200))})
	require.LessOrEqual(t, len(Refusal(long)), maxRefusal)
	require.Contains(t, Refusal(long), "spec.b: long", "each has its share")
}

func TestReasonsOfRefusalsAreDistinguished(t *testing.T) {
	t.Parallel()
	pods, roles := schema.GroupResource{Resource: "pods"}, schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "roles"}
	invalid := func(errs ...*field.Error) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Sample"}, "a", field.ErrorList(errs))
	}
	denied := func(code int32, reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
	}
	terminating := apierrors.NewForbidden(pods, "a", errors.New("unable to create new content in namespace a because it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating"}}
	spec := field.NewPath("spec")
	cases := map[string]struct {
		err       error
		reason    string
		retryable bool
		message   string
	}{
		"a quota":                        {apierrors.NewForbidden(pods, "a", errors.New("exceeded quota: q, requested: pods=1")), readiness.ReasonNotAdmitted, false, "exceeded quota: q"},
		"a limit range":                  {apierrors.NewForbidden(pods, "a", errors.New("maximum cpu usage per Container is 1")), readiness.ReasonNotAdmitted, false, "maximum cpu"},
		"pod security":                   {apierrors.NewForbidden(pods, "a", errors.New(`violates PodSecurity "restricted:latest"`)), readiness.ReasonNotAdmitted, false, "PodSecurity"},
		"a policy that forbids":          {apierrors.NewForbidden(pods, "a", errors.New("ValidatingAdmissionPolicy 'p' denied request: not on a Friday")), readiness.ReasonNotAdmitted, false, "not on a Friday"},
		"a policy that finds it invalid": {&apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "ValidatingAdmissionPolicy 'p' denied request: no"}}, readiness.ReasonNotAdmitted, false, ""},
		"a webhook that denies":          {denied(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "w" denied the request: no`), readiness.ReasonNotAdmitted, false, "denied the request: no"},
		"a webhook that denies with 400": {denied(http.StatusBadRequest, metav1.StatusReasonBadRequest, `admission webhook "w" denied the request: no`), readiness.ReasonNotAdmitted, false, "denied the request: no"},
		"a webhook that is down":         {apierrors.NewInternalError(errors.New(`failed calling webhook "w": Post "https://x": dial tcp: refused`)), readiness.ReasonWebhookFailed, true, `failed calling webhook "w"`},
		"a terminating namespace":        {terminating, readiness.ReasonNamespaceTerminating, true, "being terminated"},
		"too many requests":              {apierrors.NewTooManyRequests("slow down", 1), "", true, "slow down"},
		"a missing right":                {apierrors.NewForbidden(pods, "a", errors.New(`User "u" cannot patch resource "pods" in API group "" in the namespace "a"`)), "", false, "forbidden: cannot patch"},
		"rights that we do not have": {
			apierrors.NewForbidden(roles, "a", errors.New("user \"u\" (groups=[\"g\" \"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}")),
			"", false, `forbidden: is attempting to grant RBAC permissions not currently held: {APIGroups:[""], Resources:["pods"], Verbs:["get"]}`,
		},
		"a field that cannot be changed":       {invalid(field.Forbidden(spec, "updates to provisioner are forbidden.")), readiness.ReasonFieldImmutable, false, "provisioner"},
		"an immutable field and a missing one": {invalid(field.Forbidden(spec, "field is immutable"), field.Required(spec.Child("a"), "")), "", false, "spec.a is required"},
		"a wrong value":                        {invalid(field.Invalid(spec.Child("timeZone"), "x", "unknown time zone")), "", false, "unknown time zone"},
		"a dead conversion webhook": {
			unreasoned(`conversion webhook for dead.example.com/v1, Kind=Dead failed: Post "https://conv.kyma-system.svc:443/convert?timeout=30s": service "conv" not found`),
			clusters.ReasonConversionFailed, true, `the conversion webhook of Dead (dead.example.com/v1) failed: Post "https://conv.kyma-system.svc:443/convert?timeout=30s": service "conv" not found`,
		},
		"a storage without a leader":    {unreasoned("etcdserver: leader changed"), "", true, "etcdserver: leader changed"},
		"an unavailable key service":    {unreasoned("failed to encrypt data: rpc error: code = Unavailable desc = x"), "", true, "rpc error: code = Unavailable"},
		"a mismatch that names a field": {unreasoned("failed to create typed patch object (a/b; v1, Kind=A): .a: expected string, got etcdserver: x"), "", false, "a: expected string"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := failureOf(bundle.Placed{Object: &bundle.Object{}}, kinds.Mapper{}, tc.err)
			require.Equal(t, tc.reason, f.Reason, f.Message)
			require.Equal(t, tc.retryable, f.Retryable, f.Message)
			require.Contains(t, f.Message, tc.message)
			if tc.reason != "" {
				require.NotEmpty(t, hint.For(tc.reason))
			}
		})
	}
}

func TestAllRefusedObjectsAreNamedWithRemedies(t *testing.T) {
	t.Parallel()
	var all Outcomes
	for i := range 9 {
		all.failed(bundle.Failure{Object: fmt.Sprintf("ConfigMap kyma-system/a-name-%d", i), Message: strings.Repeat("long ", 30), Reason: readiness.ReasonFieldImmutable})
	}
	text := describeAll(all.Failures)
	for i := range 9 {
		require.Contains(t, text, fmt.Sprintf("ConfigMap kyma-system/a-name-%d", i))
	}
	require.LessOrEqual(t, len(text), maxDescribed)
	require.Equal(t, readiness.ReasonFieldImmutable, all.refused())
	require.Empty(t, all.toDo(all.refused()), "the hint of the reason says it")
	for i := range 90 {
		all.failed(bundle.Failure{Object: fmt.Sprintf("Secret kyma-system/another-name-%d", i), Message: "exceeded quota", Reason: readiness.ReasonNotAdmitted})
	}
	text = describeAll(all.Failures)
	require.LessOrEqual(t, len(text), maxDescribed+len(" and 90 more"))
	require.Regexp(t, ` and \d+ more$`, text)
	require.Equal(t, readiness.ReasonApplyFailed, all.refused())
	require.Equal(t, hint.For(readiness.ReasonFieldImmutable)+"; "+hint.For(readiness.ReasonNotAdmitted), all.toDo(all.refused()))
}
