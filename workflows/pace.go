package workflows

import "time"

const (
	// minPace is how long a run waits after a look before it acts on the next ordinary kick.
	minPace = time.Second
	// maxPace bounds the doubling of that wait while kicks keep coming.
	maxPace = 30 * time.Second
)

// Pace decides when kicks are acted on (docs/design/workflows-and-signals.md#pace): the first at once; after a look the run
// waits a second, doubling to 30 while kicks keep coming; urgent kicks pass at once, and make none wait longer.
type Pace struct {
	// Wait is the wait after the last look; zero before the first.
	Wait time.Duration `json:"wait,omitempty"`
	// Until is when the wait after the last look ends.
	Until time.Time `json:"until,omitzero"`
}

// Due is when the pending kicks are to be acted on, and whether there are any.
func (p Pace) Due(now time.Time, pending Pending) (time.Time, bool) {
	switch {
	case pending.Count == 0:
		return time.Time{}, false
	case pending.Urgent:
		return now, true
	case pending.NotBefore.After(p.Until):
		return pending.NotBefore, true
	case p.Until.After(now):
		return p.Until, true
	default:
		return now, true
	}
}

// Looked returns the pace after a look that started and ended at the given times. An urgent one is somebody's wish or
// a module that settled, and does not show that ordinary kicks come too fast.
func (p Pace) Looked(started, ended time.Time, urgent bool) Pace {
	wait := minPace
	// A look that started right when the wait was over was caused by kicks that had piled up meanwhile.
	if p.Wait > 0 && started.Sub(p.Until) < p.Wait {
		wait = p.Wait
		if !urgent {
			wait = min(2*p.Wait, maxPace)
		}
	}
	return Pace{Wait: wait, Until: ended.Add(wait)}
}
