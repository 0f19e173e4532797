package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
	"github.com/kyma-project/lifecycle-manager/internal/platform/persistent"
	"github.com/kyma-project/lifecycle-manager/worker/taskqueues"
)

const (
	// checkEvery is how often the link to Temporal is checked, checkSoon how often while it does not work.
	checkEvery = 10 * time.Second
	checkSoon  = time.Second
	// checkTimeout bounds one check.
	checkTimeout = 5 * time.Second
	// startsWithin is how long it may take until Temporal knows that the workers of this process poll.
	startsWithin = 5 * time.Second
	// answerAfter is how many queries in a row must stay unanswered before workers count as missing.
	answerAfter = 2
)

// Temporal is the part of client.Client that a Link needs.
type Temporal interface {
	operators
	WorkflowService() workflowservice.WorkflowServiceClient
	QueryWorkflow(ctx context.Context, workflowID, runID, queryType string, args ...any) (converter.EncodedValue, error)
}

// Link watches whether this instance can do work: Temporal answers, its namespace has our search attributes, and
// workers poll every task queue. If a lost or replaced database does not know the search attributes, Link registers
// them again. Every process has a Link, and is ready while its Link works.
type Link struct {
	temporal  Temporal
	namespace string
	// works is true if this process has workers. It then does not need to query whether workers answer.
	works bool
	log   logr.Logger
	now   func() time.Time

	metrics *metrics.Link

	// known is true once the search attributes are known to exist. Newly registered ones may take a moment to appear
	// in the list.
	known      bool
	unanswered int

	mu      sync.Mutex
	problem error
	since   time.Time
	began   time.Time
	fault   persistent.Fault
}

var errNotChecked = errors.New("the connection to Temporal has not been checked yet")

// NewLink registers the metrics of a link. It makes no requests.
func NewLink(temporal Temporal, namespace string, works bool, registry prometheus.Registerer, log logr.Logger) (*Link, error) {
	measured, err := metrics.NewLink(registry)
	if err != nil {
		return nil, err
	}
	return &Link{
		temporal: temporal, namespace: namespace, works: works, log: log, now: time.Now, metrics: measured, problem: errNotChecked,
	}, nil
}

// Start checks the link until ctx is done. It implements manager.Runnable.
func (l *Link) Start(ctx context.Context) error {
	for {
		wait := checkEvery
		if l.check(ctx) != nil {
			wait = checkSoon
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// NeedLeaderElection returns false: every process has its own link.
func (l *Link) NeedLeaderElection() bool { return false }

// Check implements healthz.Checker.
func (l *Link) Check(*http.Request) error {
	_, problem := l.Problem()
	return problem
}

// Problem returns why no work can be done, or nil, and since when. The time is zero before the first check, and while
// the workers of this process start.
func (l *Link) Problem() (since time.Time, problem error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since, l.problem
}

// check checks the link once, and records changes in the log and metrics.
func (l *Link) check(ctx context.Context) error {
	checkCtx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	found := l.find(checkCtx)
	if ctx.Err() != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.problem
	if l.began.IsZero() {
		l.began = l.now()
	}
	starting := l.since.IsZero() && l.works && errors.Is(found, taskqueues.ErrNoWorker) && l.now().Sub(l.began) < startsWithin
	if !starting && (l.since.IsZero() || (before == nil) != (found == nil)) {
		l.since = l.now()
	}
	l.problem = found
	l.metrics.Up.Set(0)
	if found == nil {
		l.metrics.Up.Set(1)
		if before != nil {
			l.log.Info("Temporal answers, and all task queues are polled", logkey.TemporalNamespace, l.namespace)
		}
	}
	l.fault.Log(l.log, l.now(), found, errors.Is(found, taskqueues.ErrNoWorker), "no work can be done")
	return found
}

// find returns the most important problem.
func (l *Link) find(ctx context.Context) error {
	registered, err := EnsureSearchAttributes(ctx, l.temporal, l.namespace)
	if err != nil {
		return fmt.Errorf("Temporal cannot be used: %w", err)
	}
	if registered && l.known {
		l.log.Error(nil, "Temporal's database was lost or replaced: registered the missing search attributes again", logkey.TemporalNamespace, l.namespace)
	}
	l.known = !registered
	for _, polled := range taskqueues.All() {
		if err := l.isPolled(ctx, polled); err != nil {
			return err
		}
	}
	return l.isAnswered(ctx)
}

func (l *Link) isPolled(ctx context.Context, q taskqueues.Queue) error {
	described, err := taskqueues.Describe(ctx, l.temporal.WorkflowService(), l.namespace, q, l.now())
	if err != nil {
		return err
	}
	l.metrics.Pollers.WithLabelValues(q.Name, q.Kind).Set(float64(len(described.Pollers)))
	if described.Stats != nil {
		l.metrics.BacklogAge.WithLabelValues(q.Name, q.Kind).Set(described.Stats.GetApproximateBacklogAge().AsDuration().Seconds())
		l.metrics.BacklogTasks.WithLabelValues(q.Name, q.Kind).Set(float64(described.Stats.GetApproximateBacklogCount()))
	}
	return described.Unpolled(q)
}

// isAnswered sends a query to a workflow if this process has no workers. The server remembers pollers for more than a
// minute, but only a running worker answers a query.
func (l *Link) isAnswered(ctx context.Context) error {
	if l.works {
		return nil
	}
	_, err := l.temporal.QueryWorkflow(ctx, kick.SweepWorkflowID(0), "", "__temporal_workflow_metadata")
	var nobody *serviceerror.FailedPrecondition
	var late *serviceerror.DeadlineExceeded
	if !errors.As(err, &nobody) && !errors.As(err, &late) && ctx.Err() == nil {
		l.unanswered = 0
		return nil
	}
	l.unanswered++
	if l.unanswered < answerAfter {
		return nil
	}
	return fmt.Errorf("%w answers on the task queue %s", taskqueues.ErrNoWorker, kick.SweepQueue)
}
