// Package queue decides which Kyma or Manifest is kicked next for events from remote clusters. It is pure: callers pass
// the time, and nothing is sent.
//
// An entity waits once, however many events name it. Each Kyma has a token bucket. Kymas with a token are served in
// turn, so a Kyma with many events delays only itself. One more bucket bounds the kicks of all Kymas together. Surplus
// kicks are late, but not lost.
//
// The caller takes items with Next, sends their kicks, and reports each with Delivered or Failed.
package queue

import (
	"container/heap"
	"container/list"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Limits configure a Queue.
type Limits struct {
	// PerSecond and Burst bound the kicks of a Kyma, for itself and its Manifests.
	PerSecond rate.Limit
	Burst     int
	// UrgentPerSecond and UrgentBurst bound how many of these kicks are urgent, separately for the Kyma and for its
	// Manifests. A module that changes its state all the time thus does not delay the edits of the cluster's owner. The
	// other kicks are ordinary: the workflow slows down while they keep coming.
	UrgentPerSecond rate.Limit
	UrgentBurst     int
	// Together and TogetherBurst bound the kicks of all Kymas.
	Together      rate.Limit
	TogetherBurst int
	// Capacity bounds the waiting entities, and PerKyma those of one Kyma.
	Capacity, PerKyma int
	// Pause is the backoff of a Kyma after a failed kick. It doubles with each failure in a row, up to MaxPause.
	Pause, MaxPause time.Duration
}

// soon is the shortest wait, so that rounding of tokens never yields a zero wait.
const soon = time.Millisecond

// Entity is the target of a kick: a Manifest of a Kyma, or the Kyma itself if Manifest is zero.
type Entity struct {
	Kyma, Manifest kick.Ref
}

// Item is a waiting Entity.
type Item struct {
	Entity
	// Kick is the kick to send.
	Kick kick.Kick
	// Since is the time of the first waiting event.
	Since time.Time
}

// Outcome is the result of Add.
type Outcome int

// Outcomes of Add.
const (
	// Queued means that the item waits.
	Queued Outcome = iota
	// Merged means that the item was merged with a waiting one.
	Merged
	// Full means that there is no room.
	Full
)

// Queue holds the waiting items. It is not safe for concurrent use.
type Queue struct {
	limits   Limits
	together *rate.Limiter
	kymas    map[types.UID]*backlog
	// turn holds the backlogs with an item and a token. asleep holds the others, ordered by when to wake them.
	turn   *list.List
	asleep sleepers
	length int
	// draining is true once the buckets of Kymas no longer count.
	draining bool
}

// backlog holds the waiting items of one Kyma.
type backlog struct {
	uid      types.UID
	items    []*Item
	byEntity map[Entity]*Item
	bucket   *rate.Limiter
	// urgent is for the Kyma itself, urgentOfModules for its Manifests.
	urgent, urgentOfModules *rate.Limiter
	failures                int
	// notBefore is when a kick may be tried again after a failure.
	notBefore time.Time
	// wake is when the backlog has a token or, without items, when it can be forgotten. at is its index among the
	// sleepers, or -1.
	wake time.Time
	at   int
	turn *list.Element
}

// New returns an empty Queue.
func New(limits Limits) *Queue {
	return &Queue{
		limits: limits, together: rate.NewLimiter(limits.Together, limits.TogetherBurst), kymas: map[types.UID]*backlog{}, turn: list.New(),
	}
}

// Len returns the number of waiting entities.
func (q *Queue) Len() int { return q.length }

// Kymas returns the number of remembered Kymas, which have waiting events or had some recently.
func (q *Queue) Kymas() int { return len(q.kymas) }

// Add adds an item. If its entity already waits, the earlier Since and the newer kick are kept.
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

// put adds an item for an entity that is not waiting, and returns its backlog.
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

// Next removes and returns the next item. If none is due, wait is the time until one is, unless one is added before;
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

// Failed puts back an item from Next that could not be delivered, even if the queue is full by now. The Kyma then backs
// off.
func (q *Queue) Failed(item Item, now time.Time) {
	b := q.kymas[item.Kyma.UID]
	if b != nil && b.byEntity[item.Entity] != nil {
		// More events arrived meanwhile, and their kick is newer.
		b.byEntity[item.Entity].Since = item.Since
	} else {
		b = q.put(item, now)
	}
	b.notBefore = now.Add(min(q.limits.Pause<<min(b.failures, 10), q.limits.MaxPause))
	b.failures++
	q.place(b, now)
}

// Delivered reports that an item from Next was delivered.
func (q *Queue) Delivered(item Item, now time.Time) {
	b := q.kymas[item.Kyma.UID]
	if b == nil || b.failures == 0 {
		return
	}
	b.failures, b.notBefore = 0, time.Time{}
	q.place(b, now)
}

// Drain makes items no longer wait for the bucket of their Kyma, because the process ends.
func (q *Queue) Drain(now time.Time) {
	q.draining = true
	for _, b := range q.kymas {
		q.place(b, now)
	}
}

// place puts a backlog where it belongs now: at the end of turn, at its present position in turn, or among the sleepers.
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

// isRested reports whether the backlog is the same as a new one.
func (b *backlog) isRested(now time.Time, limits Limits) bool {
	return b.bucket.TokensAt(now) >= float64(limits.Burst) && b.urgent.TokensAt(now) >= float64(limits.UrgentBurst) &&
		b.urgentOfModules.TokensAt(now) >= float64(limits.UrgentBurst)
}

// untilToken returns the time until there is a token.
func untilToken(l *rate.Limiter, now time.Time) time.Duration {
	if missing := 1 - l.TokensAt(now); missing > 0 {
		return duration(missing, l.Limit())
	}
	return 0
}

// untilFull returns the time until the bucket is full.
func untilFull(l *rate.Limiter, now time.Time) time.Duration {
	return duration(float64(l.Burst())-l.TokensAt(now), l.Limit())
}

func duration(tokens float64, per rate.Limit) time.Duration {
	return max(soon, time.Duration(tokens/float64(per)*float64(time.Second))+soon)
}

// sleepers is a heap of backlogs, ordered by when to wake them.
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
