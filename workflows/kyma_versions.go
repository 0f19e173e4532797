package workflows

import (
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/fleet"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
)

// note notes the versions that kicks named, for the reconcile that answers them.
func (r *kymaRun) note(seen []mailbox.SeenVersion) {
	r.seen, r.deleted = seen, false
	for _, s := range seen {
		if s.Kind == shared.KindManifest && mailbox.IsNewer(s.ResourceVersion, r.state.NewestManifest) {
			r.state.NewestManifest = s.ResourceVersion
		}
	}
}

// noteWritten notes what a reconcile did to Manifests: the next steps must not use an earlier state of them.
func (r *kymaRun) noteWritten(res resolve.Result) {
	r.deleted = len(res.Deleted) > 0
	for _, wrote := range res.Wrote {
		if mailbox.IsNewer(wrote.ResourceVersion, r.state.NewestManifest) {
			r.state.NewestManifest = wrote.ResourceVersion
		}
	}
}

// forgetVersions forgets the newest version when a reconcile has ended. While the Kyma is being deleted it stays, unless no
// cache reached it in all attempts: a control plane that was restored from a backup counts from an earlier version on.
func (r *kymaRun) forgetVersions() {
	behind := false
	for _, f := range []fault.Fault{r.state.SyncFault, r.state.ResolveFault, r.state.ReportFault} {
		behind = behind || f.Reason == fleet.ReasonBehind
	}
	if behind || !r.state.Deleting {
		r.state.NewestManifest = ""
	}
}

// versions are those that the caches of the activities for the Kyma must have.
func (r *kymaRun) versions() []desired.Seen {
	out := make([]desired.Seen, 0, len(r.seen)+1)
	for _, s := range r.seen {
		out = append(out, desired.Seen(s))
	}
	if r.state.NewestManifest != "" {
		out = append(out, desired.Seen{Kind: shared.KindManifest, ResourceVersion: r.state.NewestManifest})
	}
	return out
}
