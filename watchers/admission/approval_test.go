package admission

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	earlier = "2026-05-04T08:00:00Z"
	now     = "2026-05-05T09:30:15Z"
)

func at(text string) time.Time {
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return parsed
}

func approved(stage, by, when, reason string) v1beta2.RolloutApproval {
	approval := v1beta2.RolloutApproval{Stage: stage, By: by, Reason: reason}
	if when != "" {
		approval.At = &metav1.Time{Time: at(when)}
	}
	return approval
}

// inStages returns a rollout with a stage that needs no approval, and three that do: eu, us and rest.
func inStages(approvals ...v1beta2.RolloutApproval) *v1beta2.ModuleRollout {
	hour := &metav1.Duration{Duration: time.Hour}
	stage := func(name string, rule *v1beta2.RolloutApprovalRule) v1beta2.RolloutStage {
		return v1beta2.RolloutStage{Name: name, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"region": name}}, Soak: hour, Approval: rule}
	}
	rule := &v1beta2.RolloutApprovalRule{Persons: 2}
	return &v1beta2.ModuleRollout{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindModuleRollout},
		ObjectMeta: metav1.ObjectMeta{Name: "keda-fast", Namespace: "kcp-system"},
		Spec: v1beta2.ModuleRolloutSpec{
			ModuleName: "keda", Channel: "fast", From: "1.0.0", To: "1.1.0", Approvals: approvals,
			Plan: v1beta2.RolloutPlan{Stages: []v1beta2.RolloutStage{stage("canary", nil), stage("eu", rule), stage("us", rule), {Name: "rest", Approval: rule}}},
		},
	}
}

// desk sends requests with approvals.
type desk struct {
	*testing.T
	approvals
	// judge is the defaulter for a request; by default the one for rollouts.
	judge func(context.Context, *unstructured.Unstructured) error

	user authenticationv1.UserInfo
	// asked holds the questions to the API server, one for each request with a new approval.
	asked   []authorizationv1.SubjectAccessReviewSpec
	answer  authorizationv1.SubjectAccessReviewStatus
	failing error
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	d := &desk{T: t, user: authenticationv1.UserInfo{Username: "anna"}, answer: authorizationv1.SubjectAccessReviewStatus{Allowed: true}}
	d.approvals = approvals{approver{
		decoder: admission.NewDecoder(scheme), now: func() time.Time { return at(now).Add(time.Millisecond) },
		review: func(_ context.Context, review *authorizationv1.SubjectAccessReview) error {
			d.asked = append(d.asked, review.Spec)
			review.Status = d.answer
			return d.failing
		},
	}}
	d.judge = func(ctx context.Context, content *unstructured.Unstructured) error { return d.Default(ctx, content) }
	return d
}

// request sends a request. before is nil at creation.
func (d *desk) request(before, after runtime.Object) (*unstructured.Unstructured, error) {
	d.Helper()
	encoded := func(object runtime.Object) runtime.RawExtension {
		raw, err := json.Marshal(object)
		require.NoError(d, err)
		return runtime.RawExtension{Raw: raw}
	}
	var request admission.Request
	request.Object, request.UserInfo = encoded(after), d.user
	request.Namespace, request.Name = "kcp-system", "keda-fast"
	if before != nil {
		request.OldObject = encoded(before)
	}
	content := &unstructured.Unstructured{}
	require.NoError(d, d.decoder.Decode(request, content))
	return content, d.judge(admission.NewContextWithRequest(d.Context(), request), content)
}

// send updates the approvals of a rollout and returns what is then stored.
func (d *desk) send(stored, sent []v1beta2.RolloutApproval) ([]v1beta2.RolloutApproval, error) {
	d.Helper()
	content, err := d.request(inStages(stored...), inStages(sent...))
	if err != nil {
		return nil, err
	}
	after := &v1beta2.ModuleRollout{}
	require.NoError(d, runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, after))
	return after.Spec.Approvals, nil
}

func TestTheWebhookRecordsWhoApprovesAndWhen(t *testing.T) {
	type list = []v1beta2.RolloutApproval
	bob, carl := approved("eu", "bob", earlier, "seen"), approved("us", "carl", earlier, "")
	hers := approved("eu", "anna", earlier, "tested")
	for _, test := range []struct {
		name               string
		stored, sent, want list
		// unasked is true if nothing is approved, so that no right is needed.
		unasked bool
		refused string
	}{
		{name: "an approval", sent: list{approved("eu", "", "", "tested")}, want: list{approved("eu", "anna", now, "tested")}},
		{name: "an approval in the name of another, at another time", sent: list{approved("eu", "bob", earlier, "")}, want: list{approved("eu", "anna", now, "")}},
		{name: "a second person's", stored: list{bob}, sent: list{bob, approved("eu", "", "", "")}, want: list{bob, approved("eu", "anna", now, "")}},
		{name: "before what is stored", stored: list{bob}, sent: list{approved("us", "", "", ""), bob}, want: list{approved("us", "anna", now, ""), bob}},
		{name: "of two stages", sent: list{approved("eu", "", "", ""), approved("rest", "", "", "")}, want: list{approved("eu", "anna", now, ""), approved("rest", "anna", now, "")}},
		{name: "a copy of another's", stored: list{bob}, sent: list{bob, bob}, want: list{bob, approved("eu", "anna", now, "seen")}},
		{name: "one is taken back", stored: list{bob, carl}, sent: list{carl}, want: list{carl}, unasked: true},
		{name: "one is taken back and another given", stored: list{bob, carl}, sent: list{carl, approved("us", "", "", "")}, want: list{carl, approved("us", "anna", now, "")}},
		{name: "her own, as it is in her file", stored: list{bob, hers}, sent: list{bob, approved("eu", "", "", "tested")}, want: list{bob, hers}, unasked: true},
		{name: "her own, with another reason in her file", stored: list{hers}, sent: list{approved("eu", "", "", "again")}, want: list{approved("eu", "anna", now, "again")}},
		{name: "another's, from a file", stored: list{bob}, sent: list{approved("eu", "", "", "seen")}, want: list{approved("eu", "anna", now, "seen")}},
		{name: "one without a person stays without", stored: list{approved("eu", "", "", "")}, sent: list{approved("eu", "", "", ""), bob}, want: list{approved("eu", "", "", ""), approved("eu", "anna", now, "seen")}},

		{name: "another reason", stored: list{bob}, sent: list{approved("eu", "bob", earlier, "x")}, refused: "spec.approvals[0]: Forbidden: must not change the approval of stage eu by bob, nor the order of approvals: leave it out to take it back, and add new ones without by and at"},
		{name: "another stage", stored: list{bob}, sent: list{approved("us", "bob", earlier, "seen")}, refused: "must not change the approval of stage eu by bob"},
		{name: "another person", stored: list{carl, bob}, sent: list{carl, approved("eu", "anna", earlier, "seen")}, refused: "spec.approvals[1]: Forbidden: must not change the approval of stage eu by bob"},
		{name: "another time", stored: list{bob}, sent: list{approved("eu", "bob", now, "seen")}, refused: "must not change the approval of stage eu by bob"},
		{name: "no person", stored: list{bob}, sent: list{approved("eu", "", earlier, "seen")}, refused: "must not change the approval of stage eu by bob"},
		{name: "another order", stored: list{bob, carl}, sent: list{carl, bob}, refused: "nor the order of approvals"},

		{name: "a second time", stored: list{hers}, sent: list{hers, approved("eu", "", "", "")}, refused: "spec.approvals[1]: Forbidden: anna has approved stage eu already: another person must give the next approval"},
		{name: "a second time in the name of another", stored: list{hers}, sent: list{hers, approved("eu", "bob", earlier, "")}, refused: "anna has approved stage eu already"},
		{name: "a second time before the first", stored: list{hers}, sent: list{approved("eu", "", "", "x"), hers}, refused: "spec.approvals[0]: Forbidden: anna has approved stage eu already"},
		{name: "twice at once", sent: list{approved("eu", "", "", ""), approved("eu", "bob", "", "")}, refused: "spec.approvals[1]: Forbidden: anna has approved stage eu already"},
		{name: "an unknown stage", sent: list{approved("asia", "", "", "")}, refused: `spec.approvals[0].stage: Invalid value: "asia": the plan has no such stage; it has canary, eu, us, rest`},
		{name: "a stage without approval", sent: list{approved("canary", "", "", "")}, refused: `spec.approvals[0].stage: Invalid value: "canary": this stage needs no approval; those that do are eu, us, rest`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDesk(t)
			got, err := d.send(test.stored, test.sent)
			if test.refused != "" {
				require.True(t, apierrors.IsInvalid(err), "the answer has the form of the API server's own")
				require.ErrorContains(t, err, test.refused)
				return
			}
			require.NoError(t, err)
			require.Len(t, got, len(test.want))
			for i, want := range test.want {
				require.Truef(t, want.At.Equal(got[i].At), "%v", got[i].At)
				got[i].At, want.At = nil, nil
				require.Equal(t, want, got[i])
			}
			require.Equal(t, test.unasked, len(d.asked) == 0)
		})
	}
}

func TestAPlanWithoutStagesHasOnlyTheRest(t *testing.T) {
	bare := inStages(approved("eu", "", "", ""))
	bare.Spec.Plan.Stages = nil
	_, err := newDesk(t).request(nil, bare)
	require.ErrorContains(t, err, "the plan has no such stage; it has rest")
	bare.Spec.Approvals[0].Stage = "rest"
	_, err = newDesk(t).request(nil, bare)
	require.ErrorContains(t, err, "no stage of the plan needs an approval")
}

func TestARolloutCanBeCreatedWithApprovals(t *testing.T) {
	d := newDesk(t)
	content, err := d.request(nil, inStages(approved("eu", "bob", earlier, "")))
	require.NoError(t, err)
	given, _, err := unstructured.NestedSlice(content.Object, "spec", "approvals")
	require.NoError(t, err)
	require.Equal(t, []any{map[string]any{"stage": "eu", "by": "anna", "at": now}}, given)
}

func TestApprovingNeedsARight(t *testing.T) {
	d := newDesk(t)
	d.user = authenticationv1.UserInfo{Username: "anna", UID: "1", Groups: []string{"sre"}, Extra: map[string]authenticationv1.ExtraValue{"scope": {"a", "b"}}}
	one := []v1beta2.RolloutApproval{approved("eu", "", "", "")}
	_, err := d.send(nil, one)
	require.NoError(t, err)
	require.Equal(t, []authorizationv1.SubjectAccessReviewSpec{{
		User: "anna", UID: "1", Groups: []string{"sre"}, Extra: map[string]authorizationv1.ExtraValue{"scope": {"a", "b"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: "kcp-system", Name: "keda-fast", Verb: "approve", Group: shared.OperatorGroup, Version: "v1beta2", Resource: "modulerollouts",
		},
	}}, d.asked)

	d.answer = authorizationv1.SubjectAccessReviewStatus{EvaluationError: "role a is missing"}
	_, err = d.send(nil, one)
	require.True(t, apierrors.IsForbidden(err))
	require.EqualError(t, err, `modulerollouts.operator.kyma-project.io "keda-fast" is forbidden: user "anna" must not approve stage eu: `+
		`this needs the verb approve in namespace kcp-system; grant it with a Role there with the rule `+
		`{apiGroups: ["operator.kyma-project.io"], resources: ["modulerollouts"], verbs: ["approve"]}; `+
		`the API server could not evaluate all rules: role a is missing`)

	d.failing = errors.New("down")
	_, err = d.send(nil, one)
	require.True(t, apierrors.IsInternalError(err), "without an answer nobody can approve")
	require.ErrorContains(t, err, `ask whether user "anna" may approve: down`)
}

// While an object belongs to another instance, this instance does not see what is written to it.
func TestApprovalsOfAnotherInstanceDoNotCount(t *testing.T) {
	d := newDesk(t)
	theirs, ours := inStages(approved("eu", "bob", earlier, "")), inStages(approved("eu", "bob", earlier, ""))
	theirs.Labels = map[string]string{shared.LabelManagedBy: "another"}
	content, err := d.request(nil, theirs)
	require.NoError(t, err)
	given, _, err := unstructured.NestedSlice(content.Object, "spec", "approvals")
	require.NoError(t, err)
	require.Equal(t, []any{map[string]any{"stage": "eu", "by": "bob", "at": earlier}}, given, "an object of another instance is skipped")

	_, err = d.request(theirs, ours)
	require.ErrorContains(t, err, "spec.approvals: Forbidden: must be empty when the label operator.kyma-project.io/managed-by gives the rollout to another instance")
	_, err = d.request(theirs, inStages())
	require.NoError(t, err)
	require.Empty(t, d.asked)
}

// A user who approves must neither become the field manager of the plan nor change the plan.
func TestOnlyApprovalsArePatched(t *testing.T) {
	d := newDesk(t)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(inStages(approved("eu", "bob", "", "")))
	require.NoError(t, err)
	sent := &unstructured.Unstructured{Object: content}
	require.NoError(t, unstructured.SetNestedField(sent.Object, "1h", "spec", "plan", "soak"))
	require.NoError(t, unstructured.SetNestedField(sent.Object, "of a later version", "spec", "unknown"))
	unstructured.RemoveNestedField(sent.Object, "status")
	raw, err := json.Marshal(sent)
	require.NoError(t, err)
	var request admission.Request
	request.Object.Raw, request.UserInfo = raw, d.user
	answer := admission.WithDefaulter[*unstructured.Unstructured](runtime.NewScheme(), d.approvals).Handle(t.Context(), request)
	require.True(t, answer.Allowed, "%v", answer.Result)
	var operations []map[string]any
	require.NoError(t, json.Unmarshal(answer.Patch, &operations))
	require.ElementsMatch(t, []map[string]any{
		{"op": "add", "path": "/spec/approvals/0/at", "value": now}, {"op": "replace", "path": "/spec/approvals/0/by", "value": "anna"},
	}, operations)
}

// The rules are the same as for rollouts, with a separate right.
func TestWhoApprovesRemovals(t *testing.T) {
	d := newDesk(t)
	budget := func(approvals ...v1beta2.RemovalApproval) *v1beta2.RemovalBudget {
		return &v1beta2.RemovalBudget{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindRemovalBudget},
			ObjectMeta: metav1.ObjectMeta{Name: "keda-fast", Namespace: "kcp-system"}, Spec: v1beta2.RemovalBudgetSpec{Approvals: approvals},
		}
	}
	send := func(stored, sent []v1beta2.RemovalApproval) ([]v1beta2.RemovalApproval, error) {
		d.judge = removalApprovals{d.approver}.Default
		content, err := d.request(budget(stored...), budget(sent...))
		if err != nil {
			return nil, err
		}
		after := &v1beta2.RemovalBudget{}
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, after))
		return after.Spec.Approvals, nil
	}
	today, before := &metav1.Time{Time: at(now)}, &metav1.Time{Time: at(earlier)}
	stored := []v1beta2.RemovalApproval{{Clusters: 5, By: "bob", At: before}}

	got, err := send(stored, []v1beta2.RemovalApproval{stored[0], {Change: "7", Reason: "decommissioned", By: "carl", At: before}})
	require.NoError(t, err)
	require.Equal(t, "bob", got[0].By)
	require.Equal(t, "anna", got[1].By)
	require.True(t, today.Equal(got[1].At), "%s", got[1].At)
	require.Equal(t, "removalbudgets", d.asked[0].ResourceAttributes.Resource)
	require.Equal(t, "approve", d.asked[0].ResourceAttributes.Verb)

	_, err = send(stored, []v1beta2.RemovalApproval{{Clusters: 500, By: "bob", At: before}})
	require.ErrorContains(t, err, "must not change the approval of removals in 5 clusters by bob")
	d.asked = nil
	_, err = send(stored, nil)
	require.NoError(t, err, "withdrawing an approval needs no separate right")
	require.Empty(t, d.asked)

	d.answer = authorizationv1.SubjectAccessReviewStatus{}
	_, err = send(stored, append(stored[:1:1], v1beta2.RemovalApproval{Clusters: 100}))
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, `user "anna" must not approve removals in 100 clusters`)
	require.ErrorContains(t, err, `resources: ["removalbudgets"], verbs: ["approve"]`)
}
