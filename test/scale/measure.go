package main

import (
	"context"
	"fmt"
	"time"
)

// snapshot is all that was counted by some time.
type snapshot struct {
	at                   time.Time
	used                 map[string]usage
	controlPlane, remote requests
	database             database
	load                 load
}

func (e *environment) snapshot(ctx context.Context) (snapshot, error) {
	// The times of processes last, for counting uses some as well.
	var s snapshot
	var err error
	if s.controlPlane, err = e.countControlPlane(ctx); err != nil {
		return s, err
	}
	if s.remote, err = e.countRemote(ctx); err != nil {
		return s, err
	}
	if s.database, err = e.measureDatabase(ctx); err != nil {
		return s, err
	}
	s.used, s.load, s.at = e.watched.use(), machineLoad(), time.Now()
	return s, nil
}

// outcome is what a phase tells of itself.
type outcome struct {
	kymas     int
	latencies map[string]*waiting
}

// measure runs one phase.
func (e *environment) measure(ctx context.Context, s step, run func(context.Context) (outcome, error)) (phase, error) {
	before, err := e.snapshot(ctx)
	if err != nil {
		return phase{}, err
	}
	e.watched.mark()
	stop := e.sampleMemory()
	done, err := run(ctx)
	took := time.Since(before.at)
	// What was asked for is done, and nothing that comes after is to be counted.
	used, load := e.watched.use(), machineLoad()
	stop()
	if err != nil {
		return phase{}, err
	}
	after, err := e.snapshot(ctx)
	if err != nil {
		return phase{}, err
	}
	after.used = used
	p := phase{
		Name: s.Name, Kymas: done.kymas, Seconds: round(took.Seconds()), PerSecond: round(float64(done.kymas) / took.Seconds()),
		Latencies: map[string]latency{}, Processes: map[string]processUse{},
		ControlPlane: after.controlPlane.since(before.controlPlane), Remote: after.remote.since(before.remote),
		Database: after.database.since(before.database),
	}
	p.Machine = machineUse{
		Busy: round((load.busy - before.load.busy).Seconds() / took.Seconds()), Waiting: round((load.waiting - before.load.waiting).Seconds() / took.Seconds()),
	}
	for what, w := range done.latencies {
		p.Latencies[what] = latencyOf(w.took)
	}
	peaks := e.watched.peaks()
	for name, now := range after.used {
		cpu := now.cpu - before.used[name].cpu
		p.Processes[name] = processUse{
			CPU: float64(cpu.Milliseconds()), CPUPerKyma: round(float64(cpu.Milliseconds()) / float64(max(1, done.kymas))),
			Cores: round(cpu.Seconds() / took.Seconds()), Memory: now.memory >> 20, MaxMemory: peaks[name] >> 20,
		}
	}
	return p, nil
}

// sampleMemory looks at the memory of all processes now and then, until it is stopped.
func (e *environment) sampleMemory() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(2 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				e.watched.use()
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// report says a phase in a line.
func (p *phase) report() {
	cpu := map[string]float64{}
	for name, used := range p.Processes {
		if used.CPU > 0 {
			cpu[name] = used.CPUPerKyma
		}
	}
	say("%s: %d Kymas in %.1f s%s; ms of processor time per Kyma: %v", p.Name, p.Kymas, p.Seconds, latencies(p.Latencies), cpu)
}

func latencies(all map[string]latency) string {
	text := ""
	for what, l := range all {
		text += fmt.Sprintf(", %s p50 %.2f s, p99 %.2f s", what, l.P50, l.P99)
	}
	return text
}
