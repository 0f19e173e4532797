package workflows

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
)

func TestWhatAKymaRunDoesNext(t *testing.T) {
	cases := map[string]struct {
		s    kymaSituation
		want kymaStep
	}{
		"a run that has not reconciled yet reconciles":                {kymaSituation{}, kymaReconcile},
		"a run asked to continue as new reconciles first":             {kymaSituation{MustContinue: true}, kymaReconcile},
		"without anything due it sleeps":                              {kymaSituation{Reconciled: true}, kymaSleep},
		"a due kick leads to a reconcile":                             {kymaSituation{Reconciled: true, Due: true}, kymaReconcile},
		"a state of a Manifest leads to a report":                     {kymaSituation{Reconciled: true, Due: true, OnlyManifests: true}, kymaReport},
		"a report that saw moved inputs leads to a reconcile":         {kymaSituation{Reconciled: true, Due: true, OnlyManifests: true, NeedsReconcile: true}, kymaReconcile},
		"a Kyma under deletion is removed":                            {kymaSituation{Reconciled: true, Due: true, Deleting: true}, kymaRemove},
		"a Kyma under deletion sleeps between steps":                  {kymaSituation{Reconciled: true, Deleting: true}, kymaSleep},
		"a new build continues as new before it acts":                 {kymaSituation{Reconciled: true, Due: true, NewBuild: true}, kymaContinue},
		"a long history continues as new":                             {kymaSituation{Reconciled: true, MustContinue: true}, kymaContinue},
		"a Kyma that is gone ends the run":                            {kymaSituation{Reconciled: true, Gone: true}, kymaComplete},
		"a gone Kyma ends the run rather than continue as new":        {kymaSituation{Reconciled: true, Gone: true, MustContinue: true}, kymaComplete},
		"a kick after the last reconcile means one more, gone or not": {kymaSituation{Reconciled: true, Gone: true, Pending: true, Due: true}, kymaReconcile},
		"a kick whose time has not come keeps a gone run open":        {kymaSituation{Reconciled: true, Gone: true, Pending: true}, kymaSleep},
		"a retry for a Kyma that is gone is not waited for":           {kymaSituation{Reconciled: true, Gone: true, Due: true}, kymaComplete},
		"a gone run that has to wait may continue as new":             {kymaSituation{Reconciled: true, Gone: true, Pending: true, MustContinue: true}, kymaContinue},
		"states of modules say nothing of a Kyma that is gone":        {kymaSituation{Reconciled: true, Gone: true, Pending: true, OnlyManifests: true, Working: true}, kymaForget},
		"the work on a module keeps a gone run open":                  {kymaSituation{Reconciled: true, Gone: true, Working: true}, kymaSleep},
		"a removal under a new build continues as new at first":       {kymaSituation{Reconciled: true, Due: true, Deleting: true, NewBuild: true}, kymaContinue},
		"a removal is not shortened by a state of a Manifest":         {kymaSituation{Reconciled: true, Due: true, Deleting: true, OnlyManifests: true}, kymaRemove},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, nextForKyma(tc.s)) })
	}
}

func TestWhatIsDoneNextForAModule(t *testing.T) {
	cases := map[string]struct {
		s    moduleSituation
		want moduleStep
	}{
		"a new run reconciles":                                     {moduleSituation{}, moduleReconcile},
		"a new run of a Manifest under deletion removes":           {moduleSituation{Deleting: true}, moduleRemove},
		"what is applied is followed":                              {moduleSituation{Phase: phaseFollow}, moduleFollow},
		"a due kick interrupts following":                          {moduleSituation{Phase: phaseFollow, Due: true}, moduleReconcile},
		"a deletion interrupts following":                          {moduleSituation{Phase: phaseFollow, Due: true, Deleting: true}, moduleRemove},
		"after a failure it rests":                                 {moduleSituation{Phase: phaseRest}, moduleSleep},
		"a due retry reconciles":                                   {moduleSituation{Phase: phaseRest, Due: true}, moduleReconcile},
		"the removal goes on":                                      {moduleSituation{Phase: phaseRemove, Deleting: true}, moduleRemove},
		"the removal is followed":                                  {moduleSituation{Phase: phaseFollowRemoval, Deleting: true}, moduleFollowRemoval},
		"a settled Manifest ends the run":                          {moduleSituation{Phase: phaseEnded}, moduleEnd},
		"a kick after the last reconcile means one more reconcile": {moduleSituation{Phase: phaseEnded, Pending: true, Due: true}, moduleReconcile},
		"a kick whose time has not come keeps the run open":        {moduleSituation{Phase: phaseEnded, Pending: true}, moduleSleep},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, nextForModule(tc.s)) })
	}
}

func TestAnUnreachableClusterSaysNothingAboutTheModule(t *testing.T) {
	f := fault.Fault{Kind: fault.Unreachable, Reason: "UnreachableTimeout", Message: "timed out"}
	ready := readiness.Observed{State: "Ready", Ready: 3, Total: 3}
	require.Equal(t, readiness.Observed{State: "Ready", Reason: f.Reason, Message: f.Message, Unreachable: true, Ready: 3, Total: 3}, observedOf(f, ready, false))
	require.EqualValues(t, "Processing", observedOf(f, readiness.Observed{}, false).State)
	require.EqualValues(t, "Deleting", observedOf(f, ready, true).State)
	require.EqualValues(t, "Error", observedOf(fault.Fault{Kind: fault.Rejected}, ready, false).State)
}
