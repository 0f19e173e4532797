// Package queue decides which Kyma or Manifest is kicked next for events of remote clusters. It is pure: times are given,
// and nothing is sent.
//
// An entity waits once, however many events name it. Each Kyma has a bucket of tokens, and those that have a token are
// served in turn, so that one with many events delays its own only. What all send together is bounded by one more bucket.
// What is over is late, and not lost.
package queue

import (
	"container/heap"
	"container/list"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Limits are the sizes of a Queue.
type Limits struct {
	// PerSecond and Burst are how many kicks a Kyma gets, for itself and its Manifests.
	PerSecond rate.Limit
	Burst     int
	// UrgentPerSecond and UrgentBurst are how many of them are urgent, of those for the Kyma itself and of those for its
	// Manifests each: a module whose state changes all the time does not slow down what the owner of the cluster edits. The
	// others are kicks as any, whose pace the workflow slows down while they keep coming.
	UrgentPerSecond rate.Limit
	UrgentBurst     int
	// Together and TogetherBurst are how many kicks there are of all Kymas.
	Together      rate.Limit
	TogetherBurst int
	// Capacity is how many entities wait, of one Kyma PerKyma.
	Capacity, PerKyma int
	// Pause is how long a Kyma waits whose kick failed, doubled with each failure in a row up to MaxPause.
	Pause, MaxPause time.Duration
}

// soon is the shortest wait, so that rounding of the tokens does not make it none.
const soon = time.Millisecond

// Entity is what is kicked: a Manifest of a Kyma, or the Kyma where the Manifest is zero.
type Entity struct {
	Kyma, Manifest kick.Ref
}

// Item is an Entity that waits.
type Item struct {
	Entity
	// Kick is what is sent.
	Kick kick.Kick
	// Since is when the first event came that waits.
	Since time.Time
}

// Outcome is what Add did.
type Outcome int

// Outcomes of Add.
const (
	// Queued items wait.
	Queued Outcome = iota
	// Merged items are one with an item that waits.
	Merged
	// Full says that there is no room.
	Full
)

// Queue is not safe for concurrent use.
type Queue struct {
	limits   Limits
	together *rate.Limiter
	kymas    map[types.UID]*backlog
	// turn has the backlogs that have an item and a token, asleep the others, by when to wake them.
	turn   *list.List
	asleep sleepers
	length int
	// draining is true once buckets of Kymas do not count any more.
	draining bool
}

// backlog is what waits of one Kyma.
type backlog struct {
	uid      types.UID
	items    []*Item
	byEntity map[Entity]*Item
	bucket   *rate.Limiter
	// urgent is of the Kyma itself, urgentOfModules of its Manifests.
	urgent, urgentOfModules *rate.Limiter
	failures                int
	// notBefore is when a kick may be tried after a failure.
	notBefore time.Time
	// wake is when it has a token or, without items, when it can be forgotten; at is its place among the sleepers, or -1.
	wake time.Time
	at   int
	turn *list.Element
}

// New makes an empty Queue.
func New(limits Limits) *Queue {
	return &Queue{
		limits: limits, together: rate.NewLimiter(limits.Together, limits.TogetherBurst), kymas: map[types.UID]*backlog{}, turn: list.New(),
	}
}

// Len is how many entities wait.
func (q *Queue) Len() int { return q.length }

// Kymas is how many Kymas are remembered: those that have events, or had some within the last minute.
func (q *Queue) Kymas() int { return len(q.kymas) }

// Add adds an item. Of one that waits already, it keeps since when, and takes the newer kick.
func (q *Queue) Add(item Item, now time.Time) Outcome {
	b := q.kymas[item.Kyma.UID]
	if b != nil {
		if waits := b.byEntity[item.Entity]; waits != nil {
			if waits.Since.Before(item.Since) {
				item.Since = waits.Since
			}
			*waits = item
			return Merged
		}
	}
	if q.length >= q.limits.Capacity || b != nil && len(b.items) >= q.limits.PerKyma {
		return Full
	}
	q.put(item, now)
	return Queued
}

// put adds an item that does not wait, and returns its backlog.
func (q *Queue) put(item Item, now time.Time) *backlog {
	b := q.kymas[item.Kyma.UID]
	if b == nil {
		b = &backlog{
			uid: item.Kyma.UID, byEntity: map[Entity]*Item{}, at: -1,
			bucket:          rate.NewLimiter(q.limits.PerSecond, q.limits.Burst),
			urgent:          rate.NewLimiter(q.limits.UrgentPerSecond, q.limits.UrgentBurst),
			urgentOfModules: rate.NewLimiter(q.limits.UrgentPerSecond, q.limits.UrgentBurst),
		}
		q.kymas[b.uid] = b
	}
	b.items = append(b.items, &item)
	b.byEntity[item.Entity] = &item
	q.length++
	q.place(b, now)
	return b
}

// Next takes the item whose turn it is. Where there is none, wait says how long there will be none unless one is added;
// zero means forever.
func (q *Queue) Next(now time.Time) (item Item, wait time.Duration, found bool) {
	for len(q.asleep) > 0 && !q.asleep[0].wake.After(now) {
		b := q.asleep[0]
		heap.Pop(&q.asleep)
		if len(b.items) == 0 && b.isRested(now, q.limits) {
			delete(q.kymas, b.uid)
			continue
		}
		q.place(b, now)
	}
	first := q.turn.Front()
	if first == nil {
		if len(q.asleep) == 0 {
			return Item{}, 0, false
		}
		return Item{}, q.asleep[0].wake.Sub(now), false
	}
	if !q.together.AllowN(now, 1) {
		return Item{}, untilToken(q.together, now), false
	}
	b, ok := q.turn.Remove(first).(*backlog)
	if !ok {
		return Item{}, soon, false
	}
	b.turn = nil
	b.bucket.AllowN(now, 1)
	taken := b.items[0]
	b.items[0] = nil
	b.items = b.items[1:]
	delete(b.byEntity, taken.Entity)
	q.length--
	urgent := b.urgent
	if taken.Manifest.Name != "" {
		urgent = b.urgentOfModules
	}
	taken.Kick.Urgent = urgent.AllowN(now, 1)
	q.place(b, now)
	return *taken, 0, true
}

// Failed puts back an item that Next gave out and that could not be delivered, also where the queue is full by now: it had
// its place. Its Kyma waits.
func (q *Queue) Failed(item Item, now time.Time) {
	b := q.kymas[item.Kyma.UID]
	if b != nil && b.byEntity[item.Entity] != nil {
		// More events came in meanwhile, and their kick is the newer one.
		b.byEntity[item.Entity].Since = item.Since
	} else {
		b = q.put(item, now)
	}
	b.notBefore = now.Add(min(q.limits.Pause<<min(b.failures, 10), q.limits.MaxPause))
	b.failures++
	q.place(b, now)
}

// Delivered says that an item that Next gave out was delivered.
func (q *Queue) Delivered(item Item, now time.Time) {
	b := q.kymas[item.Kyma.UID]
	if b == nil || b.failures == 0 {
		return
	}
	b.failures, b.notBefore = 0, time.Time{}
	q.place(b, now)
}

// Drain has items wait for the bucket of their Kyma no more: the process ends.
func (q *Queue) Drain(now time.Time) {
	q.draining = true
	for _, b := range q.kymas {
		q.place(b, now)
	}
}

// place puts a backlog where it belongs now: it has its turn, keeps the one that it has, or sleeps.
func (q *Queue) place(b *backlog, now time.Time) {
	if len(b.items) == 0 {
		b.wake = now.Add(max(untilFull(b.bucket, now), untilFull(b.urgent, now), untilFull(b.urgentOfModules, now)))
	} else {
		b.wake = b.notBefore
		if !q.draining {
			if token := now.Add(untilToken(b.bucket, now)); token.After(b.wake) {
				b.wake = token
			}
		}
	}
	ready := len(b.items) > 0 && !b.wake.After(now)
	if !ready && b.turn != nil {
		q.turn.Remove(b.turn)
		b.turn = nil
	}
	switch {
	case ready && b.at >= 0:
		heap.Remove(&q.asleep, b.at)
	case !ready && b.at >= 0:
		heap.Fix(&q.asleep, b.at)
	case !ready:
		heap.Push(&q.asleep, b)
	}
	if ready && b.turn == nil {
		b.turn = q.turn.PushBack(b)
	}
}

// isRested tells whether a new backlog would be the same.
func (b *backlog) isRested(now time.Time, limits Limits) bool {
	return b.bucket.TokensAt(now) >= float64(limits.Burst) && b.urgent.TokensAt(now) >= float64(limits.UrgentBurst) &&
		b.urgentOfModules.TokensAt(now) >= float64(limits.UrgentBurst)
}

// untilToken is how long it takes until there is a token.
func untilToken(l *rate.Limiter, now time.Time) time.Duration {
	if missing := 1 - l.TokensAt(now); missing > 0 {
		return duration(missing, l.Limit())
	}
	return 0
}

// untilFull is how long it takes until no token is missing.
func untilFull(l *rate.Limiter, now time.Time) time.Duration {
	return duration(float64(l.Burst())-l.TokensAt(now), l.Limit())
}

func duration(tokens float64, per rate.Limit) time.Duration {
	return max(soon, time.Duration(tokens/float64(per)*float64(time.Second))+soon)
}

// sleepers are backlogs by when to wake them; it implements heap.Interface.
type sleepers []*backlog

func (s sleepers) Len() int           { return len(s) }
func (s sleepers) Less(i, j int) bool { return s[i].wake.Before(s[j].wake) }
func (s sleepers) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].at, s[j].at = i, j
}

// Push implements heap.Interface.
func (s *sleepers) Push(x any) {
	if b, ok := x.(*backlog); ok {
		b.at = len(*s)
		*s = append(*s, b)
	}
}

// Pop implements heap.Interface.
func (s *sleepers) Pop() any {
	last := len(*s) - 1
	b := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	b.at = -1
	return b
}
