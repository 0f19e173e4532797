package sweep

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/drift"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Inputs computes digests from the caches. Digest returns the digest of a reconcile's inputs, which the reconcile records
// in the Kyma's status. Delisted returns the digest of the catalog objects that could end the removal of delisted
// modules, or "" if there are none.
type Inputs interface {
	Digest(ctx context.Context, kyma *v1beta2.Kyma) (string, error)
	Delisted(ctx context.Context, kyma *v1beta2.Kyma, manifests []v1beta2.Manifest) (string, error)
}

// RemoteProbe compares a remote cluster with its desired state, by reads alone. awaited is true if a paced change will
// update the cluster when the Kyma's turn comes.
type RemoteProbe interface {
	Probe(ctx context.Context, kyma *v1beta2.Kyma, awaited bool) (changed bool, why string, err error)
}

// ModuleProbe returns which modules of one Kyma, settled or only waited for, no longer match their Manifests. It only
// reads. pass is the number of the pass; it decides which of the comparisons that rotate are due. If some modules could
// not be read, Probe may return both differences and an error.
type ModuleProbe interface {
	Probe(ctx context.Context, manifests []*v1beta2.Manifest, pass int) ([]drift.Difference, error)
}

// ModuleMarks records in the statuses of Manifests whether their cluster is reachable, and deletes the Manifests that
// earlier builds made for agents. *manifests.Steps implements it.
type ModuleMarks interface {
	ReleaseFormerAgents(ctx context.Context, chosen func(*v1beta2.Manifest) bool) error
	MarkUnreachable(ctx context.Context, ref kick.Ref, since time.Time) error
	MarkReachable(ctx context.Context, ref kick.Ref) error
}

// Sender delivers kicks. *kick.Sender implements it.
type Sender interface {
	Kyma(ctx context.Context, ref kick.Ref, k kick.Kick) error
	Manifest(ctx context.Context, kyma, manifest kick.Ref, k kick.Kick) error
	SignalOpen(ctx context.Context, workflowID string, k kick.Kick) error
}

// OpenWorkflows finds the open workflows of Kymas.
type OpenWorkflows interface {
	// OpenWorkflows lists the open workflows from visibility, which lags behind. The list may be cached, but is never
	// older than since.
	OpenWorkflows(ctx context.Context, since time.Time) (Open, error)
	// IsOpen reports whether this workflow is open now.
	IsOpen(ctx context.Context, workflowID string) (bool, error)
	// IsPaused reports whether the last list shows this workflow as paused by an operator.
	IsPaused(workflowID string) bool
}

// Open maps the ids of open workflows to the start times of their current runs.
type Open map[string]time.Time

// Options configures the walks.
type Options struct {
	// Interval is the resync interval. Every Kyma is checked once per interval.
	Interval time.Duration
	// Shards is the number of shards of the fleet (--sweep-shards). Default: DefaultShards.
	Shards int
	// ShardsAtOnce is how many shards one worker walks at a time (--sweep-concurrency). Default: 8.
	ShardsAtOnce int
	// PacingSpan is the span over which a change that many Kymas share reaches them. Zero means immediately.
	PacingSpan time.Duration
	// Ours reports whether an object with these labels belongs to this instance.
	Ours func(labels map[string]string) bool
	// Fleet reads Kymas and Manifests from a cache. fleet.Register must have been called on the cache.
	Fleet client.Reader
	// Live reads the control plane without a cache.
	Live    client.Reader
	Inputs  Inputs
	Remote  RemoteProbe
	Modules ModuleProbe
	Marks   ModuleMarks
	Kicks   Sender
	Open    OpenWorkflows
	// KickLimit limits the rate of kicks of all walks of this worker. Default: 50 per second.
	KickLimit *rate.Limiter
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Activities holds the activities of this package.
type Activities struct {
	options Options
	// These remember for which objects a kick may not have helped. reconnects has Kymas whose clusters were marked
	// unreachable but answered the sweep's probe. removals has Kymas for which a newer version may end a removal. missed
	// has Kymas with a recorded Manifest that is gone. refusals and unsettled have Manifests.
	reconnects, removals, missed, refusals, unsettled reminders
	pacing                                            pacing
}

// New returns the activities.
func New(o Options) (*Activities, error) {
	if o.Fleet == nil || o.Live == nil || o.Inputs == nil || o.Remote == nil || o.Modules == nil || o.Marks == nil || o.Kicks == nil || o.Open == nil {
		return nil, errors.New("sweep: no reader, probe or sender may be nil")
	}
	if o.Interval <= 0 {
		o.Interval = 5 * time.Minute
	}
	if o.Shards <= 0 {
		o.Shards = DefaultShards
	}
	if o.ShardsAtOnce <= 0 {
		o.ShardsAtOnce = 8
	}
	o.ShardsAtOnce = min(o.ShardsAtOnce, o.Shards)
	if o.KickLimit == nil {
		o.KickLimit = rate.NewLimiter(50, 50)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Ours == nil {
		o.Ours = func(map[string]string) bool { return true }
	}
	return &Activities{options: o}, nil
}
