package kyma

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/pace"
)

// stopTimeout is how long a run that continues as new waits for the steps of its modules before it cancels them.
const stopTimeout = 30 * time.Second

// route returns the box of the module that a kick requests a step for. It returns nil for a kick about the Kyma.
func (r *run) route(k kick.Kick) *mailbox.Box {
	if !k.Work || k.UID == "" {
		return nil
	}
	m := r.module(k.Manifest())
	if k.IfIdle && m.running && (m.state.Deleting || !k.Deleting) {
		return &mailbox.Box{} // The module is being worked on, so the kick is not needed.
	}
	return m.Box
}

// install installs the Manifests that have new inputs, unless the background activity has installed them, and starts
// the remaining work on modules. A module that cannot be installed within the workflow task is installed by its own
// coroutine.
func (r *run) install(ctx workflow.Context, res resolve.Result, installed []install.Installed) {
	since := r.Since
	if since.IsZero() {
		since = workflow.Now(ctx) // No watcher saw the change before this reconcile.
	}
	if idle := r.idle(res.Begin); len(idle) > 0 && !r.Background {
		_ = r.Local.Install(ctx, r.Why("install or upgrade "+r.names(idle)), r.installs.InstallModules, install.ModulesInput{Manifests: idle, Since: since}, &installed)
	}
	r.applied = len(installed) > 0 && len(installed) == len(res.Begin)
	r.settled = len(installed) > 0 && background.Settled(res, installed)
	for _, one := range installed {
		m := r.module(one.Ref)
		if one.Later || m.running {
			r.applied, r.settled = false, false
			continue
		}
		if k := one.Result.Kick; k != nil {
			r.noteNewest(k.Kind, k.ResourceVersion)
			if !k.Whole {
				one.Result.Kick = nil // The report of this reconcile follows.
			}
		}
		m.installed = &one.Result
	}
	r.begin(res.Begin, kick.Kick{Reason: "Manifest changed", Urgent: !r.Background}.SeenAt(since))
	r.begin(res.Unsettled, kick.Kick{Reason: "Manifest is not settled", IfIdle: true})
	r.begin(res.Removing, kick.Kick{Reason: "Manifest is being deleted", Urgent: true, Deleting: true, IfIdle: true})
}

// busy returns the Manifests that have a running coroutine.
func (r *run) busy() []kick.Ref {
	var all []kick.Ref
	for _, m := range r.modules {
		if m.running {
			all = append(all, m.Ref)
		}
	}
	return all
}

// idle returns the Manifests that have no running coroutine.
func (r *run) idle(manifests []kick.Ref) []kick.Ref {
	busy := r.busy()
	return slices.DeleteFunc(slices.Clone(manifests), func(ref kick.Ref) bool { return slices.Contains(busy, ref) })
}

// names returns the first module's name and the number of the others, for summaries.
func (r *run) names(manifests []kick.Ref) string {
	name := manifests[0].Name
	if m := slices.IndexFunc(r.modules, func(m *moduleRun) bool { return m.Ref == manifests[0] }); m >= 0 {
		name = r.modules[m].name()
	}
	if more := len(manifests) - 1; more > 0 {
		name += fmt.Sprintf(" and %d more", more)
	}
	return name
}

// begin starts the work on Manifests. With IfIdle, it skips a Manifest that is being worked on.
func (r *run) begin(manifests []kick.Ref, k kick.Kick) {
	for _, ref := range manifests {
		k.Work, k.Namespace, k.Name, k.UID = true, ref.Namespace, ref.Name, ref.UID
		r.route(k).Put(k)
	}
}

// module returns the work on a Manifest, and adds it if needed. The work does not start before its box has a kick.
func (r *run) module(ref kick.Ref) *moduleRun {
	at, found := slices.BinarySearchFunc(r.modules, ref, func(m *moduleRun, ref kick.Ref) int { return compareRefs(m.Ref, ref) })
	if !found {
		r.modules = slices.Insert(r.modules, at, newModuleRun(r, ref))
	}
	return r.modules[at]
}

// compareRefs orders Manifests by name and UID, so that decisions never depend on the order of a map.
func compareRefs(a, b kick.Ref) int {
	if order := strings.Compare(a.Name, b.Name); order != 0 {
		return order
	}
	return strings.Compare(string(a.UID), string(b.UID))
}

// resumeModules restores the work that an earlier run carried.
func (r *run) resumeModules() {
	for i := range r.state.Modules {
		carried := r.state.Modules[i]
		m := r.module(carried.Ref)
		m.resumeFrom(carried)
	}
}

// work starts the coroutines of modules. Each starts with a kick and ends when its Manifest has settled. So a module
// that hangs delays neither the Kyma's own reconciles nor other modules.
func (r *run) work(ctx workflow.Context) {
	for !r.stopping {
		if err := workflow.Await(ctx, func() bool {
			r.Post.Sort()
			return r.stopping || slices.ContainsFunc(r.modules, (*moduleRun).isToBegin)
		}); err != nil {
			return
		}
		for _, m := range r.modules {
			if m.isToBegin() && !r.stopping {
				m.running = true
				workflow.GoNamed(ctx, "module "+m.Ref.Name, m.live)
			}
		}
	}
}

// pacedModule is the pace of a module without work.
type pacedModule struct {
	ref  kick.Ref
	pace pace.Pace
}

// forget removes a module without work. It keeps the module's pace until the pace makes no kick wait: a module that
// settles and is kicked again and again must stay rate limited.
func (r *run) forget(m *moduleRun, now time.Time) {
	r.modules = slices.DeleteFunc(r.modules, func(other *moduleRun) bool { return other == m })
	r.paces = slices.DeleteFunc(r.paces, func(p pacedModule) bool { return p.ref == m.Ref || p.pace.IsOver(now) })
	r.paces = append(r.paces, pacedModule{ref: m.Ref, pace: m.Pace})
}

// working reports whether a coroutine of a module is running.
func (r *run) working() bool {
	return slices.ContainsFunc(r.modules, func(m *moduleRun) bool { return m.running })
}

// stopModules stops the work on all modules before the run continues as new. The results of running steps still
// count. After stopTimeout it cancels the remaining steps.
func (r *run) stopModules(ctx workflow.Context) error {
	r.stopping, r.Ending = true, true
	ended := func() bool { return !r.working() }
	if ended() {
		return nil // Even a wait that is already over would start a timer.
	}
	in, err := workflow.AwaitWithTimeout(ctx, stopTimeout, ended)
	if err != nil || in {
		return err
	}
	for _, m := range r.modules {
		m.cancel()
	}
	return workflow.Await(ctx, ended)
}

// carryModules returns the work for the next run.
func (r *run) carryModules() []ModuleCarry {
	var all []ModuleCarry
	for _, m := range r.modules {
		all = append(all, m.carried())
	}
	return all
}

// tell puts news of a module into the Kyma's box.
func (r *run) tell(k *kick.Kick) {
	if k != nil {
		r.Box.Put(*k)
	}
}

// probe returns the module that retries the cluster, other than besides, or nil if there is none. An unreachable
// cluster is a fault of all modules in it: one of them probes the cluster, and the others are parked.
func (r *run) probe(besides *moduleRun) *moduleRun {
	return lists.First(r.modules, func(m *moduleRun) bool {
		return m != besides && m.Fault.Kind == fault.Unreachable && !m.RetryAt.IsZero()
	})
}

// unpark makes the parked modules retry if the cluster answers. Otherwise it leaves them to the sweep.
func (r *run) unpark(answers bool) {
	for _, m := range r.modules {
		switch {
		case !m.isParked():
		case answers:
			m.Box.Put(kick.Kick{Reason: "the cluster answers", Urgent: true})
		default:
			m.state.Phase = phaseEnded
		}
	}
}
