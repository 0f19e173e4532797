package controllers

import (
	"container/heap"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// task is something to check in a cluster later. What it does is decided then.
type task struct {
	cluster  *store.Cluster
	kind     taskKind
	resource schema.GroupResource
	key      string
}

type taskKind int

const (
	taskReady taskKind = iota
	taskObserve
	taskEstablish
	taskEmptyNamespace
	taskCollect
	taskFinish
	taskDefinitionGone
)

type timer struct {
	at   time.Time
	task task
}

// timers are all that is to be done later in all clusters, so that an idle cluster needs no goroutine.
type timers struct {
	mu      sync.Mutex
	heap    timerHeap
	waiting map[task]struct{}
	wakeUp  chan struct{}
}

func newTimers() *timers {
	return &timers{waiting: map[task]struct{}{}, wakeUp: make(chan struct{}, 1)}
}

// add schedules a task. One that is waiting already keeps its time.
func (t *timers) add(what task, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, waits := t.waiting[what]; waits {
		return
	}
	t.waiting[what] = struct{}{}
	heap.Push(&t.heap, timer{at, what})
	if t.heap[0].task == what {
		t.wake()
	}
}

func (t *timers) wake() {
	select {
	case t.wakeUp <- struct{}{}:
	default:
	}
}

// next returns a task whose time has come, else how long it is until the next one's.
func (t *timers) next(now time.Time) (task, time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.heap) == 0 {
		return task{}, time.Hour, false
	}
	if wait := t.heap[0].at.Sub(now); wait > 0 {
		return task{}, wait, false
	}
	due, _ := heap.Pop(&t.heap).(timer)
	delete(t.waiting, due.task)
	if len(t.heap) > 0 {
		// Another worker may take the next one.
		t.wake()
	}
	return due.task, 0, true
}

func (t *timers) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.heap)
}

type timerHeap []timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h timerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *timerHeap) Push(x any) {
	one, _ := x.(timer)
	*h = append(*h, one)
}

// Pop implements heap.Interface.
func (h *timerHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = timer{}
	*h = old[:len(old)-1]
	return last
}
