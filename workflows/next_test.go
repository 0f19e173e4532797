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
		"a removal under a new build continues as new at first":       {kymaSituation{Reconciled: true, Due: true, Deleting: true, NewBuild: true}, kymaContinue},
		"a removal is not shortened by a state of a Manifest":         {kymaSituation{Reconciled: true, Due: true, Deleting: true, OnlyManifests: true}, kymaRemove},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, nextForKyma(tc.s)) })
	}
}

func TestWhatAManifestRunDoesNext(t *testing.T) {
	cases := map[string]struct {
		s    manifestSituation
		want manifestStep
	}{
		"a new run reconciles":                                     {manifestSituation{}, manifestReconcile},
		"a new run of a Manifest under deletion removes":           {manifestSituation{Deleting: true}, manifestRemove},
		"what is applied is followed":                              {manifestSituation{Phase: phaseFollow}, manifestFollow},
		"a due kick interrupts following":                          {manifestSituation{Phase: phaseFollow, Due: true}, manifestReconcile},
		"a deletion interrupts following":                          {manifestSituation{Phase: phaseFollow, Due: true, Deleting: true}, manifestRemove},
		"after a failure it rests":                                 {manifestSituation{Phase: phaseRest}, manifestSleep},
		"a due retry reconciles":                                   {manifestSituation{Phase: phaseRest, Due: true}, manifestReconcile},
		"the removal goes on":                                      {manifestSituation{Phase: phaseRemove, Deleting: true}, manifestRemove},
		"the removal is followed":                                  {manifestSituation{Phase: phaseFollowRemoval, Deleting: true}, manifestFollowRemoval},
		"a settled Manifest ends the run":                          {manifestSituation{Phase: phaseEnded}, manifestComplete},
		"a kick after the last reconcile means one more reconcile": {manifestSituation{Phase: phaseEnded, Pending: true, Due: true}, manifestReconcile},
		"a kick whose time has not come keeps the run open":        {manifestSituation{Phase: phaseEnded, Pending: true}, manifestSleep},
		"a settled Manifest ends rather than continue as new":      {manifestSituation{Phase: phaseEnded, MustContinue: true}, manifestComplete},
		"a long history continues as new while following":          {manifestSituation{Phase: phaseFollow, MustContinue: true}, manifestContinue},
		"a new build continues as new before it acts":              {manifestSituation{Phase: phaseFollow, Due: true, NewBuild: true}, manifestContinue},
		"a new run does not continue as new before it reconciled":  {manifestSituation{MustContinue: true}, manifestReconcile},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, nextForManifest(tc.s)) })
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
