package kyma

import (
	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
)

// note records the versions that kicks named, for the reconcile that answers them.
func (r *run) note(seen []mailbox.SeenVersion) {
	r.seen, r.deleted, r.left = seen, false, ""
	for _, s := range seen {
		r.noteNewest(s.Kind, s.ResourceVersion)
	}
}

// noteWritten records the Manifests that a reconcile wrote. The next steps must not read an earlier state of them.
func (r *run) noteWritten(res resolve.Result) {
	r.deleted, r.left = len(res.Deleted) > 0, res.Kyma
	for _, wrote := range res.Wrote {
		r.noteNewest(wrote.Kind, wrote.ResourceVersion)
	}
}

// noteNewest records the version of a Manifest or a RemoteAgent. Versions are comparable within a kind.
func (r *run) noteNewest(kind, version string) {
	if newest := r.newest(kind); newest != nil && mailbox.IsNewer(version, *newest) {
		*newest = version
	}
}

// newest returns where the newest version of a kind is recorded, or nil for other kinds.
func (r *run) newest(kind string) *string {
	switch kind {
	case shared.KindManifest:
		return &r.state.NewestManifest
	case shared.KindRemoteAgent:
		return &r.state.NewestAgent
	}
	return nil
}

// forgetVersions forgets the newest versions after a reconcile. While the Kyma is being deleted it keeps them, unless
// no cache reached them in all attempts: a control plane that was restored from a backup starts from an older
// version.
func (r *run) forgetVersions() {
	behind := false
	for _, f := range []fault.Fault{r.state.SyncFault, r.state.ResolveFault, r.state.ReportFault} {
		behind = behind || f.Reason == fleet.ReasonBehind
	}
	if behind || !r.state.Deleting {
		r.state.NewestManifest, r.state.NewestAgent = "", ""
	}
}

// versions returns the versions that the caches of the Kyma's activities must have reached.
func (r *run) versions() []desired.Seen {
	out := lists.Map(r.seen, func(s mailbox.SeenVersion) desired.Seen { return desired.Seen(s) })
	for _, kind := range []string{shared.KindManifest, shared.KindRemoteAgent} {
		if newest := *r.newest(kind); newest != "" {
			out = append(out, desired.Seen{Kind: kind, ResourceVersion: newest})
		}
	}
	return background.WithKyma(out, r.Ref, r.left)
}
