package artifacts

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

	"github.com/kyma-project/lifecycle-manager/activities/fault"
)

// renderer renders charts, by default in a process of its own for each. Templates are programs from outside, and
// what can be had in this process does not hold them: the engine builds its output as a string, `tpl` calls itself
// without a limit until the stack overflows, which Go does not let anybody recover from, and a goroutine that never
// ends cannot be stopped. A process can be given limits and killed. It costs some tens of milliseconds once for each
// chart, values and kind of cluster, for what comes of it is cached.
type renderer struct {
	program []string
	limits  Limits
	slots   chan struct{}
}

func newRenderer(o Options) *renderer {
	return &renderer{program: o.Renderer, limits: o.Limits, slots: make(chan struct{}, o.Renderers)}
}

// do has a job done. A fault.Rejected error says what is wrong with the chart.
func (r *renderer) do(ctx context.Context, job chartJob) (chartAnswer, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return chartAnswer{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, r.limits.RenderWait)
	defer cancel()
	do := r.here
	if len(r.program) > 0 {
		do = r.elsewhere
	}
	got, err := do(ctx, job)
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) && fault.Of(err).Kind != fault.Rejected:
		return chartAnswer{}, fault.New(fault.Transient, ReasonRendererFailed, "the chart did not render within %s, for which it got less than %s of processor time",
			r.limits.RenderWait, r.limits.RenderTime)
	case err != nil:
		return chartAnswer{}, err
	}
	return got, got.err()
}

// here does the job in this process. One that does not end keeps a goroutine.
func (r *renderer) here(ctx context.Context, job chartJob) (chartAnswer, error) {
	done := make(chan chartAnswer, 1)
	go func() { done <- job.do() }()
	select {
	case answer := <-done:
		return answer, nil
	case <-ctx.Done():
		return chartAnswer{}, ctx.Err()
	}
}

// encodedFactor is by how much an answer in JSON is larger than what it holds, generously.
const encodedFactor = 2

// elsewhere does the job in a process of its own, which has no environment and is killed when its wait is over.
func (r *renderer) elsewhere(ctx context.Context, job chartJob) (chartAnswer, error) {
	encoded, err := json.Marshal(job)
	if err != nil {
		return chartAnswer{}, fmt.Errorf("encode the chart for its renderer: %w", err)
	}
	command := exec.CommandContext(ctx, r.program[0], r.program[1:]...) //nolint:gosec // our own program
	command.Env = []string{}
	command.Dir = string(os.PathSeparator)
	command.Stdin = bytes.NewReader(encoded)
	command.WaitDelay = time.Second
	output, err := command.StdoutPipe()
	if err != nil {
		return chartAnswer{}, fmt.Errorf("start the renderer: %w", err)
	}
	if err := command.Start(); err != nil {
		return chartAnswer{}, fault.New(fault.Transient, ReasonRendererFailed, "the renderer of charts cannot be started: %w", err)
	}
	raw, readErr := io.ReadAll(io.LimitReader(output, encodedFactor*r.limits.UnpackedBytes+1<<20))
	if readErr != nil || ctx.Err() != nil {
		_ = command.Process.Kill()
	}
	_ = output.Close()
	if err := command.Wait(); err != nil {
		return chartAnswer{}, died(err, command.ProcessState, r.limits)
	}
	var answer chartAnswer
	if err := json.Unmarshal(raw, &answer); err != nil {
		return chartAnswer{}, fault.New(fault.Transient, ReasonRendererFailed, "the renderer of charts gave no answer")
	}
	return answer, nil
}

const (
	// runtimeDied is the exit code of a Go program that ran out of memory or stack, outOfTime that of a renderer that used
	// up its time on processors.
	runtimeDied = 2
	outOfTime   = 3
	// renderProcessors is how many processors a renderer uses at once.
	renderProcessors = 2
)

// died says why a renderer ended without an answer. Where it used up its time on processors or its runtime gave up, the
// chart was too much for it; any other end, that of the clock on the wall included, says nothing about the chart.
func died(err error, state *os.ProcessState, limits Limits) error {
	switch {
	case state.ExitCode() == outOfTime || state.UserTime()+state.SystemTime() >= limits.RenderTime:
		return fault.New(fault.Rejected, ReasonInvalidChart, "the chart did not render within %s of processor time", limits.RenderTime)
	case diedOfIt(state.ExitCode()):
		return fault.New(fault.Rejected, ReasonInvalidChart,
			"the chart cannot be rendered: its templates take more than %d MiB of memory, or call themselves without an end", limits.RenderBytes>>20)
	}
	return fault.New(fault.Transient, ReasonRendererFailed, "the renderer of charts was ended: %w", err)
}

// ServeRenderer is the other side of Options.Renderer: it reads one job, does it, and writes the answer. It is for a
// process of its own, which it gives the limits of the job, and which may die of it.
func ServeRenderer(in io.Reader, out io.Writer) error {
	var job chartJob
	if err := json.NewDecoder(in).Decode(&job); err != nil {
		return fmt.Errorf("read the chart: %w", err)
	}
	if err := confine(job.Limits); err != nil {
		return fmt.Errorf("limit the renderer: %w", err)
	}
	return json.NewEncoder(out).Encode(job.do())
}
