package queue

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

func event(manager, name string) Event {
	return Event{Manager: manager, RemoteEvent: shared.RemoteEvent{Watched: shared.WatchedObject{Namespace: "kyma-system", Name: name}, WatchedGVK: shared.WatchedGVK{Kind: "Kyma"}}}
}

func next(t *testing.T, q *Queue) Taken {
	t.Helper()
	taken, more := q.Next(t.Context())
	require.True(t, more)
	return taken
}

// nothing fails the test if an event may be sent now.
func nothing(t *testing.T, q *Queue) {
	t.Helper()
	taken, _, _ := q.take(time.Now())
	require.Nil(t, taken)
}

func TestManyChangesOfAnObjectAreOneEvent(t *testing.T) {
	q := New(10)
	require.Equal(t, Queued, q.Add(event("m", "a")))
	for range 999 {
		require.Equal(t, Merged, q.Add(event("m", "a")))
	}
	require.Equal(t, Queued, q.Add(event("other", "a")), "another manager gets its own event")
	require.Equal(t, 2, q.Len())
}

func TestAChangeDuringSendingIsSentOnceMore(t *testing.T) {
	q := New(10)
	q.Add(event("m", "a"))
	first := next(t, q)
	for range 5 {
		require.Equal(t, Merged, q.Add(event("m", "a")))
	}
	nothing(t, q)
	q.Sent(first.Event)
	q.Sent(next(t, q).Event)
	nothing(t, q)
	require.Zero(t, q.Len())
}

func TestAFullQueueDropsEvents(t *testing.T) {
	q := New(2)
	require.Equal(t, Queued, q.Add(event("m", "a")))
	require.Equal(t, Queued, q.Add(event("m", "b")))
	require.Equal(t, Dropped, q.Add(event("m", "c")))
	require.Equal(t, Merged, q.Add(event("m", "b")), "a merged event needs no room")
	q.Sent(next(t, q).Event)
	require.Equal(t, Queued, q.Add(event("m", "c")))
}

func TestTheTotalSizeOfNamesIsLimited(t *testing.T) {
	q := New(1 << 20)
	require.Equal(t, Dropped, q.Add(event("m", strings.Repeat("x", maxNameBytes))))
	added := 0
	for q.Add(event("m", fmt.Sprintf("%0900d", added))) == Queued {
		added++
	}
	require.InDelta(t, maxBytes/920, added, 50)
}

func TestUnknownManagersTakeNoRoomFromOthers(t *testing.T) {
	q := New(1000)
	for i := range maxManagers {
		require.Equal(t, Queued, q.Add(event(fmt.Sprint(i), "a")))
	}
	require.Equal(t, Dropped, q.Add(event("one-more", "a")))
	require.Equal(t, Queued, q.Add(event("0", "b")))
	q.Drop(next(t, q).Event)
	q.Drop(next(t, q).Event)
	require.Equal(t, Queued, q.Add(event("one-more", "a")), "a subqueue without events is removed")
}

func TestAFailingManagerSendsOneEventAtATimeWithGrowingPausesAndDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(10)
		for _, name := range []string{"a", "b", "c"} {
			q.Add(event("bad", name))
		}
		begin := time.Now()
		for _, taken := range []Taken{next(t, q), next(t, q), next(t, q)} {
			q.Retry(taken.Event, Pause{})
		}
		q.Add(event("good", "a"))
		require.Equal(t, "good", next(t, q).Manager)
		require.Zero(t, time.Since(begin))

		var pauses []time.Duration
		for i := range 10 {
			before := time.Now()
			taken := next(t, q)
			require.Equal(t, "bad", taken.Manager)
			require.Equal(t, 1+i/3, taken.Tries)
			pauses = append(pauses, time.Since(before))
			nothing(t, q)
			q.Retry(taken.Event, Pause{})
		}
		require.Less(t, pauses[0], time.Second)
		require.Greater(t, pauses[9], 10*time.Second)
		require.LessOrEqual(t, pauses[9], longestPause*3/2)

		q.Sent(next(t, q).Event)
		before := time.Now()
		next(t, q)
		next(t, q)
		require.Zero(t, time.Since(before), "after one success, the others follow at once")
	})
}

func TestARefusalPausesLongerAndEndsWithAnotherCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(10)
		q.Add(event("m", "a"))
		q.Retry(next(t, q).Event, Pause{Slow: true})
		before := time.Now()
		q.Retry(next(t, q).Event, Pause{Slow: true})
		require.Greater(t, time.Since(before), 4*time.Second)
		q.Wake()
		before = time.Now()
		next(t, q)
		require.Zero(t, time.Since(before))
	})
}

func TestThePauseIsAtLeastAsLongAsTheListenerAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(10)
		q.Add(event("m", "a"))
		q.Retry(next(t, q).Event, Pause{AtLeast: time.Minute})
		before := time.Now()
		next(t, q)
		require.GreaterOrEqual(t, time.Since(before), time.Minute)
	})
}

func TestAClosedQueueEndsWhenItIsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(10)
		q.Add(event("m", "a"))
		q.Close()
		require.Equal(t, Dropped, q.Add(event("m", "b")))
		taken := next(t, q)
		ended := make(chan bool)
		go func() {
			_, more := q.Next(t.Context())
			ended <- more
		}()
		synctest.Wait()
		q.Sent(taken.Event)
		require.False(t, <-ended)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, more := New(1).Next(ctx)
		require.False(t, more)
	})
}
