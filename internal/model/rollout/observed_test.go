package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestTheStateOfACluster(t *testing.T) {
	const within = 15 * time.Minute
	released := begun
	early, late := released.Add(time.Minute), released.Add(time.Hour)
	ownTime := late.Add(-5 * time.Minute) // when it got its version, long after the release
	for name, test := range map[string]struct {
		observation Observation
		now         time.Time
		want        judgement
		deadline    time.Time
	}{
		"ready":                                      {Observation{Version: newer, State: shared.StateReady}, early, ready, time.Time{}},
		"ready with a warning":                       {Observation{Version: newer, State: shared.StateWarning}, early, ready, time.Time{}},
		"ready, however late":                        {Observation{Version: newer, State: shared.StateReady, Since: released}, late, ready, time.Time{}},
		"ready, and unreachable since":               {Observation{Version: newer, State: shared.StateReady, Unreachable: true}, late, ready, time.Time{}},
		"ready in the old version":                   {Observation{Version: older, State: shared.StateReady}, early, updating, released.Add(within)},
		"ready in the old version at the deadline":   {Observation{Version: older, State: shared.StateReady}, released.Add(within), failed, time.Time{}},
		"ready in the old version after it":          {Observation{Version: older, State: shared.StateReady, WasWell: true}, late, failed, time.Time{}},
		"processing the old version after it":        {Observation{Version: older, State: shared.StateProcessing}, late, failed, time.Time{}},
		"without a state in the old version":         {Observation{Version: older}, early, updating, released.Add(within)},
		"processing":                                 {Observation{Version: newer, State: shared.StateProcessing, Since: early}, early, updating, early.Add(within)},
		"processing, begun late":                     {Observation{Version: newer, State: shared.StateProcessing, Since: ownTime}, late, updating, ownTime.Add(within)},
		"processing, since an unknown time":          {Observation{Version: newer, State: shared.StateProcessing}, early, updating, released.Add(within)},
		"processing for too long, healthy before":    {Observation{Version: newer, State: shared.StateProcessing, Since: early, WasWell: true}, late, failed, time.Time{}},
		"processing for too long, broken before":     {Observation{Version: newer, State: shared.StateProcessing, Since: early}, late, broken, time.Time{}},
		"without a state for too long":               {Observation{Version: newer, Since: early, WasWell: true}, late, failed, time.Time{}},
		"in error, healthy before":                   {Observation{Version: newer, State: shared.StateError, Since: early, WasWell: true}, early, failed, time.Time{}},
		"in error, not healthy before":               {Observation{Version: newer, State: shared.StateError, Since: early}, early, broken, time.Time{}},
		"in error in the old version, just released": {Observation{Version: older, State: shared.StateError}, early, updating, released.Add(within)},
		"in error in the old version, too late":      {Observation{Version: older, State: shared.StateError, WasWell: true}, late, broken, time.Time{}},
		"waiting for the registry, however long":     {Observation{Version: newer, State: shared.StateError, Since: early, WasWell: true, AwaitsRegistry: true}, late, updating, time.Time{}},
		"waiting for it in the old version":          {Observation{Version: older, State: shared.StateError, WasWell: true, AwaitsRegistry: true}, late, broken, time.Time{}},
		"refused":                                    {Observation{Version: older, State: shared.StateReady, Refused: true}, early, failed, time.Time{}},
		"refused at the first install":               {Observation{Refused: true}, early, broken, time.Time{}},
		"refused, in error in the old version":       {Observation{Version: older, State: shared.StateError, Refused: true}, early, broken, time.Time{}},
		"refused, but installed":                     {Observation{Version: newer, State: shared.StateReady, Refused: true}, early, ready, time.Time{}},
		"unreachable":                                {Observation{Version: older, State: shared.StateReady, Unreachable: true}, late, unreachable, time.Time{}},
		"unreachable in the middle":                  {Observation{Version: newer, State: shared.StateProcessing, Since: early, Unreachable: true}, late, unreachable, time.Time{}},
		"unreachable and in error":                   {Observation{Version: newer, State: shared.StateError, Unreachable: true, WasWell: true}, late, unreachable, time.Time{}},
		"unreachable and refused":                    {Observation{Version: older, Refused: true, Unreachable: true}, late, unreachable, time.Time{}},
		"unreachable and waiting":                    {Observation{Version: older, Unreachable: true, Waits: true}, late, unreachable, time.Time{}},
		"waiting":                                    {Observation{Version: older, State: shared.StateReady, Waits: true}, late, waiting, time.Time{}},
		"waiting, in error in the old version":       {Observation{Version: older, State: shared.StateError, Waits: true}, late, waiting, time.Time{}},
		"waiting and refused":                        {Observation{Version: older, State: shared.StateReady, Waits: true, Refused: true}, late, waiting, time.Time{}},
		"not installed yet":                          {Observation{}, early, updating, released.Add(within)},
		"not installed for too long":                 {Observation{}, late, broken, time.Time{}},
		"installed first, processing":                {Observation{Version: newer, State: shared.StateProcessing, Since: ownTime}, late, updating, ownTime.Add(within)},
		"installed first, processing for too long":   {Observation{Version: newer, State: shared.StateProcessing, Since: early}, late, broken, time.Time{}},
		"deleting in the new version, for too long":  {Observation{Version: newer, State: shared.StateDeleting, Since: early, WasWell: true}, late, failed, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			found, deadline := test.observation.judge(newer, released, within, test.now)
			require.Equal(t, test.want, found)
			require.Equal(t, test.deadline, deadline)
		})
	}
}

// seenIn is an observed cluster of a stage.
func seenIn(stage, name string, s Observation) Observation {
	s.Cluster, s.Kyma = Cluster{UID: types.UID("of-" + name), Labels: map[string]string{"stage": stage}}, "kcp-system/"+name
	return s
}

func TestTheClustersOfEachStageAreCounted(t *testing.T) {
	r := rolloutOf(byLabel("canary"), byLabel("early"))
	r.Status.Stage = 1
	r.Status.Stages = []v1beta2.RolloutStageStatus{{ReleasedAt: new(metav1.NewTime(begun))}, {}, {}}
	now := begun.Add(10 * time.Minute)
	o := Observe(r, []Observation{
		seenIn("canary", "a", Observation{Version: newer, State: shared.StateReady}),
		seenIn("canary", "b", Observation{Version: newer, State: shared.StateProcessing, Since: begun.Add(4 * time.Minute)}),
		seenIn("canary", "c", Observation{Version: newer, State: shared.StateProcessing, Since: begun.Add(2 * time.Minute)}),
		seenIn("canary", "d", Observation{Version: newer, State: shared.StateError, Reason: "Crash", WasWell: true}),
		seenIn("canary", "e", Observation{Version: newer, State: shared.StateError}),
		seenIn("canary", "f", Observation{Version: older, Waits: true}),
		seenIn("canary", "g", Observation{Version: older, Unreachable: true}),
		seenIn("early", "h", Observation{Version: older, State: shared.StateReady}),
		seenIn("early", "i", Observation{Version: newer, State: shared.StateReady}),
		seenIn("", "j", Observation{Version: older, State: shared.StateError, WasWell: true}),
	}, now)

	require.Len(t, o.Stages, 3)
	canary := o.Stages[0]
	require.Equal(t, []int32{7, 7, 2, 1, 1, 1, 1, 1, 0}, []int32{
		canary.Total, canary.Released, canary.Updating, canary.Ready, canary.Failed, canary.Broken, canary.Waiting, canary.Unreachable, canary.TakingBack,
	})
	require.Equal(t, begun.Add(17*time.Minute), canary.Deadline, "the deadline of the cluster that fails first")
	require.Len(t, canary.Done, 7)
	require.True(t, slices.IsSorted(canary.Done))
	require.Empty(t, canary.Pending)
	for i, total := range map[int]int32{1: 2, 2: 1} {
		at := o.Stages[i]
		require.Equal(t, StageObserved{Total: total, Pending: at.Pending}, at, "a cluster without a release is not judged, whatever its version")
		require.Len(t, at.Pending, int(total))
	}
	require.Equal(t, []v1beta2.RolloutFailure{{Reason: "Crash", Clusters: 1, Kymas: []string{"kcp-system/d"}}}, o.Failures)
}

func TestRevertingClustersAreCounted(t *testing.T) {
	for name, test := range map[string]struct {
		observation Observation
		after       time.Duration
		reverts     bool
		want        int32
	}{
		"with the new version":         {Observation{Version: newer, State: shared.StateReady}, time.Minute, true, 1},
		"with the new version, failed": {Observation{Version: newer, State: shared.StateError}, time.Minute, true, 1},
		"processing the old one":       {Observation{Version: older, State: shared.StateProcessing}, time.Minute, true, 1},
		"without a state yet":          {Observation{Version: older}, time.Minute, true, 1},
		"back":                         {Observation{Version: older, State: shared.StateReady}, time.Minute, true, 0},
		"back with a warning":          {Observation{Version: older, State: shared.StateWarning}, time.Minute, true, 0},
		"back, in error":               {Observation{Version: older, State: shared.StateError}, time.Minute, true, 0},
		"too late":                     {Observation{Version: newer, State: shared.StateReady}, 15 * time.Minute, true, 0},
		"unreachable":                  {Observation{Version: newer, Unreachable: true}, time.Minute, true, 0},
		"waiting":                      {Observation{Version: newer, Waits: true}, time.Minute, true, 0},
		"never installed":              {Observation{}, time.Minute, true, 0},
		"the rollout does not revert":  {Observation{Version: newer, State: shared.StateReady}, time.Minute, false, 0},
		"processing without a revert":  {Observation{Version: older, State: shared.StateProcessing}, time.Minute, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := rolloutOf(byLabel("canary"))
			r.Status.Reverts = test.reverts
			r.Status.Stages = []v1beta2.RolloutStageStatus{{ReleasedAt: new(metav1.NewTime(begun))}, {}}
			o := Observe(r, []Observation{seenIn("canary", "a", test.observation)}, begun.Add(test.after))
			require.Equal(t, test.want, o.Stages[0].TakingBack)
			require.Equal(t, test.want > 0, o.Stages[0].Deadline.Equal(begun.Add(15*time.Minute)))
			require.Empty(t, o.Failures)
		})
	}
}

func TestAStageMayHaveItsOwnTimeToSettle(t *testing.T) {
	r := rolloutOf(byLabel("canary"), byLabel("early"))
	r.Spec.Plan.SettleWithin = &metav1.Duration{Duration: 20 * time.Minute}
	r.Spec.Plan.Stages[1].SettleWithin = &metav1.Duration{Duration: time.Hour}
	r.Status.Stage = 2
	r.Status.Stages = []v1beta2.RolloutStageStatus{{ReleasedAt: new(metav1.NewTime(begun))}, {ReleasedAt: new(metav1.NewTime(begun))}}
	s := Observation{Version: newer, State: shared.StateProcessing, WasWell: true}
	o := Observe(r, []Observation{seenIn("canary", "a", s), seenIn("early", "b", s)}, begun.Add(30*time.Minute))
	require.Equal(t, int32(1), o.Stages[0].Failed)
	require.Equal(t, int32(1), o.Stages[1].Updating)
	require.Equal(t, begun.Add(time.Hour), o.Stages[1].Deadline)
}

// onlyStage is a rollout in one stage. The stage is released and its time is over.
func onlyStage() (*v1beta2.ModuleRollout, time.Time) {
	r := rolloutOf()
	r.Status.Stage = 1
	r.Status.Stages = []v1beta2.RolloutStageStatus{{ReleasedAt: new(metav1.NewTime(begun))}}
	return r, begun.Add(time.Hour)
}

func TestFailuresAreGroupedByCause(t *testing.T) {
	r, now := onlyStage()
	crash := func(n int) Observation {
		return seenIn("", fmt.Sprintf("cluster-%02d", n), Observation{
			Version: newer, State: shared.StateError, WasWell: true, Reason: "DeploymentNotReady", Layer: "sha256:1",
			Message: fmt.Sprintf("pod keda-%s-x%dk2z of cluster-%02d crashed %d times", []string{"7d9f8b6c5d", "5f66c9bd74"}[n%2], 2+n%8, n, n),
		})
	}
	var observations []Observation
	for n := range 7 {
		observations = append(observations, crash(n))
	}
	observations = append(
		observations,
		seenIn("", "x", Observation{Version: newer, State: shared.StateError, WasWell: true, Reason: "DeploymentNotReady", Message: "the image is not there"}),
		seenIn("", "y", Observation{Version: newer, State: shared.StateProcessing, WasWell: true}),
		seenIn("", "v", Observation{Version: newer, State: shared.StateProcessing, WasWell: true, Reason: "Processing", Message: "the job runs"}),
		seenIn("", "z", Observation{Version: older, State: shared.StateReady, Reason: "Ready", Message: "all is well"}),
		seenIn("", "w", Observation{Version: older, State: shared.StateReady, Refused: true, Reason: "NoTemplate", Message: "there is none"}),
		seenIn("", "fine", Observation{Version: newer, State: shared.StateReady, Reason: "Ready"}),
		seenIn("", "old", Observation{Version: newer, State: shared.StateError, Reason: "Broken"}),
	)
	want := []v1beta2.RolloutFailure{
		{
			Reason: "DeploymentNotReady", Message: "pod keda-7d9f8b6c5d-x2k2z of cluster-00 crashed 0 times", Clusters: 7, Layer: "sha256:1",
			Kymas: []string{"kcp-system/cluster-00", "kcp-system/cluster-01", "kcp-system/cluster-02", "kcp-system/cluster-03", "kcp-system/cluster-04"},
		},
		{Reason: "DeploymentNotReady", Message: "the image is not there", Clusters: 1, Kymas: []string{"kcp-system/x"}},
		{Reason: "NoTemplate", Message: "there is none", Clusters: 1, Kymas: []string{"kcp-system/w"}},
		{Reason: ReasonNotSettled, Message: "the job runs", Clusters: 1, Kymas: []string{"kcp-system/v"}},
		{Reason: ReasonNotSettled, Message: "the module did not become ready in time", Clusters: 1, Kymas: []string{"kcp-system/y"}},
		{Reason: ReasonNotStarted, Message: "the version was released to the cluster but did not reach its Manifest in time", Clusters: 1, Kymas: []string{"kcp-system/z"}},
	}
	require.Equal(t, want, Observe(r, observations, now).Failures)

	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		random.Shuffle(len(observations), func(i, j int) { observations[i], observations[j] = observations[j], observations[i] })
		require.Equal(t, want, Observe(r, observations, now).Failures, "the order of observations does not matter")
	}
}

func TestASignatureIsTheSameForTheSameFailure(t *testing.T) {
	type failure struct{ reason, message, kyma string }
	uid := []string{"0b3e7f3c-9a5b-4b0e-8a34-0c1f8de0a001", "c4f0a5d1-12ab-4cde-9f00-aabbccddeeff"}
	for name, test := range map[string]struct {
		a, b failure
		same bool
	}{
		"numbers":                         {failure{"R", "2 of 3 replicas after 15 s", "ns/a1"}, failure{"R", "0 of 12 replicas after 900 s", "ns/b1"}, true},
		"uids":                            {failure{"R", "object " + uid[0] + " exists", "ns/a1"}, failure{"R", "object " + uid[1] + " exists", "ns/b1"}, true},
		"digests":                         {failure{"R", "layer sha256:0123456789abcdef0123 is gone", ""}, failure{"R", "layer sha256:fedcba98765432100000 is gone", ""}, true},
		"pods of a Deployment":            {failure{"R", "pod keda-7d9f8b6c5d-x2k4z crashes", "ns/a1"}, failure{"R", "pod keda-5f66c9bd74-qqqpw crashes", "ns/b1"}, true},
		"pods of a DaemonSet":             {failure{"R", "pod fluent-bit-x2k4z crashes", "ns/a1"}, failure{"R", "pod fluent-bit-bvbvb crashes", "ns/b1"}, true},
		"pods of a StatefulSet":           {failure{"R", "pod db-0 crashes", "ns/a1"}, failure{"R", "pod db-11 crashes", "ns/b1"}, true},
		"addresses":                       {failure{"R", "dial tcp 10.0.0.1:443: refused", "ns/a1"}, failure{"R", "dial tcp 10.1.22.3:8443: refused", "ns/b1"}, true},
		"names of Kymas":                  {failure{"R", "no secret kubeconfig-one", "ns/one"}, failure{"R", "no secret kubeconfig-another", "ns/another"}, true},
		"names of Kymas, more than once":  {failure{"R", "one: no secret one-keda", "ns/one"}, failure{"R", "two: no secret two-keda", "ns/two"}, true},
		"short names of Kymas":            {failure{"R", "no certificate for a", "ns/a"}, failure{"R", "no certificate for e", "ns/e"}, true},
		"names that words begin with":     {failure{"R", "the developer portal of dev fails", "ns/dev"}, failure{"R", "the developer portal of prod fails", "ns/prod"}, true},
		"names with signs of expressions": {failure{"R", "no secret a.b", "ns/a.b"}, failure{"R", "no secret c.d", "ns/c.d"}, true},
		"nothing different":               {failure{"R", "it fails", ""}, failure{"R", "it fails", "ns/a1"}, true},
		"another text":                    {failure{"R", "the image is gone", "ns/a1"}, failure{"R", "the pod crashes", "ns/a1"}, false},
		"another reason":                  {failure{"A", "it fails", "ns/a1"}, failure{"B", "it fails", "ns/a1"}, false},
		"another object":                  {failure{"R", "deployment keda is not ready", "ns/a1"}, failure{"R", "deployment istiod is not ready", "ns/a1"}, false},
		"another object of two words":     {failure{"R", "keda-operator-agent is not ready", "ns/a1"}, failure{"R", "keda-metrics-agent is not ready", "ns/a1"}, false},
		"another short hexadecimal word":  {failure{"R", "the facade is bad", "ns/a1"}, failure{"R", "the decade is bad", "ns/a1"}, false},
		"the name of another Kyma":        {failure{"R", "shared with one", "ns/a1"}, failure{"R", "shared with two", "ns/b1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := Signature(test.a.reason, test.a.message, test.a.kyma), Signature(test.b.reason, test.b.message, test.b.kyma)
			if test.same {
				require.Equal(t, a, b)
				return
			}
			require.NotEqual(t, a, b)
		})
	}
}

// More clusters would cause more requests to the registry.
func TestNoFurtherClusterIsReleasedWhileTheRegistryFails(t *testing.T) {
	r := rolloutOf()
	r.Spec.Plan.Concurrency = new(intstr.FromInt32(3))
	busy := Observation{Version: newer, State: shared.StateError, AwaitsRegistry: true, WasWell: true, Since: begun, Reason: "RegistryUnavailable", Message: "the registry answered with status 429"}
	old := Observation{Version: older, State: shared.StateReady}
	observations := []Observation{seenIn("", "a", busy), seenIn("", "b", old), seenIn("", "c", old), seenIn("", "d", old)}
	r.Status.Released = Position("keda", newer, observations[0].UID) + 1
	for i := range observations[1:] { // the clusters after it
		for Position("keda", newer, observations[i+1].UID) < r.Status.Released {
			observations[i+1].UID += "x"
		}
	}
	s := Situation{Now: begun, Desired: newer}
	o := Observe(r, observations, begun)
	require.Empty(t, o.Failures, "the version has not failed")
	status, until := Decide(r, o, s)
	require.Equal(t, v1beta2.RolloutProgressing, status.Phase)
	require.Equal(t, "the registry, for which 1 clusters of stage rest wait: the registry answered with status 429", status.WaitsFor)
	require.EqualValues(t, 1, status.Stages[0].Released)
	require.Zero(t, until, "the cluster has no deadline")

	observations[0].AwaitsRegistry, observations[0].State = false, shared.StateProcessing
	status, _ = Decide(r, Observe(r, observations, begun), s)
	require.EqualValues(t, 3, status.Stages[0].Released)
}
