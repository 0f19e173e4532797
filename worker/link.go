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
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
)

const (
	// lookEvery is how often the link to Temporal is looked at, and lookSoon how often until it works.
	lookEvery = 10 * time.Second
	lookSoon  = time.Second
	// lookTimeout bounds one look.
	lookTimeout = 5 * time.Second
	// pollsWithin is the time within which somebody who polls a task queue asks it again: an empty answer comes
	// after a minute.
	pollsWithin = 80 * time.Second
	// answerAfter is how many queries in a row may stay without an answer before nobody is taken to work.
	answerAfter = 2
)

// Temporal is what a Link asks; a client.Client is one.
type Temporal interface {
	operators
	DescribeTaskQueue(ctx context.Context, queue string, kind enumspb.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error)
	QueryWorkflow(ctx context.Context, workflowID, runID, queryType string, args ...any) (converter.EncodedValue, error)
}

// Link watches whether work can be done: Temporal answers, its namespace knows our search attributes, and somebody
// polls every task queue. It makes good what it can: search attributes that a lost or replaced database does not know
// are registered again. Every process has one, and is ready while its link works.
type Link struct {
	temporal  Temporal
	namespace string
	// works is true where this process has workers: then nobody has to be asked whether there are any.
	works bool
	log   logr.Logger
	now   func() time.Time

	up      prometheus.Gauge
	pollers *prometheus.GaugeVec

	// known is true while the search attributes are known to be there: what was registered just now may be listed only
	// after a moment.
	known      bool
	unanswered int

	mu      sync.Mutex
	problem error
	since   time.Time
}

var errNotLooked = errors.New("the connection to Temporal was not looked at yet")

// NewLink registers the metrics of a link. It makes no request.
func NewLink(temporal Temporal, namespace string, works bool, registry prometheus.Registerer, log logr.Logger) (*Link, error) {
	l := &Link{temporal: temporal, namespace: namespace, works: works, log: log, now: time.Now, problem: errNotLooked}
	l.up = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "lifecycle_mgr_temporal_up",
		Help: "1 while Temporal answers, knows our search attributes, and somebody polls every task queue.",
	})
	l.pollers = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lifecycle_mgr_task_queue_pollers",
		Help: "Workers of all processes that poll a task queue, by kind of task.",
	}, []string{"task_queue", "kind"})
	for _, each := range []prometheus.Collector{l.up, l.pollers} {
		if err := registry.Register(each); err != nil {
			return nil, fmt.Errorf("register the metrics of the link to Temporal: %w", err)
		}
	}
	return l, nil
}

// Start looks at the link until ctx is done. It implements manager.Runnable.
func (l *Link) Start(ctx context.Context) error {
	for {
		wait := lookEvery
		if l.look(ctx) != nil {
			wait = lookSoon
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// NeedLeaderElection is false: every process has a link of its own.
func (l *Link) NeedLeaderElection() bool { return false }

// Check implements healthz.Checker.
func (l *Link) Check(*http.Request) error {
	_, problem := l.Problem()
	return problem
}

// Problem is why no work can be done, nil while it can, and since when it is so; the time is zero before the first look.
func (l *Link) Problem() (since time.Time, problem error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since, l.problem
}

// look looks once, and says in log and metric what changed.
func (l *Link) look(ctx context.Context) error {
	lookCtx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	found := l.find(lookCtx)
	if ctx.Err() != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.problem
	if l.since.IsZero() || (before == nil) != (found == nil) {
		l.since = l.now()
	}
	l.problem = found
	l.up.Set(0)
	switch {
	case found == nil:
		l.up.Set(1)
		if before != nil {
			l.log.Info("Temporal answers, and all task queues are polled", "namespace", l.namespace)
		}
	case before == nil || before.Error() != found.Error():
		l.log.Error(found, "no work can be done")
	}
	return found
}

// find says what is wrong, the most important first.
func (l *Link) find(ctx context.Context) error {
	registered, err := EnsureSearchAttributes(ctx, l.temporal, l.namespace)
	if err != nil {
		return fmt.Errorf("Temporal cannot be used: %w", err)
	}
	if registered && l.known {
		l.log.Error(nil, "Temporal had lost our search attributes, registered them again: its database was lost or replaced", "namespace", l.namespace)
	}
	l.known = !registered
	for _, polled := range polledQueues() {
		if err := l.isPolled(ctx, polled); err != nil {
			return err
		}
	}
	return l.isAnswered(ctx)
}

// polledQueue is one kind of task on one task queue.
type polledQueue struct {
	name, kind string
	tasks      enumspb.TaskQueueType
}

// polledQueues are what workers poll.
func polledQueues() []polledQueue {
	return []polledQueue{
		{kick.ControlPlaneQueue, "workflow", enumspb.TASK_QUEUE_TYPE_WORKFLOW},
		{kick.ControlPlaneQueue, "activity", enumspb.TASK_QUEUE_TYPE_ACTIVITY},
		{kick.RemoteQueue, "activity", enumspb.TASK_QUEUE_TYPE_ACTIVITY},
		{kick.BackgroundQueue, "activity", enumspb.TASK_QUEUE_TYPE_ACTIVITY},
		{kick.SweepQueue, "workflow", enumspb.TASK_QUEUE_TYPE_WORKFLOW},
		{kick.SweepQueue, "activity", enumspb.TASK_QUEUE_TYPE_ACTIVITY},
	}
}

func (l *Link) isPolled(ctx context.Context, q polledQueue) error {
	described, err := l.temporal.DescribeTaskQueue(ctx, q.name, q.tasks)
	if err != nil {
		return fmt.Errorf("Temporal cannot be asked who polls the task queue %s: %w", q.name, err)
	}
	polling := 0
	for _, each := range described.GetPollers() {
		if l.now().Sub(each.GetLastAccessTime().AsTime()) < pollsWithin {
			polling++
		}
	}
	l.pollers.WithLabelValues(q.name, q.kind).Set(float64(polling))
	if polling == 0 {
		return fmt.Errorf("no worker polls the task queue %s for %s tasks", q.name, q.kind)
	}
	return nil
}

// isAnswered asks a workflow something, where this process has no workers itself: the server remembers for more than
// a minute who polled, but only somebody who polls answers.
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
	return fmt.Errorf("no worker answers on the task queue %s", kick.SweepQueue)
}
