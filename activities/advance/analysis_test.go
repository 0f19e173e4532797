package advance

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// prometheus is an in-memory Prometheus. It answers each query with a value, or fails.
type prometheus struct {
	mutex  sync.Mutex
	asked  []string
	values map[string]float64
	fails  error
	hangs  bool
}

func (p *prometheus) Query(ctx context.Context, query string) ([]rollout.Sample, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.asked = append(p.asked, query)
	if p.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return []rollout.Sample{{Value: p.values[query]}}, p.fails
}

// questions returns the queries since the last call, in order.
func (p *prometheus) questions() []string {
	asked := p.asked
	p.asked = nil
	slices.Sort(asked)
	return asked
}

// analysed returns a rollout with a canary stage that soaks for an hour and has two queries. The canary already has the
// version.
func analysed(t *testing.T) (*bench, *prometheus, *v1beta2.ModuleRollout, *v1beta2.Kyma) {
	t.Helper()
	first, _, objects := fleetOf()
	r := rolloutTo("1.1.0", func(r *v1beta2.ModuleRollout) {
		r.Spec.Plan.Stages[0].Soak = &metav1.Duration{Duration: time.Hour}
		r.Spec.Plan.Stages[0].Analysis = []v1beta2.RolloutAnalysis{{Name: "errors", Query: "errors_$version", Max: "0.05"}, {Name: "up", Query: "up", Min: "1"}}
	})
	b := newBench(t, append(objects, r)...)
	p := &prometheus{values: map[string]float64{"errors_1.1.0": 0.01, "up": 1}}
	b.Prometheus = p
	b.step(r)
	require.Empty(t, p.questions(), "the stage has not settled")
	b.upgrade(first, "1.1.0")
	return b, p, r, first
}

func TestQueriesRunWhenTheyAreDue(t *testing.T) {
	b, p, r, _ := analysed(t)
	out := b.step(r)
	require.Equal(t, "Soaking", out.Phase)
	require.Equal(t, begun.Add(5*time.Minute), out.Until)
	require.Equal(t, []string{"errors_1.1.0", "up"}, p.questions(), "once in a step")
	require.Equal(t, v1beta2.AnalysisPassed, r.Status.Stages[0].Analysis[0].State)
	require.Equal(t, "0.01", r.Status.Stages[0].Analysis[0].Value)
	require.True(t, r.Status.WaitsUntil.Time.Equal(begun.Add(time.Hour)))
	writes := len(b.writes)

	b.now = begun.Add(4 * time.Minute)
	require.Equal(t, begun.Add(5*time.Minute), b.step(r).Until, "a step for a cluster does not delay the next queries")
	require.Empty(t, p.questions())

	p.values["errors_1.1.0"] = 0.02
	b.now = begun.Add(5 * time.Minute)
	require.Equal(t, begun.Add(10*time.Minute), b.step(r).Until)
	require.Len(t, p.questions(), 2)
	require.Len(t, b.writes, writes, "there is no change to write")

	b.now = begun.Add(58 * time.Minute)
	require.Equal(t, begun.Add(time.Hour), b.step(r).Until)
	require.Len(t, p.questions(), 2)
	b.now = begun.Add(time.Hour)
	require.Equal(t, "rest", b.step(r).Stage)
	require.Len(t, p.questions(), 2, "at the end the queries run regardless of the interval")
	b.now = b.now.Add(10 * time.Minute)
	b.step(r)
	require.Empty(t, p.questions(), "the stage is over")
}

func TestAnEditOfTheRolloutRunsItsQueriesAgain(t *testing.T) {
	b, p, r, _ := analysed(t)
	b.step(r)
	p.questions()
	r.Generation++
	require.NoError(t, b.Update(t.Context(), r))
	b.step(r)
	require.Len(t, p.questions(), 2)
}

func TestAQueryOutOfBoundsHoldsTheRolloutUntilItRecovers(t *testing.T) {
	b, p, r, _ := analysed(t)
	p.values["errors_1.1.0"] = 0.2
	b.recorded()
	out := b.step(r)
	require.Equal(t, "Held", out.Phase)
	require.Contains(t, out.WaitsFor, "query errors of stage canary returns 0.2 with version 1.1.0; allowed: at most 0.05")
	require.Equal(t, begun.Add(5*time.Minute), out.Until)
	require.Len(t, b.recorded(), 1)
	p.questions()

	p.values["errors_1.1.0"] = 0.3
	writes := len(b.writes)
	b.now = begun.Add(5 * time.Minute)
	require.Equal(t, out.WaitsFor, b.step(r).WaitsFor)
	require.Len(t, b.writes, writes)
	require.Len(t, p.questions(), 2)

	p.values["errors_1.1.0"] = 0
	b.now = begun.Add(10 * time.Minute)
	require.Equal(t, "Soaking", b.step(r).Phase)
	require.True(t, r.Status.WaitsUntil.Time.Equal(begun.Add(70*time.Minute)), "the soak time starts again")
}

func TestAStageWaitsForAnswersOfItsQueries(t *testing.T) {
	b, p, r, _ := analysed(t)
	p.fails = errors.New("no answer from Prometheus within 10s")
	b.step(r)
	b.now = begun.Add(time.Hour)
	out := b.step(r)
	require.Equal(t, "Soaking", out.Phase)
	require.Equal(t, "the analysis of stage canary, query errors, asked every 5m0s: no answer from Prometheus within 10s. To continue without it, set spec.skipAnalysis", out.WaitsFor)
	require.Equal(t, b.now.Add(5*time.Minute), out.Until)

	r.Spec.SkipAnalysis = []string{"canary"}
	r.Generation++
	require.NoError(t, b.Update(t.Context(), r))
	require.Equal(t, "rest", b.step(r).Stage)
}

func TestARolloutReportsThatNoPrometheusIsConfigured(t *testing.T) {
	b, _, r, _ := analysed(t)
	b.Prometheus = nil
	b.step(r)
	b.now = begun.Add(time.Hour)
	require.Contains(t, b.step(r).WaitsFor, NoPrometheus)
}

func TestAnInterruptedStepCachesNoAnswers(t *testing.T) {
	b, p, r, _ := analysed(t)
	p.hangs = true
	writes := len(b.writes)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := b.AdvanceRollout(ctx, In{Ref: kick.RefOf(r)})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Len(t, b.writes, writes)
	require.NoError(t, b.Get(t.Context(), client.ObjectKeyFromObject(r), r))
	require.Empty(t, r.Status.Stages[0].Analysis)

	p.hangs = false
	p.questions()
	require.Equal(t, "Soaking", b.step(r).Phase)
	require.Len(t, p.questions(), 2, "nothing was cached")
}

func TestAnswersAreForgottenAfterTheirInterval(t *testing.T) {
	b, _, r, _ := analysed(t)
	b.step(r)
	require.Len(t, b.asked.by, 1)
	other := r.DeepCopy()
	other.UID = "other"
	b.asked.note(other, &rollout.Ask{Interval: time.Minute}, rollout.Analysis{At: begun.Add(6 * time.Minute)})
	require.Len(t, b.asked.by, 1)
	require.Contains(t, b.asked.by, other.UID)
}
