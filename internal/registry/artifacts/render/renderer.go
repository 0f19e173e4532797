// Package render turns files of a module into Kubernetes objects: it unpacks archives, parses YAML and renders Helm charts,
// these in a confined process of their own (Renderer, ServeRenderer). It knows no registry; everything it reads is
// untrusted and limited (Limits).
package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Renderer renders charts, by default in a process of its own for each. Templates are programs from outside, and
// nothing within this process can limit them: the engine builds its output as a string, `tpl` calls itself
// without a limit until the stack overflows, which Go does not let anybody recover from, and a goroutine that never
// ends cannot be stopped. A process can be given limits and killed. It costs some tens of milliseconds once for each
// chart, values and kind of cluster, for what comes of it is cached.
type Renderer struct {
	program []string
	limits  Limits
	slots   chan struct{}
}

// NewRenderer returns a renderer that does at most so many jobs at once, with a program that answers with ServeRenderer;
// without one, in this process.
func NewRenderer(program []string, atOnce int, limits Limits) *Renderer {
	return &Renderer{program: program, limits: limits, slots: make(chan struct{}, atOnce)}
}

// Do has a job done. A fault.Rejected error says what is wrong with the chart.
func (r *Renderer) Do(ctx context.Context, job Job) (Answer, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, r.limits.RenderWait)
	defer cancel()
	do := r.inProcess
	if len(r.program) > 0 {
		do = r.inOtherProcess
	}
	got, err := do(ctx, job)
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) && fault.Of(err).Kind != fault.Rejected:
		return Answer{}, fault.New(fault.Transient, ReasonRendererFailed, "the chart did not render within %s, for which it got less than %s of processor time",
			r.limits.RenderWait, r.limits.RenderTime)
	case err != nil:
		return Answer{}, err
	}
	return got, got.err()
}

// inProcess does the job in this process. One that does not end keeps a goroutine.
func (r *Renderer) inProcess(ctx context.Context, job Job) (Answer, error) {
	done := make(chan Answer, 1)
	go func() { done <- job.run() }()
	select {
	case answer := <-done:
		return answer, nil
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// encodedFactor is by how much an answer in JSON is larger than what it holds, generously.
const encodedFactor = 2

// inOtherProcess does the job in a process of its own, which has no environment and is killed when its wait is over.
func (r *Renderer) inOtherProcess(ctx context.Context, job Job) (Answer, error) {
	encoded, err := json.Marshal(job)
	if err != nil {
		return Answer{}, fmt.Errorf("encode the chart for its renderer: %w", err)
	}
	command := exec.CommandContext(ctx, r.program[0], r.program[1:]...) //nolint:gosec // our own program
	command.Env = []string{}
	command.Dir = string(os.PathSeparator)
	command.Stdin = bytes.NewReader(encoded)
	command.WaitDelay = time.Second
	output, err := command.StdoutPipe()
	if err != nil {
		return Answer{}, fmt.Errorf("start the renderer: %w", err)
	}
	if err := command.Start(); err != nil {
		return Answer{}, fault.New(fault.Transient, ReasonRendererFailed, "the renderer of charts cannot be started: %w", err)
	}
	raw, readErr := io.ReadAll(io.LimitReader(output, encodedFactor*r.limits.UnpackedBytes+1<<20))
	if readErr != nil || ctx.Err() != nil {
		_ = command.Process.Kill()
	}
	_ = output.Close()
	if err := command.Wait(); err != nil {
		return Answer{}, died(err, command.ProcessState, r.limits)
	}
	var answer Answer
	if err := json.Unmarshal(raw, &answer); err != nil {
		return Answer{}, fault.New(fault.Transient, ReasonRendererFailed, "the renderer of charts gave no answer")
	}
	return answer, nil
}

// died says why a renderer ended without an answer. Where it used up its time on processors or its runtime gave up, the
// chart was too much for it; any other end, that of the clock on the wall included, says nothing about the chart.
func died(err error, state *os.ProcessState, limits Limits) error {
	switch {
	case state.ExitCode() == outOfTime || state.UserTime()+state.SystemTime() >= limits.RenderTime:
		return fault.New(fault.Rejected, ReasonInvalidChart, "the chart did not render within %s of processor time", limits.RenderTime)
	case isOutOfMemory(state.ExitCode()):
		return fault.New(fault.Rejected, ReasonInvalidChart,
			"the chart cannot be rendered: its templates take more than %d MiB of memory, or call themselves without an end", limits.RenderBytes>>20)
	}
	return fault.New(fault.Transient, ReasonRendererFailed, "the renderer of charts was ended: %w", err)
}

// ServeRenderer is the other side of artifacts.Options.Renderer: it reads one job, does it, and writes the answer. It is for a
// process of its own, which it gives the limits of the job, and which may die of it.
func ServeRenderer(in io.Reader, out io.Writer) error {
	var job Job
	if err := json.NewDecoder(in).Decode(&job); err != nil {
		return fmt.Errorf("read the chart: %w", err)
	}
	if err := confine(job.Limits); err != nil {
		return fmt.Errorf("limit the renderer: %w", err)
	}
	return json.NewEncoder(out).Encode(job.run())
}
