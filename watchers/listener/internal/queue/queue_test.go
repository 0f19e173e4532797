package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

var begin = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func limits() Limits {
	return Limits{
		PerSecond: 1, Burst: 5, UrgentPerSecond: 0.1, UrgentBurst: 2, Together: rate.Inf, TogetherBurst: 1,
		Capacity: 100_000, PerKyma: 1_000, Pause: time.Second, MaxPause: 30 * time.Second,
	}
}

func ref(name string) kick.Ref {
	return kick.Ref{Namespace: "kcp-system", Name: name, UID: types.UID(name)}
}

// item returns an event about one of a Kyma's Manifests, or about the Kyma itself.
func item(kyma, manifest string, since time.Time) Item {
	i := Item{Entity: Entity{Kyma: ref(kyma)}, Since: since}
	if manifest != "" {
		i.Manifest = ref(manifest)
	}
	return i
}

// clock takes due items from a queue while time passes.
type clock struct {
	*Queue
	now time.Time
}

// pass lets time pass, and returns the items that left the queue, in this order.
func (c *clock) pass(t *testing.T, d time.Duration) (out []Item) {
	t.Helper()
	end := c.now.Add(d)
	for {
		next, wait, found := c.Next(c.now)
		if found {
			out = append(out, next)
			c.Delivered(next, c.now)
			continue
		}
		require.GreaterOrEqual(t, wait, time.Duration(0))
		if wait == 0 || c.now.Add(wait).After(end) {
			c.now = end
			return out
		}
		c.now = c.now.Add(wait)
	}
}

func TestEventsOfOneEntityAreOneKick(t *testing.T) {
	c := &clock{New(limits()), begin}
	require.Equal(t, Queued, c.Add(item("a", "m", begin), begin))
	for i := range 10_000 {
		newer := item("a", "m", begin.Add(time.Second))
		newer.Kick.ResourceVersion = fmt.Sprint(i)
		require.Equal(t, Merged, c.Add(newer, begin))
	}
	require.Equal(t, Queued, c.Add(item("a", "other", begin), begin))
	require.Equal(t, 2, c.Len())
	out := c.pass(t, 0)
	require.Len(t, out, 2)
	require.Equal(t, begin, out[0].Since, "the time of the first event counts")
	require.Equal(t, "9999", out[0].Kick.ResourceVersion)
	require.Zero(t, c.Len())
	require.Equal(t, Queued, c.Add(item("a", "m", begin), begin), "the kick in flight may be too early for this event")
}

func TestAKymaGetsFiveKicksAndThenOneASecond(t *testing.T) {
	c := &clock{New(limits()), begin}
	for i := range 12 {
		require.Equal(t, Queued, c.Add(item("a", fmt.Sprint(i), begin), begin))
	}
	require.Len(t, c.pass(t, 0), 5)
	require.Len(t, c.pass(t, 3500*time.Millisecond), 3)
	require.Len(t, c.pass(t, time.Hour), 4, "surplus kicks are late, but not lost")
}

func TestFewOfAKymasManyKicksAreUrgent(t *testing.T) {
	c := &clock{New(limits()), begin}
	urgent := 0
	for range 100 {
		c.Add(item("a", "", c.now), c.now)
		for _, out := range c.pass(t, time.Second) {
			if out.Kick.Urgent {
				urgent++
			}
		}
	}
	require.InDelta(t, 2+10, urgent, 1)
}

func TestAnEditOfTheKymaIsUrgentHoweverManyEventsItsModulesHave(t *testing.T) {
	c := &clock{New(limits()), begin}
	for range 100 {
		c.Add(item("a", "m", c.now), c.now)
		c.pass(t, time.Second)
	}
	c.Add(item("a", "", c.now), c.now)
	out := c.pass(t, 5*time.Second)
	require.Len(t, out, 1)
	require.True(t, out[0].Kick.Urgent)
}

func TestOneKymasEventsDelayNoOthers(t *testing.T) {
	l := limits()
	l.Together, l.TogetherBurst, l.Burst = 10, 1, 1_000
	c := &clock{New(l), begin}
	for i := range 1_000 {
		c.Add(item("loud", fmt.Sprint(i), begin), begin)
	}
	for i := range 3 {
		c.Add(item(fmt.Sprint("quiet", i), "", begin), begin)
	}
	out := c.pass(t, 400*time.Millisecond)
	require.GreaterOrEqual(t, len(out), 4)
	served := map[string]bool{}
	for _, each := range out[:4] {
		served[each.Kyma.Name] = true
	}
	require.Len(t, served, 4, "each Kyma has a turn before one has a second")
}

func TestAllKymasTogetherAreBounded(t *testing.T) {
	l := limits()
	l.Together, l.TogetherBurst = 200, 200
	c := &clock{New(l), begin}
	for i := range 1_000 {
		c.Add(item(fmt.Sprint(i), "", begin), begin)
	}
	require.Len(t, c.pass(t, 0), 200)
	require.InDelta(t, 400, len(c.pass(t, 2*time.Second)), 90)
	c.pass(t, time.Minute)
	require.Zero(t, c.Len(), "surplus kicks are late, but not lost")
}

func TestAFullQueueSaysSo(t *testing.T) {
	l := limits()
	l.Capacity, l.PerKyma = 3, 2
	c := New(l)
	require.Equal(t, Queued, c.Add(item("a", "1", begin), begin))
	require.Equal(t, Queued, c.Add(item("a", "2", begin), begin))
	require.Equal(t, Full, c.Add(item("a", "3", begin), begin), "one Kyma cannot fill the queue")
	require.Equal(t, Merged, c.Add(item("a", "2", begin), begin))
	require.Equal(t, Queued, c.Add(item("b", "", begin), begin))
	require.Equal(t, Full, c.Add(item("c", "", begin), begin))
	require.Equal(t, 2, c.Kymas(), "a Kyma that found no room is not remembered")
}

func TestFailedKicksBackOffAndDelayNoOthers(t *testing.T) {
	c := &clock{New(limits()), begin}
	c.Add(item("a", "", begin), begin)
	for _, seconds := range []int{1, 2, 4, 8, 16, 30, 30} {
		pause := time.Duration(seconds) * time.Second
		failed, _, found := c.Next(c.now)
		require.True(t, found)
		c.Failed(failed, c.now)
		require.Equal(t, 1, c.Len())
		c.Add(item("b", "", c.now), c.now)
		other, _, found := c.Next(c.now)
		require.True(t, found)
		require.Equal(t, "b", other.Kyma.Name)
		_, wait, found := c.Next(c.now)
		require.False(t, found)
		require.LessOrEqual(t, wait, pause)
		c.now = c.now.Add(pause - time.Millisecond)
		_, _, found = c.Next(c.now)
		require.False(t, found)
		c.now = c.now.Add(time.Millisecond)
	}
	again, _, found := c.Next(c.now)
	require.True(t, found)
	require.Equal(t, begin, again.Since)
	c.Delivered(again, c.now)
	c.Add(item("a", "", c.now), c.now)
	_, _, found = c.Next(c.now)
	require.True(t, found, "a delivery ends the pause")
}

func TestAFailedKickIsKeptEvenIfTheQueueIsFull(t *testing.T) {
	l := limits()
	l.Capacity = 1
	c := &clock{New(l), begin}
	c.Add(item("a", "", begin), begin)
	failed, _, _ := c.Next(begin)
	require.Equal(t, Queued, c.Add(item("b", "", begin), begin))
	c.Failed(failed, begin)
	require.Equal(t, 2, c.Len())
	require.Len(t, c.pass(t, time.Minute), 2)

	c.Add(item("a", "", begin), begin)
	failed, _, _ = c.Next(c.now)
	newer := item("a", "", c.now)
	newer.Kick.ResourceVersion = "2"
	c.Add(newer, c.now)
	c.Failed(failed, c.now)
	require.Equal(t, 1, c.Len(), "the failed kick is merged with newer events")
	out := c.pass(t, time.Minute)
	require.Equal(t, "2", out[0].Kick.ResourceVersion)
	require.Equal(t, failed.Since, out[0].Since)
}

func TestDrainingIgnoresTheBucketsOfKymas(t *testing.T) {
	c := &clock{New(limits()), begin}
	for i := range 50 {
		c.Add(item("a", fmt.Sprint(i), begin), begin)
	}
	require.Len(t, c.pass(t, 0), 5)
	c.Drain(c.now)
	require.Len(t, c.pass(t, 0), 45)
}

func TestKymasWithoutEventsAreForgotten(t *testing.T) {
	c := &clock{New(limits()), begin}
	for i := range 100 {
		c.Add(item(fmt.Sprint(i), "", begin), begin)
	}
	require.Len(t, c.pass(t, time.Second), 100)
	require.Equal(t, 100, c.Kymas(), "their buckets are not full")
	require.Empty(t, c.pass(t, time.Minute))
	require.Zero(t, c.Kymas())
	require.Empty(t, c.asleep)
	require.Zero(t, c.turn.Len())
}
