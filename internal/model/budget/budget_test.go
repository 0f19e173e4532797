package budget

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// desk is an instance with a budget and a clock that stands still.
type desk struct {
	*testing.T
	*Budget
	cluster *desiredtest.Cluster
	now     time.Time
	told    []string
}

func (d *desk) Event(object runtime.Object, _, reason, message string) {
	d.told = append(d.told, reason+": "+message)
}

func (d *desk) AnnotatedEventf(object runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	d.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

func newDesk(t *testing.T, limits Limits, kymas int) *desk {
	t.Helper()
	d := &desk{T: t, now: time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)}
	var objects []client.Object
	for i := range kymas {
		objects = append(objects, kyma(i))
	}
	d.cluster = desiredtest.NewCluster("cp", objects...)
	d.Budget = d.process(limits)
	return d
}

// process returns the budget as another process of the instance has it.
func (d *desk) process(limits Limits) *Budget {
	d.Helper()
	b, err := New(Options{ControlPlane: d.cluster, Cache: d.cluster, Limits: limits, Events: d, Now: func() time.Time { return d.now }})
	require.NoError(d, err)
	return b
}

func kyma(i int) *v1beta2.Kyma {
	return &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: fmt.Sprintf("kyma-%02d", i), UID: types.UID(fmt.Sprintf("uid-%02d", i))}}
}

// takes reports whether a cluster may lose modules.
func (d *desk) takes(i int) bool {
	d.Helper()
	held, err := d.Take(context.Background(), kyma(i))
	require.NoError(d, err)
	return held.IsZero()
}

func (d *desk) budget() *v1beta2.RemovalBudget {
	d.Helper()
	found := &v1beta2.RemovalBudget{}
	require.NoError(d, d.cluster.Get(context.Background(), d.Key(), found))
	return found
}

func (d *desk) approve(approval v1beta2.RemovalApproval) {
	d.Helper()
	found := d.budget()
	approval.At = &metav1.Time{Time: d.now}
	found.Spec.Approvals = append(found.Spec.Approvals, approval)
	require.NoError(d, d.cluster.Update(context.Background(), found))
}

func TestNoMoreClustersLoseModulesThanTheBudgetAllows(t *testing.T) {
	d := newDesk(t, Limits{Min: 2, Percent: 5}, 3)
	require.True(t, d.takes(0))
	require.True(t, d.takes(1))
	require.True(t, d.takes(0), "a caller that crashed after taking can continue")
	held, err := d.Take(context.Background(), kyma(2))
	require.NoError(t, err)
	require.Equal(t, fault.Pending, held.Kind)
	require.Equal(t, "removal is held: 2 clusters lost modules within 1h, as many as the removal budget allows", held.Message)
	require.Contains(t, held.Hint, "add an approval to RemovalBudget kcp-system/lifecycle-manager")
	require.Equal(t, []string{"RemovalHeld: 2 clusters lost modules within 1h, as many as the removal budget allows: further removals wait"}, d.told)
	require.True(t, IsHeld(d.budget()))
	require.Equal(t, int32(2), d.budget().Status.Used)
	require.Equal(t, shared.ManagedByLifecycleManager, d.budget().Labels[shared.LabelManagedBy])

	d.cluster.Forget()
	require.False(t, d.takes(2))
	require.Empty(t, d.cluster.Writes(), "an exhausted budget costs no write")
	require.Len(t, d.told, 1)

	d.now = d.now.Add(time.Hour)
	require.True(t, d.takes(2), "the window has passed")
	require.Len(t, d.budget().Status.Taken, 1, "entries outside the window are dropped")
}

func TestTheLimitIsTheGreaterOfAShareAndAMinimum(t *testing.T) {
	for name, tc := range map[string]struct {
		limits      Limits
		kymas, want int
	}{
		"a single removal is always allowed":     {Limits{Min: 1, Percent: 1}, 1, 1},
		"the minimum":                            {Limits{}, 20, 10},
		"the share":                              {Limits{Min: 1, Percent: 20}, 20, 4},
		"at most as many as fit into the status": {Limits{Min: 5000}, 1, maxTaken},
	} {
		room, _, err := newDesk(t, tc.limits, tc.kymas).Room(context.Background())
		require.NoError(t, err)
		require.Equal(t, tc.want, room, name)
	}
}

// Each goroutine stands for a process. Only the resource version keeps them from taking the same place.
func TestConcurrentTakesNeverExceedTheLimit(t *testing.T) {
	const limit, takers = 3, 12
	d := newDesk(t, Limits{Min: limit}, 0)
	d.options.Events = nil
	require.NoError(t, d.Ensure(context.Background()))
	var all sync.WaitGroup
	var passed atomic.Int32
	for i := range takers {
		b := d.process(Limits{Min: limit})
		b.options.Events = nil
		all.Go(func() {
			for {
				held, err := b.Take(context.Background(), kyma(i))
				if fault.Of(err).Reason == "Changed" {
					continue // the activity is retried
				}
				if err == nil && held.IsZero() {
					passed.Add(1)
				}
				return
			}
		})
	}
	all.Wait()
	require.EqualValues(t, limit, passed.Load())
	require.Len(t, d.budget().Status.Taken, limit)
}

func TestAnApprovalAllowsMoreClustersWithinItsWindow(t *testing.T) {
	d := newDesk(t, Limits{Min: 1}, 0)
	require.True(t, d.takes(0))
	require.False(t, d.takes(1))
	d.approve(v1beta2.RemovalApproval{Clusters: 5})
	require.False(t, d.takes(1), "the approval is not signed")
	d.approve(v1beta2.RemovalApproval{Clusters: 2, By: "anna"})
	require.True(t, d.takes(1))
	require.True(t, d.takes(2))
	require.False(t, d.takes(3))

	d.now = d.now.Add(30 * time.Minute)
	d.approve(v1beta2.RemovalApproval{Clusters: 1, By: "anna"})
	require.True(t, d.takes(3))
	require.False(t, d.takes(4))
	d.now = d.now.Add(31 * time.Minute)
	require.True(t, d.takes(4), "the limit is free again, whatever was approved in between")
	require.False(t, d.takes(5), "the first approval has expired, and the second is used up")

	d.options.NoApprovals = "there is no webhook"
	d.approve(v1beta2.RemovalApproval{Clusters: 9, By: "anna"})
	held, err := d.Take(context.Background(), kyma(6))
	require.NoError(t, err)
	require.Contains(t, held.Hint, "approvals are not possible here: there is no webhook")
}

func TestAChangeOfTheCatalogIsApprovedByItsValueOnly(t *testing.T) {
	ctx := context.Background()
	d := newDesk(t, Limits{}, 0)
	approves := func(change string) bool {
		ok, err := d.Approves(ctx, change, true)
		require.NoError(t, err)
		return ok
	}
	require.False(t, approves("7"), "there is no RemovalBudget")
	require.NoError(t, d.Ensure(ctx))
	d.approve(v1beta2.RemovalApproval{Change: "7"})
	require.False(t, approves("7"), "the approval is not signed")
	d.approve(v1beta2.RemovalApproval{Change: "7", By: "anna"})
	require.True(t, approves("7"))
	require.False(t, approves("8"))
	require.False(t, approves(""))
}

func TestTheStatusSaysHowManyKymasWaitAndForgetsWhenNoneDoes(t *testing.T) {
	ctx := context.Background()
	d := newDesk(t, Limits{Min: 1}, 3)
	again, err := d.Keep(ctx)
	require.NoError(t, err)
	require.Zero(t, again, "there is no RemovalBudget yet")
	require.True(t, d.takes(0))
	require.False(t, d.takes(1))
	since := metav1.NewTime(d.now.Add(-time.Minute))
	for i, at := range []metav1.Time{metav1.NewTime(d.now), since} {
		waits := &v1beta2.Kyma{}
		require.NoError(t, d.cluster.Get(ctx, client.ObjectKeyFromObject(kyma(1+i)), waits))
		waits.Status.RemovalHeldSince = &at
		require.NoError(t, d.cluster.Status().Update(ctx, waits))
	}
	_, err = d.Keep(ctx)
	require.NoError(t, err)
	require.Equal(t, int32(2), d.budget().Status.Held)
	require.True(t, since.Equal(d.budget().Status.HeldSince))
	waiting, err := d.Waiting(ctx)
	require.NoError(t, err)
	require.Equal(t, "kyma-02", waiting[0].Name, "it has waited the longest")

	for i := range 2 {
		waits := &v1beta2.Kyma{}
		require.NoError(t, d.cluster.Get(ctx, client.ObjectKeyFromObject(kyma(1+i)), waits))
		waits.Status.RemovalHeldSince = nil
		require.NoError(t, d.cluster.Status().Update(ctx, waits))
	}
	again, err = d.Keep(ctx)
	require.NoError(t, err)
	require.Equal(t, settle, again, "the statuses of Kymas are written after the hold")
	require.True(t, IsHeld(d.budget()))
	d.now = d.now.Add(settle)
	again, err = d.Keep(ctx)
	require.NoError(t, err)
	require.False(t, IsHeld(d.budget()))
	require.Zero(t, d.budget().Status.Held)
	require.Equal(t, time.Hour-settle, again, "the next place becomes free then")
	d.cluster.Forget()
	_, err = d.Keep(ctx)
	require.NoError(t, err)
	require.Empty(t, d.cluster.Writes())
}

func TestTheBudgetIsInANamespaceOfTheInstance(t *testing.T) {
	require.Equal(t, "kcp-system/lifecycle-manager", Key(desired.Settings{}).String())
	require.Equal(t, "kcp-system/blue", Key(desired.Settings{ManagedBy: "blue", Namespaces: []string{"a", "kcp-system"}}).String())
	require.Equal(t, "a/lifecycle-manager", Key(desired.Settings{Namespaces: []string{"b", "a"}}).String())
}
