package budget

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Take counts a cluster that is about to lose modules. The fault is zero if the cluster may lose them, and otherwise
// says why it must wait. Take is safe to repeat: a Kyma counts only once within the window, so a caller that crashed
// after Take can continue. If the budget is exhausted, Take sends no request, because the cached RemovalBudget already
// says so.
func (b *Budget) Take(ctx context.Context, kyma *v1beta2.Kyma) (fault.Fault, error) {
	limit, err := b.limit(ctx)
	if err != nil {
		return fault.Fault{}, err
	}
	known, err := b.read(ctx, b.options.Cache)
	if client.IgnoreNotFound(err) != nil {
		return fault.Fault{}, err
	}
	if err == nil {
		switch a := b.account(known, limit); {
		case a.has(kyma.UID):
			return fault.Fault{}, nil
		case a.room() == 0 && IsHeld(known):
			return b.held(a), nil
		}
	}
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return fault.Fault{}, fmt.Errorf("wait for other removals to be counted: %w", ctx.Err())
	}
	for range attempts {
		held, err := b.takeOnce(ctx, kyma, limit)
		if !apierrors.IsConflict(err) {
			return held, err
		}
		select {
		case <-time.After(rand.N(maxPause)): //nolint:gosec // jitter, so that the same processes do not conflict again
		case <-ctx.Done():
			return fault.Fault{}, fmt.Errorf("count a removal: %w", ctx.Err())
		}
	}
	return fault.Fault{}, fault.New(fault.Transient, "Changed", "RemovalBudget %s keeps changing while a removal is counted in it", b.Key())
}

const (
	// attempts is how often a conflicting write is retried. maxPause is the longest pause between two attempts.
	attempts = 10
	maxPause = 100 * time.Millisecond
)

// takeOnce decides by a live read. The resource version in its write makes sure that the decision is still valid.
func (b *Budget) takeOnce(ctx context.Context, kyma *v1beta2.Kyma, limit int) (fault.Fault, error) {
	live, err := b.ensure(ctx)
	if err != nil {
		return fault.Fault{}, err
	}
	before := live.DeepCopy()
	a := b.account(live, limit)
	switch {
	case a.has(kyma.UID):
		return fault.Fault{}, nil
	case a.room() > 0:
		a.take(kyma, b.options.Now())
		a.record(&live.Status)
		return fault.Fault{}, b.write(ctx, before, live)
	case IsHeld(live):
		return b.held(a), nil
	}
	a.record(&live.Status)
	b.setHeld(live, true, a)
	if err := b.write(ctx, before, live); err != nil {
		return fault.Fault{}, err
	}
	b.recordHeld(live, a)
	return b.held(a), nil
}

func (b *Budget) account(budget *v1beta2.RemovalBudget, limit int) account {
	return accountOf(budget, limit, b.options.Limits.Window, b.options.NoApprovals == "", b.options.Now())
}

func (b *Budget) write(ctx context.Context, before, after *v1beta2.RemovalBudget) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := b.options.ControlPlane.Status().Patch(ctx, after, patch, client.FieldOwner(shared.FieldManagerLifecycleManager)); err != nil {
		return fmt.Errorf("write the status of RemovalBudget %s: %w", b.Key(), err)
	}
	return nil
}
