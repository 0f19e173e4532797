package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/scale/record"
	"github.com/kyma-project/lifecycle-manager/test/scale/scenarios"
	"github.com/kyma-project/lifecycle-manager/test/scale/usage"
)

// snapshot is all that was counted by some time.
type snapshot struct {
	at                   time.Time
	used                 map[string]usage.Usage
	controlPlane, remote record.Requests
	database             record.Database
	load                 usage.Load
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
	s.used, s.load, s.at = e.watched.Use(), usage.ReadLoad(), time.Now()
	return s, nil
}

// outcome is the result of a phase.
type outcome struct {
	kymas     int
	latencies map[string]*waiting
	rollout   *record.Rollout
}

// measure runs one phase.
func (e *environment) measure(ctx context.Context, s scenarios.Phase, run func(context.Context) (outcome, error)) (record.Phase, error) {
	before, err := e.snapshot(ctx)
	if err != nil {
		return record.Phase{}, err
	}
	e.watched.Mark()
	stop := e.sampleMemory()
	done, err := run(ctx)
	took := time.Since(before.at)
	// What was asked for is done, and nothing that comes after counts.
	used, load := e.watched.Use(), usage.ReadLoad()
	stop()
	if err != nil {
		return record.Phase{}, err
	}
	after, err := e.snapshot(ctx)
	if err != nil {
		return record.Phase{}, err
	}
	after.used = used
	p := record.Phase{
		Name: s.Name, Kymas: done.kymas, Seconds: record.Round(took.Seconds()), PerSecond: record.Round(float64(done.kymas) / took.Seconds()),
		Latencies: map[string]record.Latency{}, Processes: map[string]record.ProcessUse{},
		ControlPlane: after.controlPlane.Since(before.controlPlane), Remote: after.remote.Since(before.remote),
		Database: after.database.Since(before.database), Rollout: done.rollout,
	}
	p.Machine = record.MachineUse{
		Busy: record.Round((load.Busy - before.load.Busy).Seconds() / took.Seconds()), Waiting: record.Round((load.Waiting - before.load.Waiting).Seconds() / took.Seconds()),
	}
	for what, w := range done.latencies {
		p.Latencies[what] = record.LatencyOf(w.took)
	}
	peaks := e.watched.Peaks()
	for name, now := range after.used {
		cpu := now.CPU - before.used[name].CPU
		p.Processes[name] = record.ProcessUse{
			CPU: float64(cpu.Milliseconds()), CPUPerKyma: record.Round(float64(cpu.Milliseconds()) / float64(max(1, done.kymas))),
			Cores: record.Round(cpu.Seconds() / took.Seconds()), Memory: now.Memory >> 20, MaxMemory: peaks[name] >> 20,
		}
	}
	return p, nil
}

// sampleMemory reads the memory of all processes every two seconds, until it is stopped.
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
				e.watched.Use()
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// report says a phase in a line.
func report(p record.Phase) {
	cpu := map[string]float64{}
	for name, used := range p.Processes {
		if used.CPU > 0 {
			cpu[name] = used.CPUPerKyma
		}
	}
	say("%s: %d Kymas in %.1f s%s; ms of processor time per Kyma: %v", p.Name, p.Kymas, p.Seconds, latencies(p.Latencies), cpu)
	if r := p.Rollout; r != nil {
		say("  %s after %.0f s in stages of %v, %d released; %.0f events in %.0f runs", r.Phase, r.Seconds, r.Stages, r.Released, r.History.Events, r.History.Runs)
		if r.FromThirdFailure != nil {
			say("  held %.0f s after the third failure, with %d failed; %d processes were killed", *r.FromThirdFailure, r.FailedByThen, r.Kills)
		}
	}
}

func latencies(all map[string]record.Latency) string {
	text := ""
	for what, l := range all {
		text += fmt.Sprintf(", %s p50 %.2f s, p99 %.2f s", what, l.P50, l.P99)
	}
	return text
}
