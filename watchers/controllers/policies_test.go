package controllers

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

func forModules(modules ...string) func(*v1beta2.RolloutPolicy) {
	return func(p *v1beta2.RolloutPolicy) { p.Spec.Modules = modules }
}

func forLabels(value string) func(*v1beta2.RolloutPolicy) {
	return func(p *v1beta2.RolloutPolicy) {
		p.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": value}}
	}
}

func forChannels(channels ...string) func(*v1beta2.RolloutPolicy) {
	return func(p *v1beta2.RolloutPolicy) { p.Spec.Channels = channels }
}

func forMandatory(p *v1beta2.RolloutPolicy) { p.Spec.Mandatory = true }

func ofAnother(p *v1beta2.RolloutPolicy) {
	p.Labels = map[string]string{shared.LabelManagedBy: "another"}
}

func TestWhichPolicyIsForAChannel(t *testing.T) {
	unreadable := func(p *v1beta2.RolloutPolicy) {
		p.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Near"}}}
	}
	everything := func(p *v1beta2.RolloutPolicy) { p.Spec.Selector = &metav1.LabelSelector{} }
	none := func(*v1beta2.RolloutPolicy) {}
	for name, test := range map[string]struct {
		policies []*v1beta2.RolloutPolicy
		channel  string
		want     string
	}{
		"none":                                     {nil, "regular", ""},
		"one for all":                              {[]*v1beta2.RolloutPolicy{policy("all", none)}, "regular", "all"},
		"one that names the module":                {[]*v1beta2.RolloutPolicy{policy("named", forModules("btp", "keda"))}, "regular", "named"},
		"not one that names others":                {[]*v1beta2.RolloutPolicy{policy("named", forModules("btp"))}, "regular", ""},
		"one that selects it":                      {[]*v1beta2.RolloutPolicy{policy("selects", forLabels("scaling"))}, "regular", "selects"},
		"one that selects everything":              {[]*v1beta2.RolloutPolicy{policy("selects", everything)}, "regular", "selects"},
		"not one that selects others":              {[]*v1beta2.RolloutPolicy{policy("selects", forLabels("other"))}, "regular", ""},
		"not one whose selector cannot be read":    {[]*v1beta2.RolloutPolicy{policy("selects", unreadable)}, "regular", ""},
		"by name beside a selector of others":      {[]*v1beta2.RolloutPolicy{policy("both", forModules("keda"), forLabels("other"))}, "regular", "both"},
		"by selector beside names of others":       {[]*v1beta2.RolloutPolicy{policy("both", forModules("btp"), forLabels("scaling"))}, "regular", "both"},
		"a name goes before a selector":            {[]*v1beta2.RolloutPolicy{policy("a", forLabels("scaling")), policy("b", forModules("keda"))}, "regular", "b"},
		"a selector goes before all":               {[]*v1beta2.RolloutPolicy{policy("a"), policy("b", forLabels("scaling"))}, "regular", "b"},
		"a name goes before all":                   {[]*v1beta2.RolloutPolicy{policy("b", forModules("keda")), policy("a")}, "regular", "b"},
		"among equals the name decides":            {[]*v1beta2.RolloutPolicy{policy("c"), policy("a"), policy("b")}, "regular", "a"},
		"of its channel":                           {[]*v1beta2.RolloutPolicy{policy("fast", forChannels("fast")), policy("regular", forChannels("slow", "regular"))}, "regular", "regular"},
		"a name of another channel does not":       {[]*v1beta2.RolloutPolicy{policy("all"), policy("named", forModules("keda"), forChannels("fast"))}, "regular", "all"},
		"not for mandatory modules by default":     {[]*v1beta2.RolloutPolicy{policy("all"), policy("named", forModules("keda"))}, "", ""},
		"for mandatory ones if the policy says so": {[]*v1beta2.RolloutPolicy{policy("a", forModules("keda")), policy("b", forMandatory)}, "", "b"},
		"for mandatory ones whatever its channels": {[]*v1beta2.RolloutPolicy{policy("a", forMandatory, forChannels("fast"))}, "", "a"},
		"for others too if for mandatory ones":     {[]*v1beta2.RolloutPolicy{policy("a", forMandatory)}, "regular", "a"},
		"not another instance's":                   {[]*v1beta2.RolloutPolicy{policy("a", forModules("keda"), ofAnother), policy("b")}, "regular", "b"},
		"not one under deletion": {[]*v1beta2.RolloutPolicy{policy("a", func(p *v1beta2.RolloutPolicy) {
			p.DeletionTimestamp = new(metav1.Now())
		}), policy("b")}, "regular", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			catalogEntry := keda("regular=1.0.0")
			catalogEntry.Labels["team"] = "scaling"
			var policies []v1beta2.RolloutPolicy
			for _, p := range test.policies {
				policies = append(policies, *p)
			}
			c := &controllers{settings: desired.Settings{}.WithDefaults()}
			got := c.policyFor(policies, catalogEntry, test.channel)
			if test.want == "" {
				require.Nil(t, got)
				return
			}
			require.NotNil(t, got)
			require.Equal(t, test.want, got.Name)
		})
	}
}

// policyStatus returns the status of a policy.
func (s *stagedCatalog) policyStatus(name string) (v1beta2.RolloutPolicyStatus, *metav1.Condition) {
	s.t.Helper()
	p := policy(name)
	require.NoError(s.t, s.Get(s.t.Context(), client.ObjectKeyFromObject(p), p))
	return p.Status, meta.FindStatusCondition(p.Status.Conditions, rollout.ConditionReady)
}

func TestAPolicyReportsTheNumberOfItsChannels(t *testing.T) {
	copied := desiredtest.ReleaseMeta("copied", "regular=1.0.0")
	copied.Annotations = map[string]string{desired.AnnotationSyncedFrom: "kcp-system/other"}
	others := desiredtest.ReleaseMeta("others", "regular=1.0.0")
	others.Labels[shared.LabelManagedBy] = "another"
	elsewhere := desiredtest.ReleaseMeta("elsewhere", "regular=1.0.0")
	elsewhere.Namespace = "elsewhere"
	must := desiredtest.ReleaseMeta("warden")
	must.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: "1.0.0"}
	s := newStagedCatalog(t, keda("regular=1.0.0", "fast=2.0.0"), desiredtest.ReleaseMeta("btp", "regular=1.0.0", "fast=2.0.0", "slow=0.9.0"), must, copied, others, elsewhere,
		policy("all", forMandatory), policy("keda", forModules("keda")), policy("unused", forModules("istio")), policy("theirs", ofAnother))
	require.False(t, s.reconcile())

	status, ready := s.policyStatus("all")
	require.EqualValues(t, 4, status.Channels)
	require.EqualValues(t, 1, status.ObservedGeneration)
	require.Equal(t, metav1.ConditionTrue, ready.Status)
	require.Equal(t, "InForce", ready.Reason)
	require.Equal(t, "this policy decides how new versions reach the clusters of 4 channels", ready.Message)
	require.EqualValues(t, 1, ready.ObservedGeneration)

	status, _ = s.policyStatus("keda")
	require.EqualValues(t, 2, status.Channels)

	status, ready = s.policyStatus("unused")
	require.Zero(t, status.Channels)
	require.EqualValues(t, 1, status.ObservedGeneration)
	require.Equal(t, metav1.ConditionFalse, ready.Status)
	require.Equal(t, "NothingSelected", ready.Reason)

	status, ready = s.policyStatus("theirs")
	require.Nil(t, ready)
	require.Equal(t, v1beta2.RolloutPolicyStatus{}, status)

	s.Forget()
	require.False(t, s.reconcile())
	require.Empty(t, s.Writes())

	require.NoError(t, s.Delete(t.Context(), policy("keda")))
	require.False(t, s.reconcile())
	status, _ = s.policyStatus("all")
	require.EqualValues(t, 6, status.Channels, "the policy now decides about these channels too")
}

func TestAPolicyInANamespaceWithoutModulesReportsThat(t *testing.T) {
	s := newStagedCatalog(t, policy("careful"))
	for _, module := range s.modulesOf(t.Context(), policy("careful")) {
		_, err := s.reconcileRollouts(t.Context(), moduleRequest{types.NamespacedName{Namespace: desiredtest.Namespace, Name: module}})
		require.NoError(t, err)
	}
	_, ready := s.policyStatus("careful")
	require.NotNil(t, ready)
	require.Equal(t, "NothingSelected", ready.Reason)
	require.Empty(t, s.rollouts())
}

// Whatever was written meanwhile causes another event.
func TestAConflictOnAPolicysStatusIsLeftToTheNextEvent(t *testing.T) {
	s := newStagedCatalog(t, policy("careful"), keda("regular=1.0.0"))
	for _, answer := range []error{
		apierrors.NewConflict(schema.GroupResource{}, "careful", nil), apierrors.NewNotFound(schema.GroupResource{}, "careful"),
	} {
		s.Fail = func(verb, object string) error {
			if verb == "patch status" && object == "RolloutPolicy careful" {
				return answer
			}
			return nil
		}
		require.False(t, s.reconcile())
		status, _ := s.policyStatus("careful")
		require.Zero(t, status.Channels)
	}
	s.Fail = nil
	require.False(t, s.reconcile())
	status, _ := s.policyStatus("careful")
	require.EqualValues(t, 1, status.Channels)
}

func TestAPolicyReportsAMissingPrometheus(t *testing.T) {
	withAnalysis := policy("all", func(p *v1beta2.RolloutPolicy) {
		p.Spec.Stages = []v1beta2.RolloutStage{{Name: "rest", Analysis: []v1beta2.RolloutAnalysis{{Name: "up", Query: "up", Min: "1"}}}}
	})
	s := newStagedCatalog(t, keda("regular=1.0.0"), withAnalysis)
	s.reconcile()
	_, ready := s.policyStatus("all")
	require.Equal(t, metav1.ConditionFalse, ready.Status)
	require.Equal(t, "NoPrometheus", ready.Reason)
	require.Equal(t, "stages with an analysis wait: no Prometheus is configured (--rollout-prometheus-url); otherwise this policy decides how new versions reach the clusters of 1 channels", ready.Message)

	s.analysed = true
	s.reconcile()
	_, ready = s.policyStatus("all")
	require.Equal(t, metav1.ConditionTrue, ready.Status)
}
