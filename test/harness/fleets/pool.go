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
	// idling is how many of the tests that have a fleet mostly wait.
	idling int
	// largest is how many remote clusters the largest of all fleets has.
	largest int
}

// mostIdling is how many tests that mostly wait are preferred to others. Each leaves a fleet unused.
const mostIdling = 2

// waiting is a test that waits for a fleet with so many remote clusters or more.
type waiting struct {
	remotes int
	// idles is whether it mostly waits.
	idles bool
	got   chan Fleet
}

func newPool(fleets ...Fleet) *pool {
	p := &pool{free: fleets}
	for _, fleet := range fleets {
		p.largest = max(p.largest, len(fleet.Remotes))
	}
	return p
}

// take waits for a fleet with so many remote clusters or more. It gets the smallest one that is free.
func (p *pool) take(remotes int, idles bool) Fleet {
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
		p.begins(idles)
		return taken
	}
	w := waiting{remotes: remotes, idles: idles, got: make(chan Fleet, 1)}
	p.waiting = append(p.waiting, w)
	p.mu.Unlock()
	return <-w.got
}

// giveBack hands a fleet on to the test that comes first of those for which it is enough, or keeps it. idled is whether the one
// that had it mostly waited.
func (p *pool) giveBack(fleet Fleet, idled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if idled {
		p.idling--
	}
	next := -1
	for at, w := range p.waiting {
		if w.remotes <= len(fleet.Remotes) && (next < 0 || p.before(w, p.waiting[next])) {
			next = at
		}
	}
	if next < 0 {
		p.free = append(p.free, fleet)
		return
	}
	p.begins(p.waiting[next].idles)
	p.waiting[next].got <- fleet
	p.waiting = slices.Delete(p.waiting, next, next+1)
}

// before is whether a test gets a fleet before another one that has waited for longer.
func (p *pool) before(w, other waiting) bool {
	if w.remotes != other.remotes {
		return w.remotes > other.remotes
	}
	return w.idles != other.idles && w.idles == (p.idling < mostIdling)
}

func (p *pool) begins(idles bool) {
	if idles {
		p.idling++
	}
}
