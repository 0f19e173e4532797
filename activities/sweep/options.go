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

// Inputs computes from the caches what a reconcile depends on: the digest that it records in a Kyma's status, and that of
// what in the catalog could end the removal of modules which nobody lists any more, empty where there are none.
type Inputs interface {
	Digest(ctx context.Context, kyma *v1beta2.Kyma) (string, error)
	Delisted(ctx context.Context, kyma *v1beta2.Kyma, manifests []v1beta2.Manifest) (string, error)
}

// RemoteProbe compares a remote cluster with what is wanted there, by reads alone. Awaited says that a change is to be
// brought there when the Kyma's turn in a paced change comes.
type RemoteProbe interface {
	Probe(ctx context.Context, kyma *v1beta2.Kyma, awaited bool) (changed bool, why string, err error)
}

// ModuleProbe says which of the modules of one Kyma, settled or only waited for, are no longer as their Manifests say,
// by reads alone. What is compared in turns has its turn by the number of the pass. Where not all could be read there may be
// both differences and an error.
type ModuleProbe interface {
	Probe(ctx context.Context, manifests []*v1beta2.Manifest, pass int) ([]drift.Difference, error)
}

// ModuleMarks writes whether the modules' cluster can be reached into the statuses of Manifests, and deletes those that an
// earlier build made for agents; *manifests.Steps does.
type ModuleMarks interface {
	ReleaseFormerAgents(ctx context.Context, chosen func(*v1beta2.Manifest) bool) error
	MarkUnreachable(ctx context.Context, ref kick.Ref, since time.Time) error
	MarkReachable(ctx context.Context, ref kick.Ref) error
}

// Sender delivers kicks; *kick.Sender does.
type Sender interface {
	Kyma(ctx context.Context, ref kick.Ref, k kick.Kick) error
	Manifest(ctx context.Context, kyma, manifest kick.Ref, k kick.Kick) error
	SignalOpen(ctx context.Context, workflowID string, k kick.Kick) error
}

// OpenWorkflows knows the open workflows of entities.
type OpenWorkflows interface {
	// OpenWorkflows lists them as visibility knows them: it lags behind. The list may be an earlier one, but none from
	// before since.
	OpenWorkflows(ctx context.Context, since time.Time) (Open, error)
	// IsOpen tells whether this one is open now.
	IsOpen(ctx context.Context, workflowID string) (bool, error)
	// IsPaused reports whether the list that was read last has this workflow as paused by an operator.
	IsPaused(workflowID string) bool
}

// Open are the open workflows by id, with the time at which the present run of each started.
type Open map[string]time.Time

// Options are what the walk needs.
type Options struct {
	// Interval is the resync interval: every Kyma is checked once per interval.
	Interval time.Duration
	// Shards is the number of shards that the fleet is split into (flag sweep-shards); DefaultShards.
	Shards int
	// ShardsAtOnce is how many shards one worker walks at once (flag sweep-concurrency); 8.
	ShardsAtOnce int
	// PacingSpan is the span over which a change of what many Kymas share reaches them; zero is at once.
	PacingSpan time.Duration
	// Ours tells whether an object with these labels belongs to this instance.
	Ours func(labels map[string]string) bool
	// Fleet reads Kymas and Manifests from a cache on which fleet.Register was called.
	Fleet client.Reader
	// Live reads the control plane uncached.
	Live    client.Reader
	Inputs  Inputs
	Remote  RemoteProbe
	Modules ModuleProbe
	Marks   ModuleMarks
	Kicks   Sender
	Open    OpenWorkflows
	// KickLimit paces the kicks of all walks of this worker; 50 a second by default.
	KickLimit *rate.Limiter
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Activities are the activities of this package.
type Activities struct {
	options Options
	// reconnects are of Kymas whose clusters were marked unreachable although they answered the sweep's probe, removals of
	// those that wait for a newer version of a module to end its removal,
	// missed of those that have a Manifest on record that is gone. refusals and unsettled have Manifests instead.
	reconnects, removals, missed, refusals, unsettled reminders
	pacing                                            pacing
}

// New returns the activities.
func New(o Options) (*Activities, error) {
	if o.Fleet == nil || o.Live == nil || o.Inputs == nil || o.Remote == nil || o.Modules == nil || o.Marks == nil || o.Kicks == nil || o.Open == nil {
		return nil, errors.New("sweep: every reader, probe and sender must be given")
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
