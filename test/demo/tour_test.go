package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestATourIsChosenByItsName(t *testing.T) {
	s, err := parse([]string{"--tour", "rollout", "--exit-when-ready", "--timeout", "1m"}, &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, rolloutTour, s.tour)
	require.True(t, s.exitWhenReady)
	require.Equal(t, time.Minute, s.timeout)

	s, err = parse(nil, &bytes.Buffer{})
	require.NoError(t, err)
	require.Empty(t, s.tour, "without the flag, the demo is as ever")
}

func TestAnUnknownTourIsAUsageErrorThatNamesTheKnownOnes(t *testing.T) {
	var problems bytes.Buffer
	_, err := parse([]string{"--tour", "nowhere"}, &problems)
	require.ErrorContains(t, err, "there is no such tour; there is: rollout")
	require.Contains(t, problems.String(), "Usage of make demo ARGS=")
	require.Equal(t, exitUsage, start([]string{"--tour", "nowhere"}))
	require.Equal(t, exitUsage, start([]string{"--tour", ""}))
	require.Equal(t, exitUsage, start([]string{"rollout"}))
}

func TestWhatTheTourCreatesIsAsTheTypesHaveIt(t *testing.T) {
	var policy v1beta2.RolloutPolicy
	require.NoError(t, yaml.UnmarshalStrict([]byte(stagedPolicy), &policy))
	require.Len(t, policy.Spec.Stages, 3)
	canaries := 0
	for number := 1; number <= stagedKymas; number++ {
		var kyma v1beta2.Kyma
		require.NoError(t, yaml.UnmarshalStrict([]byte(stagedKymaYAML(number)), &kyma))
		require.Equal(t, stagedKyma(number), kyma.Spec.Sync.Namespace, "Kymas that share a cluster have namespaces of their own")
		selector, err := metav1.LabelSelectorAsMap(policy.Spec.Stages[0].Selector)
		require.NoError(t, err)
		if kyma.Labels["example.com/stage"] == selector["example.com/stage"] {
			canaries++
		}
	}
	require.Equal(t, 1, canaries)
}

// seen are ModuleRollouts as `kubectl get --watch --output json` writes them, one after the other.
func seen(t *testing.T, states ...v1beta2.ModuleRolloutStatus) *bytes.Buffer {
	t.Helper()
	var all bytes.Buffer
	for _, status := range states {
		r := v1beta2.ModuleRollout{ObjectMeta: metav1.ObjectMeta{Name: "greeting-regular-1.1.0", UID: "12-34"}, Status: status}
		r.Spec.From, r.Spec.To = "1.0.0", "1.1.0"
		require.NoError(t, json.NewEncoder(&all).Encode(r))
	}
	return &all
}

// stateOf is a status with a canary and five other clusters.
func stateOf(phase v1beta2.RolloutPhase, released, ready int32, waitsFor string) v1beta2.ModuleRolloutStatus {
	return v1beta2.ModuleRolloutStatus{
		Phase: phase, StageName: "canary", WaitsFor: waitsFor,
		Stages: []v1beta2.RolloutStageStatus{{Name: "canary", Total: 1, Released: released, Ready: ready}, {Name: "rest", Total: 5}},
	}
}

func newTestDemo(out *bytes.Buffer) *demo {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	d := &demo{speaker: newSpeaker(out, func() time.Time { return now })}
	d.fleet.Temporal.UIURL, d.fleet.Temporal.Namespace = "http://127.0.0.1:8233", "default"
	return d
}

func TestARolloutIsPrintedWheneverWhatOneSeesOfItChanges(t *testing.T) {
	var out bytes.Buffer
	progressing := stateOf(v1beta2.RolloutProgressing, 1, 0, "the clusters of stage canary to settle")
	done := stateOf(v1beta2.RolloutCompleted, 1, 1, "")
	done.StageName = ""
	states := seen(t, v1beta2.ModuleRolloutStatus{}, progressing, progressing, done)
	last, err := newTestDemo(&out).readRollouts(states, "1.1.0", phaseCompleted)
	require.NoError(t, err)
	require.Equal(t, phaseCompleted, last.Status.Phase)
	require.Equal(t, `   0.0s  Temporal shows the workflow of this rollout:

  http://127.0.0.1:8233/namespaces/default/workflows/rollout%2Fkcp-system%2Fgreeting-regular-1.1.0%2F12-34

   0.0s    1.1.0 Progressing  canary  released 1/6  ready 0/6  waits for the clusters of stage canary to settle
   0.0s    1.1.0 Completed            released 1/6  ready 1/6
`, out.String())
}

func TestARolloutThatIsHeldSaysWhyAndNotThatItWaitsForThat(t *testing.T) {
	var out bytes.Buffer
	held := stateOf(v1beta2.RolloutHeld, 1, 0, "1 of 1 clusters of stage canary failed"+strings.Repeat(" and so on", 20))
	held.Failures = []v1beta2.RolloutFailure{{Message: "spec.ports is required", Kymas: []string{"kcp-system/cluster-1"}}}
	last, err := newTestDemo(&out).readRollouts(seen(t, held), "1.1.0", phaseHeld)
	require.NoError(t, err)
	require.Equal(t, "spec.ports is required", last.Status.Failures[0].Message)
	require.Equal(t, []string{"kcp-system/cluster-1"}, last.Status.Failures[0].Kymas)
	require.Contains(t, out.String(), "ready 0/6  1 of 1 clusters of stage canary failed and so on")
	require.Contains(t, out.String(), "…\n", "what is long is cut")
}

func TestARolloutThatStopsOtherwiseThanToldEndsTheTour(t *testing.T) {
	var out bytes.Buffer
	held := stateOf(v1beta2.RolloutHeld, 1, 0, "1 of 1 clusters of stage canary failed")
	_, err := newTestDemo(&out).readRollouts(seen(t, held), "1.1.0", phaseCompleted)
	require.ErrorIs(t, err, errOtherwise)
	require.ErrorContains(t, err, "the rollout of 1.1.0 is Held, and not Completed: 1 of 1 clusters of stage canary failed")
	_, err = newTestDemo(&out).readRollouts(seen(t, stateOf(v1beta2.RolloutCompleted, 1, 1, "")), "1.1.0", phaseHeld)
	require.ErrorContains(t, err, "is Completed, and not Held")
}

func TestTheRolloutOfAnotherVersionIsNotPrinted(t *testing.T) {
	var out bytes.Buffer
	_, err := newTestDemo(&out).readRollouts(seen(t, stateOf(v1beta2.RolloutCompleted, 1, 1, "")), "1.2.0", phaseCompleted)
	require.ErrorContains(t, err, "follow the rollout of 1.2.0: EOF")
	require.Empty(t, out.String())
	require.Equal(t, "there is none", orNone(rollout{}))
}

func TestTheTourChecksWhichClusterHasWhichVersion(t *testing.T) {
	list := `NAMESPACE    NAME                   STATE   MODULE     VERSION   AGE   MESSAGE
kcp-system   cluster-1-greeting-a   Error   greeting   1.2.0     9s    1 of 2 objects could not be applied
kcp-system   cluster-2-greeting-a   Ready   greeting   1.1.0     9s
kcp-system   cluster-3-greeting-a   Ready   greeting   1.1.0     9s
kcp-system   cluster-4-greeting-a   Ready   greeting   1.1.0     9s
kcp-system   cluster-5-greeting-a   Ready   greeting   1.1.0     9s
kcp-system   cluster-6-greeting-a   Ready   greeting   1.1.0     9s
`
	require.NoError(t, checkVersions(list, "1.2.0", "1.1.0"))
	require.ErrorContains(t, checkVersions(list, "1.1.0", "1.1.0"), "cluster-1 does not have version 1.1.0")
	require.ErrorContains(t, checkVersions(list, "1.2.0", "1.2.0"), "cluster-2 does not have version 1.2.0")
	require.ErrorIs(t, checkVersions("", "1.2.0", "1.1.0"), errOtherwise)
}
