package collectors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
	"github.com/kyma-project/lifecycle-manager/internal/platform/visibility"
)

// passPage is the page size for reading a sweep's history, and passPages the maximum number of pages. A pass takes a
// few events.
const passPage, passPages = 20, 5

// mostHeld bounds how many paused and failing workflows are listed.
const mostHeld = 1000

// WorkflowsOptions configure Workflows.
type WorkflowsOptions struct {
	Temporal  workflowservice.WorkflowServiceClient
	Namespace string
	// Shards and Interval are those of the sweep.
	Shards   int
	Interval time.Duration
	Log      logr.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Workflows exports how many workflows are open, how many make no progress, and how far the sweep is behind. The leader
// asks Temporal once a minute; a scrape asks nothing. Values that could not be read are not exported.
type Workflows struct {
	WorkflowsOptions
	open, held, lag, interval *prometheus.Desc

	mu    sync.Mutex
	began time.Time
	// counts holds the number of open workflows by type; nil if unknown.
	counts map[string]int64
	// onHold holds the workflows that make no progress until somebody intervenes; nil if unknown.
	onHold []visibility.HeldWorkflow
	// passed is when the last pass ended, in the shard with the longest gap; zero if unknown.
	passed time.Time
}

// NewWorkflows returns a collector. A manager must run it.
func NewWorkflows(o WorkflowsOptions) *Workflows {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Workflows{WorkflowsOptions: o, open: metrics.OpenWorkflows(), held: metrics.HeldWorkflows(), lag: metrics.SweepLag(), interval: metrics.SweepInterval()}
}

// Start polls until ctx is done. Each poll asks for a count per workflow type and a page of history per shard of the
// sweep. It implements manager.Runnable.
func (w *Workflows) Start(ctx context.Context) error {
	w.mu.Lock()
	w.began = w.Now()
	w.mu.Unlock()
	poll(ctx, w.Log, "count workflows and read the sweeps' histories, will try again", w.ask)
	return nil
}

// NeedLeaderElection returns true, because only the leader exports these metrics.
func (w *Workflows) NeedLeaderElection() bool { return true }

// ask asks Temporal once.
func (w *Workflows) ask(ctx context.Context) error {
	counts, countErr := w.count(ctx)
	found, heldErr := w.findHeld(ctx)
	passed, passErr := w.lastPass(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts, w.onHold, w.passed = counts, found, passed
	return errors.Join(countErr, heldErr, passErr)
}

func (w *Workflows) count(ctx context.Context) (map[string]int64, error) {
	counts := map[string]int64{}
	for _, each := range kick.Workflows() {
		counted, err := visibility.Ask(visibility.Open(each), func(query string) (*workflowservice.CountWorkflowExecutionsResponse, error) {
			return w.Temporal.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: w.Namespace, Query: query})
		})
		if err != nil {
			return nil, fmt.Errorf("count open workflows of type %s: %w", each, err)
		}
		counts[each] = counted.GetCount()
	}
	return counts, nil
}

// findHeld lists the workflows that make no progress until somebody intervenes, up to mostHeld. It returns nil if the
// server does not support the query.
func (w *Workflows) findHeld(ctx context.Context) ([]visibility.HeldWorkflow, error) {
	held, err := visibility.Ask(visibility.Held(kick.Workflows()...), func(query string) ([]visibility.HeldWorkflow, error) {
		found, err := w.Temporal.ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: w.Namespace, Query: query, PageSize: mostHeld})
		held := make([]visibility.HeldWorkflow, 0, len(found.GetExecutions()))
		for _, each := range found.GetExecutions() {
			held = append(held, visibility.HeldOf(each))
		}
		return held, err
	})
	if err != nil {
		return nil, fmt.Errorf("list paused and failing workflows: %w", err)
	}
	return held, nil
}

// Held returns the workflows that made no progress at the last poll.
func (w *Workflows) Held() []visibility.HeldWorkflow {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.onHold
}

// lastPass returns when the last pass ended, in the shard with the longest gap.
func (w *Workflows) lastPass(ctx context.Context) (time.Time, error) {
	oldest := time.Time{}
	for shard := range w.Shards {
		ended, err := w.lastPassOf(ctx, shard)
		if err != nil {
			return time.Time{}, fmt.Errorf("read the history of the sweep of shard %d: %w", shard, err)
		}
		oldest = kick.Earliest(oldest, ended)
	}
	return oldest, nil
}

// lastPassOf returns when a shard's last pass ended. If the present run has no pass, or none within the pages read, it
// returns the time of the oldest event read. If there is no run, it returns when this process began.
func (w *Workflows) lastPassOf(ctx context.Context, shard int) (time.Time, error) {
	request := &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: w.Namespace, Execution: &common.WorkflowExecution{WorkflowId: kick.SweepWorkflowID(shard)}, MaximumPageSize: passPage,
	}
	var seen time.Time
	for range passPages {
		page, err := w.Temporal.GetWorkflowExecutionHistoryReverse(ctx, request)
		if _, ok := errors.AsType[*serviceerror.NotFound](serviceerror.FromStatus(serviceerror.ToStatus(err))); ok {
			return w.began, nil
		}
		if err != nil {
			return time.Time{}, err
		}
		for _, event := range page.GetHistory().GetEvents() {
			seen = event.GetEventTime().AsTime()
			if event.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED {
				return seen, nil
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	return seen, nil
}

// Describe implements prometheus.Collector.
func (w *Workflows) Describe(descriptions chan<- *prometheus.Desc) {
	for _, each := range []*prometheus.Desc{w.open, w.held, w.lag, w.interval} {
		descriptions <- each
	}
}

// Collect implements prometheus.Collector.
func (w *Workflows) Collect(out chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.IsZero() {
		return
	}
	gauge := func(of *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
	}
	gauge(w.interval, w.Interval.Seconds())
	for name, count := range w.counts {
		gauge(w.open, float64(count), name)
	}
	w.collectHeld(gauge)
	if !w.passed.IsZero() {
		gauge(w.lag, max(w.Now().Sub(w.passed), 0).Seconds())
	}
}

func (w *Workflows) collectHeld(gauge func(of *prometheus.Desc, value float64, labels ...string)) {
	if w.onHold == nil {
		return
	}
	paused, failing := map[string]float64{}, map[string]float64{}
	for _, each := range w.onHold {
		if each.IsPaused() {
			paused[each.Type]++
		} else {
			failing[each.Type]++
		}
	}
	for _, name := range kick.Workflows() {
		gauge(w.held, paused[name], name, "Paused")
		gauge(w.held, failing[name], name, "ReportedProblems")
	}
}
