package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
)

func TestWhatAKymaRunDoesNext(t *testing.T) {
	cases := map[string]struct {
		s    kymaSituation
		want kymaStep
	}{
		"a run that has not looked yet looks":                    {kymaSituation{}, kymaLook},
		"a run asked to continue as new looks first":             {kymaSituation{MustContinue: true}, kymaLook},
		"without anything due it sleeps":                         {kymaSituation{Looked: true}, kymaSleep},
		"a due kick leads to a look":                             {kymaSituation{Looked: true, Due: true}, kymaLook},
		"a state of a Manifest leads to a report":                {kymaSituation{Looked: true, Due: true, OnlyManifests: true}, kymaReport},
		"a report that saw moved inputs leads to a look":         {kymaSituation{Looked: true, Due: true, OnlyManifests: true, NeedsLook: true}, kymaLook},
		"a Kyma under deletion is removed":                       {kymaSituation{Looked: true, Due: true, Deleting: true}, kymaRemove},
		"a Kyma under deletion sleeps between steps":             {kymaSituation{Looked: true, Deleting: true}, kymaSleep},
		"a new build continues as new before it acts":            {kymaSituation{Looked: true, Due: true, NewBuild: true}, kymaContinue},
		"a long history continues as new":                        {kymaSituation{Looked: true, MustContinue: true}, kymaContinue},
		"a Kyma that is gone ends the run":                       {kymaSituation{Looked: true, Gone: true}, kymaComplete},
		"a gone Kyma ends the run rather than continue as new":   {kymaSituation{Looked: true, Gone: true, MustContinue: true}, kymaComplete},
		"a kick after the last look means one more, gone or not": {kymaSituation{Looked: true, Gone: true, Pending: true, Due: true}, kymaLook},
		"a kick whose time has not come keeps a gone run open":   {kymaSituation{Looked: true, Gone: true, Pending: true}, kymaSleep},
		"a retry of a look at what is gone is not waited for":    {kymaSituation{Looked: true, Gone: true, Due: true}, kymaComplete},
		"a gone run that has to wait may continue as new":        {kymaSituation{Looked: true, Gone: true, Pending: true, MustContinue: true}, kymaContinue},
		"a removal under a new build continues as new at first":  {kymaSituation{Looked: true, Due: true, Deleting: true, NewBuild: true}, kymaContinue},
		"a removal is not shortened by a state of a Manifest":    {kymaSituation{Looked: true, Due: true, Deleting: true, OnlyManifests: true}, kymaRemove},
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
		"a new run looks": {manifestSituation{}, manifestLook},
		"a new run of a Manifest under deletion removes":      {manifestSituation{Deleting: true}, manifestRemove},
		"what is applied is followed":                         {manifestSituation{Phase: phaseFollow}, manifestFollow},
		"a due kick interrupts following":                     {manifestSituation{Phase: phaseFollow, Due: true}, manifestLook},
		"a deletion interrupts following":                     {manifestSituation{Phase: phaseFollow, Due: true, Deleting: true}, manifestRemove},
		"after a failure it rests":                            {manifestSituation{Phase: phaseRest}, manifestSleep},
		"a due retry looks":                                   {manifestSituation{Phase: phaseRest, Due: true}, manifestLook},
		"the removal goes on":                                 {manifestSituation{Phase: phaseRemove, Deleting: true}, manifestRemove},
		"the removal is followed":                             {manifestSituation{Phase: phaseFollowRemoval, Deleting: true}, manifestFollowRemoval},
		"a settled Manifest ends the run":                     {manifestSituation{Phase: phaseEnded}, manifestComplete},
		"a kick after the last look means one more look":      {manifestSituation{Phase: phaseEnded, Pending: true, Due: true}, manifestLook},
		"a kick whose time has not come keeps the run open":   {manifestSituation{Phase: phaseEnded, Pending: true}, manifestSleep},
		"a settled Manifest ends rather than continue as new": {manifestSituation{Phase: phaseEnded, MustContinue: true}, manifestComplete},
		"a long history continues as new while following":     {manifestSituation{Phase: phaseFollow, MustContinue: true}, manifestContinue},
		"a new build continues as new before it acts":         {manifestSituation{Phase: phaseFollow, Due: true, NewBuild: true}, manifestContinue},
		"a new run does not continue as new before it looked": {manifestSituation{MustContinue: true}, manifestLook},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, nextForManifest(tc.s)) })
	}
}

func TestBackoffFollowsTheKindOfFault(t *testing.T) {
	transient := fault.Fault{Kind: fault.Transient, Reason: "Error"}
	unreachable := fault.Fault{Kind: fault.Unreachable, Reason: "UnreachableTimeout"}

	_, again := Backoff(fault.Fault{Kind: fault.Rejected}, 1, "id")
	require.False(t, again, "what cannot succeed waits for a change")

	first, again := Backoff(transient, 1, "id")
	require.True(t, again)
	require.GreaterOrEqual(t, first, minBackoff)
	require.Less(t, first, 2*minBackoff)

	last, again := Backoff(transient, 1000, "id")
	require.True(t, again)
	require.LessOrEqual(t, last, maxBackoff+maxBackoff/4)

	seldom, again := Backoff(fault.Fault{Kind: fault.Transient, Reason: "LayerNotFound", Seldom: true}, 1, "id")
	require.True(t, again)
	require.Equal(t, last, seldom)

	total := time.Duration(0)
	for attempt := 1; ; attempt++ {
		wait, again := Backoff(unreachable, attempt, "id")
		if !again {
			break
		}
		require.Less(t, attempt, 20, "an unreachable cluster must be left to the sweep at some point")
		total += wait
	}
	require.InDelta(t, (100 * time.Second).Seconds(), total.Seconds(), 30)
}

func TestBackoffSpreadsClustersThatFailedTogether(t *testing.T) {
	waits := map[time.Duration]bool{}
	for _, id := range []string{"kyma/a", "kyma/b", "kyma/c", "kyma/d", "kyma/e"} {
		wait, _ := Backoff(fault.Fault{Kind: fault.Transient}, 3, id)
		waits[wait] = true
		repeated, _ := Backoff(fault.Fault{Kind: fault.Transient}, 3, id)
		require.Equal(t, wait, repeated, "a workflow is deterministic")
	}
	require.Greater(t, len(waits), 3)
}

func TestAnUnreachableClusterSaysNothingAboutTheModule(t *testing.T) {
	f := fault.Fault{Kind: fault.Unreachable, Reason: "UnreachableTimeout", Message: "timed out"}
	ready := readiness.Observed{State: "Ready", Ready: 3, Total: 3}
	require.Equal(t, readiness.Observed{State: "Ready", Reason: f.Reason, Message: f.Message, Ready: 3, Total: 3}, observedOf(f, ready, false))
	require.EqualValues(t, "Processing", observedOf(f, readiness.Observed{}, false).State)
	require.EqualValues(t, "Deleting", observedOf(f, ready, true).State)
	require.EqualValues(t, "Error", observedOf(fault.Fault{Kind: fault.Rejected}, ready, false).State)
}
