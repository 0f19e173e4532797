// Package atwork reports whether the instances of Lifecycle Manager work. The leader of each instance writes its status
// to the control plane (Writer), and `lifecycle-manager status` reads it there (Problems).
package atwork

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

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/visibility"
)

const (
	// leaderStatusEvery is how often the leader writes an unchanged status, and leaderStatusChecks how often it checks
	// for changes.
	leaderStatusEvery  = 10 * time.Second
	leaderStatusChecks = time.Second
	// leaderStatusMissed is the age at which a leader status shows that no process leads any more.
	leaderStatusMissed = 25 * time.Second
)

// leaderStatus is what the leader of an instance reports to users who can read the control plane but not Temporal. It
// is an annotation on the record of the instance's settings.
type leaderStatus struct {
	// Instance is the name of the instance (--managed-by).
	Instance string `json:"instance"`
	// At is when the status was written.
	At time.Time `json:"at"`
	// Problem is why no work can be done, and Since when that began.
	Problem string    `json:"problem,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// Held lists workflows that make no progress until somebody intervenes, at most mostHeld.
	Held []visibility.HeldWorkflow `json:"held,omitempty"`
}

// mostHeld bounds the size of the annotation.
const mostHeld = 100

// Writer writes the leader status of an instance while this process leads it.
type Writer struct {
	Client client.Client
	// Key is the record of the instance's settings.
	Key      types.NamespacedName
	Instance string
	// Problem returns why no work can be done, nil if work can be done, and since when that is so. A zero time means
	// that it is not known yet.
	Problem func() (time.Time, error)
	// Held returns the workflows that make no progress until somebody intervenes.
	Held func() []visibility.HeldWorkflow
	Now  func() time.Time
	Log  logr.Logger

	written leaderStatus
	failed  error
}

// Start writes the status until ctx is done. It implements manager.Runnable.
func (w *Writer) Start(ctx context.Context) error {
	ticker := time.NewTicker(leaderStatusChecks)
	defer ticker.Stop()
	for {
		w.check(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// NeedLeaderElection returns true, because the leader reports for its instance.
func (w *Writer) NeedLeaderElection() bool { return true }

// check writes the leader status at once if work has become impossible or possible again, and otherwise when the last
// status is old.
func (w *Writer) check(ctx context.Context) {
	since, problem := w.Problem()
	if since.IsZero() {
		return
	}
	next := leaderStatus{Instance: w.Instance, At: w.Now().UTC()}
	if problem != nil {
		next.Problem, next.Since = fault.Message(problem.Error()), since.UTC()
	}
	next.Held = w.Held()
	next.Held = next.Held[:min(len(next.Held), mostHeld)]
	same := (next.Problem == "") == (w.written.Problem == "")
	if same && next.At.Sub(w.written.At) < leaderStatusEvery {
		return
	}
	err := w.write(ctx, next)
	if ctx.Err() != nil {
		return
	}
	if err != nil && (w.failed == nil || w.failed.Error() != err.Error()) {
		w.Log.Error(err, "write the leader status, without it lifecycle-manager status cannot report on this instance")
	}
	w.failed = err
	// A failed write is not retried every second either.
	w.written = next
}

func (w *Writer) write(ctx context.Context, next leaderStatus) error {
	ctx, cancel := context.WithTimeout(ctx, leaderStatusEvery)
	defer cancel()
	encoded, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode the leader status: %w", err)
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		record := &corev1.ConfigMap{}
		if err := w.Client.Get(ctx, w.Key, record); err != nil {
			return err
		}
		if record.Annotations == nil {
			record.Annotations = map[string]string{}
		}
		record.Annotations[shared.AnnotationLeaderStatus] = string(encoded)
		// An update needs no more than the existing rights to the record. A conflict can only be with a write of the
		// settings.
		return w.Client.Update(ctx, record, client.FieldOwner(shared.FieldManagerLifecycleManager))
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the leader status of this instance into ConfigMap %s: %w", w.Key, err)
	}
	// The leader records the settings within seconds, so the next status finds the record.
	return nil
}
