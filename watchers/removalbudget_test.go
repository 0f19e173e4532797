package watchers

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// purse is a removal budget with some room and waiting Kymas.
type purse struct {
	waiting []*v1beta2.Kyma
	room    int
	next    time.Time
}

func (p *purse) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: "kcp-system", Name: "lifecycle-manager"}
}
func (p *purse) Waiting(context.Context) ([]*v1beta2.Kyma, error) { return p.waiting, nil }
func (p *purse) Room(context.Context) (int, time.Time, error)     { return p.room, p.next, nil }

func TestAsManyKymasAreKickedAsThereIsRoomFor(t *testing.T) {
	w, kicks, _ := newWatcher(t)
	clock := now
	w.Now = func() time.Time { return clock }
	budget := &purse{room: 2, next: clock.Add(10 * time.Second)}
	for i := range 4 {
		budget.waiting = append(budget.waiting, named(fmt.Sprintf("kyma-%d", i), nil))
	}
	deleted := metav1.NewTime(clock)
	budget.waiting[0].DeletionTimestamp = &deleted
	w.RemovalBudget = budget
	waits := &budgetKicks{watcher: w, kicked: map[types.UID]time.Time{}}
	kick := func() (to []string) {
		t.Helper()
		kicks.sent = nil
		result, err := waits.kickWaiting(t.Context(), budgetRequest{})
		require.NoError(t, err)
		require.NotZero(t, result.RequeueAfter, "room may open up by itself")
		require.LessOrEqual(t, result.RequeueAfter, 10*time.Second)
		for _, sent := range kicks.sent {
			to = append(to, sent.to)
			require.True(t, sent.kick.Urgent)
		}
		return to
	}
	require.Equal(t, []string{"kyma/kcp-system/kyma-0/kyma-0", "kyma/kcp-system/kyma-1/kyma-1"}, kick(), "those that have waited longest come first")
	require.True(t, kicks.sent[0].kick.Deleting)
	require.False(t, kicks.sent[1].kick.Deleting)
	require.Empty(t, kick(), "the kicked Kymas are about to take their places")

	budget.waiting, budget.room = budget.waiting[1:], 2
	require.Equal(t, []string{"kyma/kcp-system/kyma-2/kyma-2"}, kick(), "one Kyma took its place, and another place opened up")
	clock = clock.Add(budgetPatience)
	budget.next = clock.Add(time.Second)
	require.Len(t, kick(), 2, "Kymas that were kicked in vain are kicked again")
	budget.room = 0
	require.Empty(t, kick())
}
