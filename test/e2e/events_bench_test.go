package e2e

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/scale/record"
)

const (
	// editRounds of four edits each are one iteration. Up to a hundred edits, BENCHTIME=20x for some, p99 is the slowest.
	editRounds = 5
	// editRest is between two edits. They have some seven events in a round, and one in ten seconds is urgent: who edits faster
	// waits for the pace of a workflow's kicks, up to half a minute, which is not what is measured.
	editRest = 20 * time.Second
	// shortResync is an interval of the sweep of which many can be waited for.
	shortResync = 20 * time.Second
	// editPatience is how long an edit may take before the benchmark fails.
	editPatience = 2 * time.Minute
)

// BenchmarkEdit is how long it takes until what the owner of a remote cluster edits is done and said in the status of the remote
// Kyma: a module is enabled and becomes Ready, its custom resource has another state, the module is disabled and gone. The
// times are those of watches on the remote cluster. On the way: kicked, when the Kyma's workflow got a signal, and applied,
// when the enabled module's Deployment was created.
//
//   - events: the API server calls the agent, which reports to the listener. The next sweep is an hour away.
//   - pass: without events; a pass of the sweep begins with the edit, so that nothing waits for one.
//   - sweep: without events; edits are spread evenly over a short interval of the sweep.
func BenchmarkEdit(b *testing.B) {
	b.Run("events", func(b *testing.B) { playEdits(b, newWatched(b), evenly(0), nil) })
	b.Run("pass", func(b *testing.B) {
		w := newUnwatched(b, time.Hour)
		shard := kick.SweepWorkflowID(sweep.ShardOf(w.Kyma("watched").UID, sweep.DefaultShards))
		playEdits(b, w, evenly(0), func() {
			require.NoError(b, w.Temporal.SignalWorkflow(b.Context(), shard, "", kick.Signal, kick.Kick{Reason: "an edit"}))
		})
	})
	b.Run("sweep", func(b *testing.B) { playEdits(b, newUnwatched(b, shortResync), evenly(shortResync), nil) })
}

// newUnwatched starts an instance without events, and a Kyma.
func newUnwatched(b *testing.B, resync time.Duration) *watched {
	b.Helper()
	s := harness.NewEnvironment(b)
	s.SweepNever()
	s.Instance.Flags = append(s.Instance.Flags, "--resync-interval", resync.String())
	s.Push("test/modules/sample/1.0.0")
	s.Instance.Start()
	s.Create(harness.NewKyma("watched"))
	s.BecomesReady("watched")
	return &watched{Environment: s}
}

// evenly is how long to rest before each edit, so that edits are spread over an interval by the golden ratio: evenly, however
// many there are.
func evenly(interval time.Duration) func(edit int) time.Duration {
	return func(edit int) time.Duration {
		_, fraction := math.Modf(float64(edit) * math.Phi)
		return editRest + time.Duration(fraction*float64(interval))
	}
}

// edits are those of one benchmark.
type edits struct {
	*watched
	*testing.B

	remote client.WithWatch
	took   map[string][]time.Duration
}

// playEdits edits as often as the benchmark asks for, and reports how long that took. It calls edited, if there is one, right
// after each edit.
func playEdits(b *testing.B, w *watched, rest func(edit int) time.Duration, edited func()) {
	b.Helper()
	remote, err := client.NewWithWatch(cluster.AdminConfig(b, w.Remote.Kubeconfig), client.Options{Scheme: w.Remote.Scheme()})
	require.NoError(b, err)
	e := &edits{watched: w, B: b, remote: remote, took: map[string][]time.Duration{}}
	number := 0
	edit := func(what string, change func(), done func(*v1beta2.Kyma) bool) {
		time.Sleep(rest(number))
		number++
		e.measure(what, func() {
			change()
			if edited != nil {
				edited()
			}
		}, done)
	}
	for b.Loop() {
		for range editRounds {
			edit("enabled", func() { e.patchRemote(`{"spec":{"modules":[{"name":"sample"}]}}`) }, moduleIs(shared.StateReady))
			edit("state", func() { e.sample(`{"spec":{"desiredState":"Error"}}`) }, moduleIs(shared.StateError))
			edit("state", func() { e.sample(`{"spec":{"desiredState":"Ready"}}`) }, moduleIs(shared.StateReady))
			edit("disabled", func() { e.patchRemote(`{"spec":{"modules":[]}}`) }, func(kyma *v1beta2.Kyma) bool {
				return kyma.Status.State == shared.StateReady && len(kyma.Status.Modules) == 0
			})
		}
	}
	b.ReportMetric(0, "ns/op") // mostly rests
	for what, took := range e.took {
		latency := record.LatencyOf(took)
		b.Logf("%s: %+v", what, latency)
		b.ReportMetric(latency.P50, what+"-p50-s")
		b.ReportMetric(latency.P99, what+"-p99-s")
	}
}

// moduleIs tells whether a Kyma and its only module have a state.
func moduleIs(state shared.State) func(*v1beta2.Kyma) bool {
	return func(kyma *v1beta2.Kyma) bool {
		return kyma.Status.State == state && len(kyma.Status.Modules) == 1 && kyma.Status.Modules[0].State == state
	}
}

// patchRemote edits the remote Kyma in one request, without triggering a sweep.
func (e *edits) patchRemote(patch string) {
	e.Helper()
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: harness.RemoteNamespace, Name: "default"}}
	require.NoError(e, e.Remote.Patch(e.Context(), kyma, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// measure makes an edit and waits until the remote Kyma's status says that it is done.
func (e *edits) measure(what string, edit func(), done func(*v1beta2.Kyma) bool) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), editPatience)
	defer cancel()
	said := e.first(ctx, "default", &v1beta2.KymaList{}, func(object any) bool {
		kyma, ok := object.(*v1beta2.Kyma)
		return ok && done(kyma)
	})
	var applied <-chan time.Time
	if what == "enabled" {
		applied = e.first(ctx, "sample-operator", &appsv1.DeploymentList{}, func(any) bool { return true })
	}
	begun := time.Now()
	note := func(what string, at <-chan time.Time) {
		when, ok := <-at
		if !ok {
			e.Instance.PrintLog()
			require.FailNow(e, "the edit is not acted on in time", what)
		}
		e.took[what] = append(e.took[what], when.Sub(begun))
	}
	edit()
	note(what, said)
	if applied != nil {
		note("applied", applied)
	}
	e.noteKick(begun)
}

// first is when a watch first shows an object of this name that matches. The channel is closed without it where the watch ends
// before.
func (e *edits) first(ctx context.Context, name string, list client.ObjectList, matches func(object any) bool) <-chan time.Time {
	e.Helper()
	watching, err := e.remote.Watch(ctx, list, client.InNamespace(harness.RemoteNamespace), client.MatchingFields{"metadata.name": name})
	require.NoError(e, err)
	found := make(chan time.Time, 1)
	go func() {
		defer close(found)
		defer watching.Stop()
		for event := range watching.ResultChan() {
			if event.Type != watch.Deleted && matches(event.Object) {
				found <- time.Now()
				return
			}
		}
	}()
	return found
}

// noteKick notes when the Kyma's workflow got its first signal after an edit, unless it has continued as new since.
func (e *edits) noteKick(begun time.Time) {
	e.Helper()
	events := e.History(kick.KymaWorkflowID(kick.RefOf(e.Kyma("watched")))).GetEvents()
	if events[0].GetEventTime().AsTime().After(begun) {
		return
	}
	for _, event := range events {
		if at := event.GetEventTime().AsTime(); at.After(begun) && event.GetWorkflowExecutionSignaledEventAttributes() != nil {
			e.took["kicked"] = append(e.took["kicked"], at.Sub(begun))
			return
		}
	}
}
