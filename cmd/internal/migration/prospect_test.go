package migration

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestThePlanDescribesTheChangesOfAModule(t *testing.T) {
	t.Parallel()
	upstreams := func() *v1beta2.Manifest {
		m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Name: "installed", Annotations: map[string]string{shared.AnnotationSyncOCIRef: "sha256:1"}}}
		m.Spec.Version = "1.0.0"
		return m
	}
	downtime := &v1beta2.ModuleTemplate{}
	downtime.Spec.RequiresDowntime = true
	refused := versions.Refuse("Reason", "it is wrong").WithHint("correct it")
	const alone = "; until then its objects are left alone, because its Manifest is not what the catalog has for 1.0.0"
	for name, test := range map[string]struct {
		plan  planning.ModulePlan
		text  string
		moves bool
	}{
		"the same version": {
			planning.ModulePlan{Action: planning.ActionUpdate, Version: "1.0.0", Existing: upstreams(), Manifest: upstreams()}, "", false,
		},
		"another version": {
			planning.ModulePlan{Action: planning.ActionUpdate, Version: "1.1.0", Existing: upstreams(), Manifest: upstreams(), Chosen: &v1beta2.ModuleTemplate{}},
			"; it becomes 1.1.0", true,
		},
		"another version with a downtime": {
			planning.ModulePlan{Action: planning.ActionUpdate, Version: "1.1.0", Existing: upstreams(), Manifest: upstreams(), Chosen: downtime},
			"; it becomes 1.1.0, which requires a downtime, without waiting for a maintenance window", true,
		},
		"a window to come": {
			planning.ModulePlan{
				Action: planning.ActionUpdate, Version: "1.1.0", Existing: upstreams(), Manifest: upstreams(), Chosen: downtime,
				Window: &planning.Wait{Problem: "there is none"},
			},
			"; it stays at 1.0.0, and waits for a maintenance window to become 1.1.0: there is none", false,
		},
		"refused": {
			planning.ModulePlan{Action: planning.ActionUpdate, Version: "1.1.0", Existing: upstreams(), Manifest: upstreams(), Refusal: refused},
			"; it stays at 1.0.0, and the Kyma shows it as Error: it is wrong (correct it)", false,
		},
		"refused, and the catalog does not have what is installed": {
			planning.ModulePlan{Action: planning.ActionKeep, Version: "1.1.0", Existing: upstreams(), Refusal: refused},
			"; it stays at 1.0.0, and the Kyma shows it as Error: it is wrong (correct it)" + alone, false,
		},
		"the registry does not answer": {planning.ModulePlan{Action: planning.ActionKeep, Version: "1.0.0", Existing: upstreams()}, "", false},
		"not allowed any more": {
			planning.ModulePlan{Action: planning.ActionRemove, Version: "1.0.0", Existing: upstreams(), Refusal: refused}, "; it is removed: it is wrong", true,
		},
		"a template that comes with the first synchronization": {
			planning.ModulePlan{Action: planning.ActionKeep, Existing: upstreams(), Refusal: refused, Module: v1beta2.Module{RemoteModuleTemplateRef: "a/b"}}, "", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			view := &resolve.View{}
			view.Modules = []planning.ModulePlan{test.plan}
			found := newProspects(view).of(upstreams())
			require.Equal(t, test.text, found.text)
			require.Equal(t, test.moves, found.moves)
		})
	}
}

func TestThePlanDescribesModulesThatOnlyOneSideHas(t *testing.T) {
	t.Parallel()
	unwanted, going := &v1beta2.Manifest{}, &v1beta2.Manifest{}
	unwanted.Name, going.Name, going.DeletionTimestamp = "unwanted", "going", &metav1.Time{}
	view := &resolve.View{}
	view.Unwanted = []*v1beta2.Manifest{unwanted, going}
	view.Modules = []planning.ModulePlan{
		{Name: "new", Version: "1.0.0", Action: planning.ActionCreate, Manifest: &v1beta2.Manifest{}},
		{Name: "wrong", Action: planning.ActionNone, Refusal: versions.Refuse("Reason", "it is wrong").WithHint("correct it")},
		{Name: "unmanaged", Action: planning.ActionNone},
		{Name: shared.AgentName, Component: shared.AgentComponent, Action: planning.ActionRemove, Existing: &v1beta2.Manifest{}},
	}
	all := newProspects(view)
	require.Equal(t, "; it is removed, because its Kyma does not list it", all.of(unwanted).text)
	going.DeletionTimestamp = new(metav1.Now())
	require.Empty(t, all.of(going).text, "the removal is already reported")
	require.Len(t, all.others, 2)
	require.Equal(t, "new 1.0.0 is installed", all.others[0].name+" "+all.others[0].text)
	require.Equal(t, "wrong is not installed, and the Kyma shows it as Error: it is wrong (correct it)", all.others[1].name+" "+all.others[1].text)
}

func TestAModuleThatCannotBeAppliedBecomesAnErrorUnderEachRule(t *testing.T) {
	t.Parallel()
	settled := everywhere(readiness.Observed{State: shared.StateReady, Message: "module is ready"})
	p := modulePlan{outlook: settled}
	require.NoError(t, p.add(prospect{}))
	require.Empty(t, p.outlook.changes(shared.StateReady))

	require.NoError(t, p.add(prospect{fault: fault.Fault{Kind: fault.Rejected, Message: "there is no Secret"}}))
	require.Equal(t, "; becomes Error: there is no Secret", p.outlook.changes(shared.StateReady))
	require.Empty(t, p.outlook.changes(shared.StateError))
	require.False(t, p.outlook.disagrees())

	p = modulePlan{outlook: settled}
	require.ErrorIs(t, p.add(prospect{fault: fault.Fault{Kind: fault.Transient, Message: "the registry does not answer"}}), errNotReadable)
	require.Equal(t, "; its objects cannot be read: the registry does not answer", p.text)

	p = modulePlan{outlook: settled}
	require.NoError(t, p.add(prospect{moves: true}))
	require.Nil(t, p.outlook, "the state of another version is unknown")
}
