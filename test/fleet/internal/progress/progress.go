// Package progress prints what a command is doing, line by line, each
// with the time since the command began.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Printer writes lines from several goroutines to one writer.
type Printer struct {
	mu    sync.Mutex
	out   io.Writer
	now   func() time.Time
	start time.Time
}

// New returns a printer whose clock begins now.
func New(out io.Writer, now func() time.Time) *Printer {
	return &Printer{out: out, now: now, start: now()}
}

// Printf writes one line; the format needs no line end.
func (p *Printer) Printf(format string, arguments ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Nothing sensible can be done about a closed terminal.
	_, _ = fmt.Fprintf(p.out, "%6.1fs  %s\n", p.now().Sub(p.start).Seconds(), fmt.Sprintf(format, arguments...))
}

// Since formats the time since a point, for a line that says how long something
// took.
func (p *Printer) Since(t time.Time) string {
	return fmt.Sprintf("%.1f s", p.now().Sub(t).Seconds())
}

// Now is the printer's clock.
func (p *Printer) Now() time.Time { return p.now() }

// Heartbeat prints a line each interval, made from the time since the call,
// until the returned function is called.
func (p *Printer) Heartbeat(interval time.Duration, line func(elapsed time.Duration) string) (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	begin := p.now()
	go func() {
		defer close(stopped)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				p.Printf("%s", line(p.now().Sub(begin)))
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}
