package kyma

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
)

const (
	// maxWatches bounds how many activities of one Kyma read modules at the same time.
	maxWatches = 4
	// minGather is how long the first watch collects news of other modules after the first news. The time doubles
	// with each watch that ends before all modules have settled, up to maxGather.
	minGather = 2 * time.Second
	maxGather = 16 * time.Second
)

// watch is an activity that reads modules until there is news of them. It only reads, so no step waits for its end.
type watch struct {
	modules []*moduleRun
	cancel  func()
}

// watchModules is the coroutine that starts watches for modules that wait for news. One activity reads all modules
// that begin to wait in the same task.
func (r *run) watchModules(ctx workflow.Context) {
	for !r.stopping {
		if err := workflow.Await(ctx, func() bool { return r.stopping || slices.ContainsFunc(r.modules, (*moduleRun).isUnwatched) }); err != nil {
			return
		}
		if r.stopping {
			return
		}
		if len(r.watches) == maxWatches {
			r.endWatch(r.watches[maxWatches-1])
		}
		r.startWatch(ctx)
	}
}

// isUnwatched reports whether the module waits for news, but no watch reads it.
func (m *moduleRun) isUnwatched() bool { return m.followed && m.watch == nil && m.news == nil }

// startWatch starts a watch for all unwatched modules.
func (r *run) startWatch(ctx workflow.Context) {
	if slices.ContainsFunc(r.modules, func(m *moduleRun) bool { return m.isUnwatched() && m.watchedBefore }) {
		r.gather = min(2*r.gather, maxGather)
	} else {
		r.gather = minGather
	}
	w := &watch{}
	in := install.FollowInput{Gather: r.gather}
	var refs []kick.Ref
	for _, m := range r.modules {
		if m.isUnwatched() {
			m.watch, m.watchedBefore = w, true
			w.modules, refs = append(w.modules, m), append(refs, m.Ref)
			in.Modules = append(in.Modules, install.Followed{
				Ref: m.Ref, Reported: m.state.Reported.Compared(), Since: m.state.ReportedAt, Shown: m.state.Shown,
			})
		}
	}
	r.watches = append(r.watches, w)
	ctx, w.cancel = workflow.WithCancel(attempts.Waiting(ctx, fault.Shorten("wait for "+r.names(refs), attempts.MaxSummary)))
	future := workflow.ExecuteActivity(ctx, r.installs.FollowModules, in)
	workflow.GoNamed(ctx, "watch", func(ctx workflow.Context) {
		var news []install.ModuleNews
		err := future.Get(ctx, &news)
		if !slices.Contains(r.watches, w) {
			return // The watch has been ended: ignore its answer.
		}
		// A module may have been interrupted and now wait for another watch, in another state.
		waiting := slices.DeleteFunc(slices.Clone(w.modules), func(m *moduleRun) bool { return m.watch != w })
		r.endWatch(w)
		if temporal.IsCanceledError(err) || attempts.DeadlinePassed(err) {
			return
		}
		for _, m := range waiting {
			if at := slices.IndexFunc(news, func(n install.ModuleNews) bool { return n.Ref == m.Ref }); at >= 0 {
				m.news = &news[at]
			} else if err != nil {
				m.news = &install.ModuleNews{Ref: m.Ref, Fault: fault.FromTemporal(err)}
			}
		}
	})
}

// endWatch ends a watch. The next watch reads the modules that still wait.
func (r *run) endWatch(w *watch) {
	for _, m := range w.modules {
		if m.watch == w {
			m.watch = nil
		}
	}
	r.watches = slices.DeleteFunc(r.watches, func(other *watch) bool { return other == w })
	w.cancel()
}

// awaitNews waits for news of the module. It returns nil if a kick is due first.
func (m *moduleRun) awaitNews(ctx workflow.Context) (*install.ModuleNews, error) {
	m.followed, m.watchedBefore, m.news = true, false, nil
	for m.news == nil && !m.kyma.stopping && !m.IsDue(ctx) {
		if err := m.sleep(ctx, func() bool { return m.news != nil || m.kyma.stopping }); err != nil {
			return nil, err
		}
		m.Drain()
	}
	news := m.news
	if m.followed, m.news = false, nil; m.IsDue(ctx) {
		news = nil // Another step comes first.
	}
	if w := m.watch; w != nil {
		// Other modules may still wait for news of the same watch.
		if m.watch = nil; !slices.ContainsFunc(w.modules, func(other *moduleRun) bool { return other.watch == w }) {
			m.kyma.endWatch(w)
		}
	}
	return news, nil
}
