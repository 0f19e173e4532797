package controllers

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func TestOldRolloutsAreDeletedOnlyAfterTheNewestHasCompleted(t *testing.T) {
	s := newStagedCatalog(t, policy("careful"), keda("regular=1.0.0"))
	s.release("1.0.0", v1beta2.RolloutCompleted)
	for _, version := range []string{"1.1.0", "1.2.0", "1.3.0"} {
		s.release(version, v1beta2.RolloutSuperseded)
	}
	s.release("1.4.0", v1beta2.RolloutProgressing)
	require.False(t, s.reconcile())
	require.Len(t, s.rollouts(), 5, "clusters keep what the older ones released to them")

	for _, phase := range []v1beta2.RolloutPhase{v1beta2.RolloutHeld, v1beta2.RolloutReverted, v1beta2.RolloutAborted} {
		s.reach(phase)
		require.False(t, s.reconcile())
		require.Len(t, s.rollouts(), 5, phase)
	}
	s.reach(v1beta2.RolloutCompleted)
	s.Forget()
	require.False(t, s.reconcile())
	require.Equal(t, []string{"3: 1.1.0 -> 1.2.0", "4: 1.2.0 -> 1.3.0", "5: 1.3.0 -> 1.4.0"}, s.legs())
	gone := s.writes("delete ModuleRollout")
	require.Len(t, gone, 2)
	require.Contains(t, gone[0], "1.0.0", "the oldest first")
	require.False(t, s.reconcile())
	require.Len(t, s.rollouts(), 3)
}

func TestWhichRolloutsRemainWithoutTheirPolicy(t *testing.T) {
	chain := []string{"1: 1.0.0 -> 1.0.0", "2: 1.0.0 -> 1.1.0"}
	for name, test := range map[string]struct {
		phase v1beta2.RolloutPhase
		moves bool
		want  []string
	}{
		"the last one has completed":        {v1beta2.RolloutCompleted, false, []string{}},
		"it was reverted":                   {v1beta2.RolloutReverted, false, chain},
		"it was aborted":                    {v1beta2.RolloutAborted, false, chain},
		"it has not begun":                  {"", false, chain},
		"it goes on":                        {v1beta2.RolloutProgressing, false, chain},
		"it is held":                        {v1beta2.RolloutHeld, false, chain},
		"it takes back":                     {v1beta2.RolloutReverting, false, chain},
		"the channel gets another version":  {v1beta2.RolloutReverted, true, []string{}},
		"and another one while it goes on":  {v1beta2.RolloutProgressing, true, []string{}},
		"and another one once it completed": {v1beta2.RolloutCompleted, true, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStagedCatalog(t, policy("careful"), keda("regular=1.0.0"))
			s.release("1.0.0", v1beta2.RolloutCompleted)
			s.release("1.1.0", test.phase)
			require.NoError(t, s.Delete(t.Context(), policy("careful")))
			if test.moves {
				s.assign("1.2.0")
			}
			for range 2 {
				require.False(t, s.reconcile())
				require.Equal(t, test.want, s.legs())
			}
		})
	}
}

func TestAPolicyUnderDeletionDoesNotCount(t *testing.T) {
	s := newStagedCatalog(t, policy("careful", func(p *v1beta2.RolloutPolicy) {
		p.DeletionTimestamp, p.Finalizers = new(metav1.Now()), []string{"theirs/stays"}
	}), keda("regular=1.0.0"))
	require.False(t, s.reconcile())
	require.Empty(t, s.rollouts())
}

func TestObjectsOfAnotherInstanceAreLeftUnchanged(t *testing.T) {
	others := func(object client.Object) client.Object {
		object.SetLabels(map[string]string{shared.LabelManagedBy: "another"})
		return object
	}
	theirs := func() *v1beta2.ModuleRollout {
		r := &v1beta2.ModuleRollout{ObjectMeta: metav1.ObjectMeta{Namespace: desiredtest.Namespace, Name: "theirs"}}
		r.Spec = v1beta2.ModuleRolloutSpec{ModuleName: "keda", Channel: "regular", From: "1.0.0", To: "3.0.0", Policy: "theirs", Sequence: 7}
		return r
	}
	for name, test := range map[string]struct {
		objects []client.Object
		want    []string
	}{
		"its release meta":               {[]client.Object{policy("careful"), others(keda("regular=1.0.0"))}, []string{}},
		"its policy":                     {[]client.Object{others(policy("careful")), keda("regular=1.0.0")}, []string{}},
		"its rollout":                    {[]client.Object{others(theirs()), keda("regular=1.0.0")}, []string{"7: 1.0.0 -> 3.0.0"}},
		"its rollout beside ours":        {[]client.Object{others(theirs()), policy("careful"), keda("regular=1.0.0")}, []string{"1: 1.0.0 -> 1.0.0", "7: 1.0.0 -> 3.0.0"}},
		"but ours goes without a policy": {[]client.Object{theirs(), keda("regular=1.0.0")}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStagedCatalog(t, test.objects...)
			require.False(t, s.reconcile())
			require.Equal(t, test.want, s.legs())
		})
	}
}

func TestModulesOfOtherNamespacesAreSeparate(t *testing.T) {
	meta := keda("regular=1.0.0")
	meta.Namespace = "elsewhere"
	s := newStagedCatalog(t, policy("careful"), meta, policy("theirs", func(p *v1beta2.RolloutPolicy) { p.Namespace = "elsewhere" }))
	require.False(t, s.reconcile())
	require.Empty(t, s.rollouts())
	_, err := s.reconcileRollouts(t.Context(), moduleRequest{types.NamespacedName{Namespace: "elsewhere", Name: "keda"}})
	require.NoError(t, err)
	require.Len(t, s.rollouts(), 1)
	require.Equal(t, "theirs", s.rollouts()[0].Spec.Policy)
}

func TestAReleaseMetaUnderDeletionMakesNoRollout(t *testing.T) {
	meta := keda("regular=1.0.0")
	meta.DeletionTimestamp, meta.Finalizers = new(metav1.Now()), []string{"theirs/stays"}
	s := newStagedCatalog(t, policy("careful"), meta)
	require.False(t, s.reconcile())
	require.Empty(t, s.rollouts())
}

// Their versions would supersede each other again and again.
func TestTwoReleaseMetasOfOneModuleMakeNoRollout(t *testing.T) {
	second := keda("regular=2.0.0")
	second.Name, second.UID = "keda-too", "too"
	s := newStagedCatalog(t, policy("careful"), keda("regular=1.0.0"), second)
	for range 3 {
		require.False(t, s.reconcile())
	}
	require.Empty(t, s.rollouts())
	require.NoError(t, s.Delete(t.Context(), second))
	require.False(t, s.reconcile())
	require.Equal(t, []string{"1: 1.0.0 -> 1.0.0"}, s.legs())
}
