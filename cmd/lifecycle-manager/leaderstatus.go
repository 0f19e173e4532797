package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

const (
	// leaderStatusEvery is how often the leader writes its status where nothing changes, and leaderStatusChecks how
	// often it checks whether something has.
	leaderStatusEvery  = 10 * time.Second
	leaderStatusChecks = time.Second
	// leaderStatusMissed is the age from which on a leader status shows that nobody leads any more.
	leaderStatusMissed = 25 * time.Second
)

// leaderStatus is what the leader of an instance says of it, for those who see the control plane and not Temporal: an
// annotation on the record of the instance's settings.
type leaderStatus struct {
	// Instance is whose it is (--managed-by).
	Instance string `json:"instance"`
	// At is when it was written.
	At time.Time `json:"at"`
	// Problem is why no work can be done, and Since since when.
	Problem string    `json:"problem,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// leaderStatusWriter keeps the leader status of an instance while this process leads it.
type leaderStatusWriter struct {
	client   client.Client
	key      types.NamespacedName
	instance string
	// problem is why no work can be done, nil while it can, and since when it is so; without a time nobody knows yet.
	problem func() (time.Time, error)
	now     func() time.Time
	log     logr.Logger

	written leaderStatus
	failed  error
}

// Start writes until ctx is done. It implements manager.Runnable.
func (p *leaderStatusWriter) Start(ctx context.Context) error {
	ticker := time.NewTicker(leaderStatusChecks)
	defer ticker.Stop()
	for {
		p.check(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// NeedLeaderElection is true: the leader speaks for its instance.
func (p *leaderStatusWriter) NeedLeaderElection() bool { return true }

// check writes the leader status at once where work cannot be done any more, or again, and else where it is old.
func (p *leaderStatusWriter) check(ctx context.Context) {
	since, problem := p.problem()
	if since.IsZero() {
		return
	}
	next := leaderStatus{Instance: p.instance, At: p.now().UTC()}
	if problem != nil {
		next.Problem, next.Since = fault.Message(problem.Error()), since.UTC()
	}
	same := (next.Problem == "") == (p.written.Problem == "")
	if same && next.At.Sub(p.written.At) < leaderStatusEvery {
		return
	}
	err := p.write(ctx, next)
	if ctx.Err() != nil {
		return
	}
	if err != nil && (p.failed == nil || p.failed.Error() != err.Error()) {
		p.log.Error(err, "lifecycle-manager status will not know whether this instance works")
	}
	p.failed = err
	// What cannot be written is not tried each second either.
	p.written = next
}

func (p *leaderStatusWriter) write(ctx context.Context, next leaderStatus) error {
	ctx, cancel := context.WithTimeout(ctx, leaderStatusEvery)
	defer cancel()
	encoded, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode the leader status: %w", err)
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		record := &corev1.ConfigMap{}
		if err := p.client.Get(ctx, p.key, record); err != nil {
			return err
		}
		if record.Annotations == nil {
			record.Annotations = map[string]string{}
		}
		record.Annotations[shared.AnnotationLeaderStatus] = string(encoded)
		// An update, for which the rights to the record suffice. A conflict is one with the settings.
		return p.client.Update(ctx, record, client.FieldOwner(shared.FieldManagerLifecycleManager))
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the leader status of this instance into ConfigMap %s: %w", p.key, err)
	}
	// Whoever leads records the settings within seconds; the next status has a place then.
	return nil
}
