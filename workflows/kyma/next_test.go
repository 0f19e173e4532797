package kyma

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestWhatAKymaRunDoesNext(t *testing.T) {
	cases := map[string]struct {
		s    situation
		want step
	}{
		"a new run reconciles first":                                  {situation{}, stepReconcile},
		"a run asked to continue as new reconciles first":             {situation{MustContinue: true}, stepReconcile},
		"a run without due work sleeps":                               {situation{Reconciled: true}, stepSleep},
		"a due kick leads to a reconcile":                             {situation{Reconciled: true, Due: true}, stepReconcile},
		"a state of a Manifest leads to a report":                     {situation{Reconciled: true, Due: true, OnlyManifests: true}, stepReport},
		"a report that found changed inputs leads to a reconcile":     {situation{Reconciled: true, Due: true, OnlyManifests: true, NeedsReconcile: true}, stepReconcile},
		"a Kyma under deletion is removed":                            {situation{Reconciled: true, Due: true, Deleting: true}, stepRemove},
		"a Kyma under deletion sleeps between steps":                  {situation{Reconciled: true, Deleting: true}, stepSleep},
		"a new build continues as new before it acts":                 {situation{Reconciled: true, Due: true, NewBuild: true}, stepContinue},
		"a long history continues as new":                             {situation{Reconciled: true, MustContinue: true}, stepContinue},
		"a Kyma that is gone ends the run":                            {situation{Reconciled: true, Gone: true}, stepComplete},
		"a gone Kyma ends the run rather than continue as new":        {situation{Reconciled: true, Gone: true, MustContinue: true}, stepComplete},
		"a kick after the last reconcile means one more, gone or not": {situation{Reconciled: true, Gone: true, Pending: true, Due: true}, stepReconcile},
		"a kick whose time has not come keeps a gone run open":        {situation{Reconciled: true, Gone: true, Pending: true}, stepSleep},
		"a gone run does not wait for a retry":                        {situation{Reconciled: true, Gone: true, Due: true}, stepComplete},
		"a gone run that has to wait may continue as new":             {situation{Reconciled: true, Gone: true, Pending: true, MustContinue: true}, stepContinue},
		"states of modules do not matter once the Kyma is gone":       {situation{Reconciled: true, Gone: true, Pending: true, OnlyManifests: true, Working: true}, stepForget},
		"the work on a module keeps a gone run open":                  {situation{Reconciled: true, Gone: true, Working: true}, stepSleep},
		"a removal under a new build continues as new first":          {situation{Reconciled: true, Due: true, Deleting: true, NewBuild: true}, stepContinue},
		"a state of a Manifest does not shorten a removal":            {situation{Reconciled: true, Due: true, Deleting: true, OnlyManifests: true}, stepRemove},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, decide(tc.s)) })
	}
}

func TestWhatAModuleRunDoesNext(t *testing.T) {
	cases := map[string]struct {
		s    moduleSituation
		want moduleStep
	}{
		"a new run reconciles":                                     {moduleSituation{}, moduleReconcile},
		"a new run of a Manifest under deletion removes":           {moduleSituation{Deleting: true}, moduleRemove},
		"an applied module is followed":                            {moduleSituation{Phase: phaseFollow}, moduleFollow},
		"a due kick interrupts following":                          {moduleSituation{Phase: phaseFollow, Due: true}, moduleReconcile},
		"a deletion interrupts following":                          {moduleSituation{Phase: phaseFollow, Due: true, Deleting: true}, moduleRemove},
		"a module rests after a failure":                           {moduleSituation{Phase: phaseRest}, moduleSleep},
		"a due retry reconciles":                                   {moduleSituation{Phase: phaseRest, Due: true}, moduleReconcile},
		"the removal continues":                                    {moduleSituation{Phase: phaseRemove, Deleting: true}, moduleRemove},
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
