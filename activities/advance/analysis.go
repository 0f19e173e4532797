package advance

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// Prometheus answers queries. Package analysis implements it. Its errors are written for people.
type Prometheus interface {
	Query(ctx context.Context, query string) ([]rollout.Sample, error)
}

// NoPrometheus is the reason for not asking queries if no Prometheus is configured.
const NoPrometheus = "no Prometheus is configured (--rollout-prometheus-url)"

// analyse queries Prometheus for the stages whose analysis decides about the next step.
func (a *Activities) analyse(ctx context.Context, r *v1beta2.ModuleRollout, o rollout.Observed, s *rollout.Situation) error {
	if a.Prometheus == nil {
		s.NoAnalysis = NoPrometheus
		return nil
	}
	s.Analyses = map[int]rollout.Analysis{}
	for { // after a stage has passed, the next stage may have queries
		ask := rollout.ToAsk(r, o, *s)
		if ask == nil {
			return nil
		}
		analysis, known := a.asked.of(r, ask, s.Now)
		if !known {
			analysis = rollout.Analysis{At: s.Now, Answers: a.answers(ctx, ask.Queries)}
			if ctx.Err() != nil {
				return ctx.Err() // this attempt has ended, which says nothing about Prometheus
			}
			a.asked.note(r, ask, analysis)
		}
		s.Analyses[ask.Stage] = analysis
	}
}

// answers runs all queries of a stage in parallel.
func (a *Activities) answers(ctx context.Context, queries []string) []rollout.Answer {
	answers := make([]rollout.Answer, len(queries))
	var all sync.WaitGroup
	for i, query := range queries {
		all.Go(func() {
			samples, err := a.Prometheus.Query(ctx, query)
			answers[i] = rollout.Answer{Samples: samples}
			if err != nil {
				answers[i] = rollout.Answer{Problem: err.Error()}
			}
		})
	}
	all.Wait()
	return answers
}

// asked caches answers in this process, so that the queries of a rollout run once per interval, no matter how many
// clusters cause steps. If an answer is not cached, the query runs again.
type asked struct {
	mutex sync.Mutex
	by    map[types.UID]remembered
}

type remembered struct {
	generation int64
	stage      int
	analysis   rollout.Analysis
	until      time.Time
}

// of returns the cached answers if they are recent enough. An edit of the rollout invalidates them.
func (a *asked) of(r *v1beta2.ModuleRollout, ask *rollout.Ask, now time.Time) (rollout.Analysis, bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	known, has := a.by[r.UID]
	return known.analysis, has && known.generation == r.Generation && known.stage == ask.Stage && ask.Takes(known.analysis, now)
}

func (a *asked) note(r *v1beta2.ModuleRollout, ask *rollout.Ask, analysis rollout.Analysis) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.by == nil {
		a.by = map[types.UID]remembered{}
	}
	for uid, known := range a.by {
		if !analysis.At.Before(known.until) {
			delete(a.by, uid)
		}
	}
	a.by[r.UID] = remembered{r.Generation, ask.Stage, analysis, analysis.At.Add(ask.Interval)}
}
