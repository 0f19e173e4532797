package advance

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// Prometheus answers queries; package analysis has one. Its errors are for people.
type Prometheus interface {
	Query(ctx context.Context, query string) ([]rollout.Sample, error)
}

// NoPrometheus says why no query can be asked where no Prometheus is configured.
const NoPrometheus = "no Prometheus is configured (--rollout-prometheus-url)"

// analyse finds out what Prometheus says of the stages whose analysis decides about the next step.
func (a *Activities) analyse(ctx context.Context, r *v1beta2.ModuleRollout, o rollout.Observed, s *rollout.Situation) error {
	if a.Prometheus == nil {
		s.NoAnalysis = NoPrometheus
		return nil
	}
	s.Analyses = map[int]rollout.Analysis{}
	for { // a stage that is over lets the next one be asked about
		ask := rollout.ToAsk(r, o, *s)
		if ask == nil {
			return nil
		}
		analysis, known := a.asked.of(r, ask, s.Now)
		if !known {
			analysis = rollout.Analysis{At: s.Now, Answers: a.answers(ctx, ask.Queries)}
			if ctx.Err() != nil {
				return ctx.Err() // this attempt is over, and that says nothing of Prometheus
			}
			a.asked.note(r, ask, analysis)
		}
		s.Analyses[ask.Stage] = analysis
	}
}

// answers asks all queries of a stage at once.
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

// asked remembers the answers of this process, so that the queries of a rollout are asked once in their interval, however
// often clusters have it take a step. What is not remembered is asked once more.
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

// of are the answers to what is to be asked, where they are known and recent enough. An edit of the rollout has all asked anew.
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
