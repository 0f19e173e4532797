package fleets

import (
	"slices"
	"sync"
)

// pool has the fleets that no test uses. They differ in their remote clusters: few tests need more than one, and
// an idle cluster takes processor time from the busy ones.
type pool struct {
	mu   sync.Mutex
	free []Fleet
	// waiting are the tests that wait, the first that came first.
	waiting []waiting
	// largest is how many remote clusters the largest of all fleets has.
	largest int
}

// waiting is a test that waits for a fleet with so many remote clusters or more.
type waiting struct {
	remotes int
	// first is whether it goes before others that need as many.
	first bool
	got   chan Fleet
}

// before is whether a test gets a fleet before another one that has waited for longer.
func (w waiting) before(other waiting) bool {
	if w.remotes != other.remotes {
		return w.remotes > other.remotes
	}
	return w.first && !other.first
}

func newPool(fleets ...Fleet) *pool {
	p := &pool{free: fleets}
	for _, fleet := range fleets {
		p.largest = max(p.largest, len(fleet.Remotes))
	}
	return p
}

// take waits for a fleet with so many remote clusters or more. It gets the smallest one that is free.
func (p *pool) take(remotes int, first bool) Fleet {
	p.mu.Lock()
	found := -1
	for at, fleet := range p.free {
		if has := len(fleet.Remotes); has >= remotes && (found < 0 || has < len(p.free[found].Remotes)) {
			found = at
		}
	}
	if found >= 0 {
		defer p.mu.Unlock()
		taken := p.free[found]
		p.free = slices.Delete(p.free, found, found+1)
		return taken
	}
	w := waiting{remotes: remotes, first: first, got: make(chan Fleet, 1)}
	p.waiting = append(p.waiting, w)
	p.mu.Unlock()
	return <-w.got
}

// giveBack hands a fleet on to the test that comes first of those for which it is enough, or keeps it.
func (p *pool) giveBack(fleet Fleet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := -1
	for at, w := range p.waiting {
		if w.remotes <= len(fleet.Remotes) && (next < 0 || w.before(p.waiting[next])) {
			next = at
		}
	}
	if next < 0 {
		p.free = append(p.free, fleet)
		return
	}
	p.waiting[next].got <- fleet
	p.waiting = slices.Delete(p.waiting, next, next+1)
}
