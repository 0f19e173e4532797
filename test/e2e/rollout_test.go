package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// staged is the module that is rolled out in stages.
const staged = "staged"

// stagedFleet are Kymas that share a remote cluster and have one module, and a policy for it.
type stagedFleet struct {
	*harness.Environment
	kymas []string
}

// newStagedFleet makes so many Kymas, the first of which is the canary, with the module in version 1.0.0, and a policy.
func newStagedFleet(t *testing.T, kymas int, plan v1beta2.RolloutPlan, flags ...string) *stagedFleet {
	t.Helper()
	s := &stagedFleet{Environment: harness.NewEnvironment(t, append([]string{"--module-upgrade-rollout-max-delay", "0s"}, flags...)...)}
	s.Instance.Start()
	s.publish("1.0.0")
	for i := range kymas {
		kyma := harness.NewSynced(fmt.Sprintf("staged-%d", i), staged)
		if i == 0 {
			kyma.Labels = map[string]string{"example.com/stage": "canary"}
		}
		s.Create(kyma)
		s.kymas = append(s.kymas, kyma.Name)
	}
	for _, kyma := range s.kymas {
		s.BecomesReady(kyma, staged+"@1.0.0")
	}
	policy := &v1beta2.RolloutPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "all", Namespace: harness.ControlPlaneNamespace},
		Spec:       v1beta2.RolloutPolicySpec{RolloutPlan: plan},
	}
	require.NoError(t, s.ControlPlane.Create(t.Context(), policy))
	s.Eventually("the policy is in force", time.Minute, func(c *assert.CollectT) {
		r := s.rolloutTo(c, "1.0.0")
		assert.Equal(c, v1beta2.RolloutCompleted, r.Status.Phase)
	})
	return s
}

// canaryFirst is a plan of three stages.
func canaryFirst() v1beta2.RolloutPlan {
	two, half := intstr.FromInt32(2), int32(50)
	return v1beta2.RolloutPlan{
		Stages: []v1beta2.RolloutStage{
			{Name: "canary", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"example.com/stage": "canary"}}},
			{Name: "half", Percent: &half},
		},
		Concurrency: &two,
	}
}

// publish publishes a version of the module, which is a ConfigMap.
func (s *stagedFleet) publish(version string) {
	s.T.Helper()
	s.PushModule(harness.MinimalModule{Name: staged, Version: version, Channels: "regular"})
}

// markRevertible says of a version that clusters may be taken back from it.
func (s *stagedFleet) markRevertible(version string) {
	s.T.Helper()
	template := &v1beta2.ModuleTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: harness.ControlPlaneNamespace, Name: staged + "-" + version}}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:">=1.0.0"}}}`, shared.AnnotationRevertibleTo)
	require.NoError(s.T, s.ControlPlane.Patch(s.T.Context(), template, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// rolloutTo is the rollout of a version; an empty one where there is none.
func (s *stagedFleet) rolloutTo(t require.TestingT, version string) v1beta2.ModuleRollout {
	var list v1beta2.ModuleRolloutList
	require.NoError(t, s.ControlPlane.List(context.Background(), &list, client.InNamespace(harness.ControlPlaneNamespace)))
	for _, r := range list.Items {
		if r.Spec.To == version {
			return r
		}
	}
	return v1beta2.ModuleRollout{}
}

// versions are how many Manifests have each version of the module.
func (s *stagedFleet) versions() map[string]int {
	s.T.Helper()
	have := map[string]int{}
	for _, kyma := range s.kymas {
		for _, m := range s.Manifests(s.Kyma(kyma)) {
			have[m.Spec.Version]++
		}
	}
	return have
}

// reaches waits until the rollout of a version is in a phase, and returns it.
func (s *stagedFleet) reaches(version string, phase v1beta2.RolloutPhase) v1beta2.ModuleRollout {
	s.T.Helper()
	var found v1beta2.ModuleRollout
	s.Eventually(fmt.Sprintf("the rollout of %s is %s", version, phase), 3*time.Minute, func(c *assert.CollectT) {
		found = s.rolloutTo(c, version)
		assert.Equal(c, phase, found.Status.Phase, "%+v", found.Status)
	})
	return found
}

// workflow is the id of a rollout's workflow.
func (s *stagedFleet) workflow(version string) string {
	r := s.rolloutTo(s.T, version)
	return kick.RolloutWorkflowID(kick.RefOf(&r))
}

// badObject is what no API server takes.
const badObject = "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: staged\nspec: {}\n"

// foretold is what `lifecycle-manager plan` says.
type foretold struct {
	Changes []struct {
		Change string
		Kymas  int
		Stages []struct {
			Name  string
			Kymas int
		}
	}
}

// plan is what `lifecycle-manager plan` says of catalog entries, with its exit code. What it needs to know of the instance is
// in the control plane.
func (s *stagedFleet) plan(entries []byte) (found foretold, code int) {
	s.T.Helper()
	cmd := exec.CommandContext(s.T.Context(), testfleet.Binary(s.T, "lifecycle-manager"),
		"plan", "--kubeconfig", s.ControlPlane.Kubeconfig, "-o", "json", "-f", "-")
	cmd.Env, cmd.Stdin = s.Variables(), bytes.NewReader(entries)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, _ := cmd.Output()
	require.NoError(s.T, json.Unmarshal(out, &found), problems.String())
	return found, cmd.ProcessState.ExitCode()
}

func TestAVersionReachesTheFleetInStagesAndStopsWhenItIsBad(t *testing.T) {
	s := newStagedFleet(t, 7, canaryFirst())

	next := s.Pack(harness.MinimalModule{Name: staged, Version: "1.1.0", Channels: "regular"})
	would, code := s.plan(next)
	require.Equal(t, 2, code)
	require.Len(t, would.Changes, 1)
	require.Equal(t, "upgraded", would.Changes[0].Change)
	require.Equal(t, 7, would.Changes[0].Kymas)
	require.Len(t, would.Changes[0].Stages, 3)
	require.Equal(t, "canary", would.Changes[0].Stages[0].Name)
	require.Equal(t, 1, would.Changes[0].Stages[0].Kymas)
	s.Apply(s.ControlPlane, harness.ControlPlaneNamespace, next)
	s.reaches("1.1.0", v1beta2.RolloutCompleted)
	for _, kyma := range s.kymas {
		s.BecomesReady(kyma, staged+"@1.1.0")
	}
	done := s.rolloutTo(t, "1.1.0")
	require.Equal(t, "7/7", done.Status.Progress)
	require.Len(t, done.Status.Stages, 3)
	require.Equal(t, rollout.Rest, done.Status.Stages[2].Name)
	for i, stage := range done.Status.Stages {
		require.EqualValues(t, would.Changes[0].Stages[i].Kymas, stage.Total, "as it was foretold")
	}
	would, code = s.plan(next)
	require.Empty(t, would.Changes)
	require.Zero(t, code, "nothing would change any more")

	// The canary fails, and the others keep what they have.
	s.PushModule(harness.MinimalModule{Name: staged, Version: "1.2.0", Channels: "regular", Manifest: badObject})
	held := s.reaches("1.2.0", v1beta2.RolloutHeld)
	require.Contains(t, held.Status.WaitsFor, "1 of 1 clusters of stage canary failed with version 1.2.0 (allowed: 0)")
	require.Len(t, held.Status.Failures, 1)
	require.Equal(t, []string{harness.ControlPlaneNamespace + "/staged-0"}, held.Status.Failures[0].Kymas)
	require.Equal(t, map[string]int{"1.1.0": 6, "1.2.0": 1}, s.versions())
	s.Warns(&held, "RolloutHeld", "version 1.2.0")

	// A newer version supersedes it, and repairs the canary.
	s.publish("1.3.0")
	s.reaches("1.3.0", v1beta2.RolloutCompleted)
	s.reaches("1.2.0", v1beta2.RolloutSuperseded)
	s.AssertRuns("module-rollout", map[string]string{"completed": s.workflow("1.1.0"), "held": s.workflow("1.2.0")})
	for _, kyma := range s.kymas {
		s.BecomesReady(kyma, staged+"@1.3.0")
	}
}

// edit changes what people want of a rollout, as the admin.
func (s *stagedFleet) edit(version string, change func(*v1beta2.ModuleRollout)) {
	s.T.Helper()
	require.NoError(s.T, s.editAs(s.ControlPlane, version, change))
}

// editAs is edit as somebody.
func (s *stagedFleet) editAs(as client.Client, version string, change func(*v1beta2.ModuleRollout)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		r := s.rolloutTo(s.T, version)
		change(&r)
		return as.Update(s.T.Context(), &r)
	})
}

// person is a client of somebody who may do this with rollouts.
func (s *stagedFleet) person(name string, verbs ...string) client.Client {
	s.T.Helper()
	named := metav1.ObjectMeta{Name: "rollouts-" + name, Namespace: harness.ControlPlaneNamespace}
	role := &rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{shared.OperatorGroup}, Resources: []string{shared.ResourceModuleRollouts}, Verbs: verbs},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: named.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	for _, object := range []client.Object{role, binding} {
		require.NoError(s.T, s.ControlPlane.Create(s.T.Context(), object))
		s.T.Cleanup(func() { _ = s.ControlPlane.Delete(context.Background(), object) })
	}
	config := cluster.AdminConfig(s.T, s.ControlPlane.Kubeconfig)
	config.Impersonate.UserName = name
	as, err := client.New(config, client.Options{Scheme: s.ControlPlane.Scheme()})
	require.NoError(s.T, err)
	return as
}

func (s *stagedFleet) approve(as client.Client, version string) error {
	return s.editAs(as, version, func(r *v1beta2.ModuleRollout) {
		r.Spec.Approvals = append(r.Spec.Approvals, v1beta2.RolloutApproval{Stage: "canary", Reason: "it is well", By: "somebody else"})
	})
}

func TestARolloutWaitsForPeopleIsPausedOverARestartAndReverts(t *testing.T) {
	const webhook, certificate = "e2e-rollout-webhook", "e2e-rollout-webhook-tls"
	plan := canaryFirst()
	plan.Stages[0].Approval = &v1beta2.RolloutApprovalRule{When: v1beta2.ApproveAfter, Persons: 2}
	plan.OnFailure = v1beta2.RolloutRevert
	s := newStagedFleet(t, 4, plan, webhookFlags(t, webhook, certificate)...)
	removeWebhook(s.Environment, webhook, certificate)
	anna, bob, carl := s.person("anna", "update", "approve"), s.person("bob", "update", "approve"), s.person("carl", "update")

	s.publish("1.1.0")
	waiting := s.reaches("1.1.0", v1beta2.RolloutAwaitingApproval)
	require.Equal(t, "the approval of stage canary by 2 more persons, after it", waiting.Status.WaitsFor)
	require.Nil(t, waiting.Status.WaitsUntil, "it waits for people")
	continueAsNew(t, s.Environment, s.workflow("1.1.0"))
	s.Eventually("the API server asks the webhook", time.Minute, func(c *assert.CollectT) {
		assert.True(c, apierrors.IsForbidden(s.approve(carl, "1.1.0")), "carl has no right to approve")
	})
	require.NoError(t, s.approve(anna, "1.1.0"))
	require.ErrorContains(t, s.approve(anna, "1.1.0"), "anna has approved stage canary already")
	require.Equal(t, "anna", s.rolloutTo(t, "1.1.0").Spec.Approvals[0].By, "and not who the request says")

	// While it is paused, also over a restart of everything and with the last approval, nobody else gets the version.
	s.edit("1.1.0", func(r *v1beta2.ModuleRollout) { r.Spec.Paused = true })
	s.reaches("1.1.0", v1beta2.RolloutPaused)
	s.Instance.Stop()
	require.Error(t, s.approve(bob, "1.1.0"), "nobody can say who approves")
	s.Instance.Start()
	s.Eventually("bob approves", time.Minute, func(c *assert.CollectT) {
		assert.NoError(c, s.approve(bob, "1.1.0"))
	})
	require.Equal(t, v1beta2.RolloutPaused, s.rolloutTo(t, "1.1.0").Status.Phase)
	require.Equal(t, map[string]int{"1.0.0": 3, "1.1.0": 1}, s.versions())
	s.edit("1.1.0", func(r *v1beta2.ModuleRollout) { r.Spec.Paused = false })
	s.reaches("1.1.0", v1beta2.RolloutCompleted)
	for _, kyma := range s.kymas {
		s.BecomesReady(kyma, staged+"@1.1.0")
	}

	// The canary is taken back, for its template says that this is possible.
	s.PushModule(harness.MinimalModule{Name: staged, Version: "1.2.0", Manifest: badObject})
	s.markRevertible("1.2.0")
	s.PushModule(harness.MinimalModule{Name: staged, Version: "1.2.0", Channels: "regular", Manifest: badObject})
	reverted := s.reaches("1.2.0", v1beta2.RolloutReverted)
	require.True(t, meta.IsStatusConditionTrue(reverted.Status.Conditions, rollout.ConditionStalled))
	for _, kyma := range s.kymas {
		s.BecomesReady(kyma, staged+"@1.1.0")
	}
	s.AssertRuns("module-rollout-with-people", map[string]string{"approved": s.workflow("1.1.0"), "reverted": s.workflow("1.2.0")})
}
