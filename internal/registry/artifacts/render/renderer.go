// Package render turns the files of a module into Kubernetes objects: it unpacks archives (Unpack), parses YAML
// (Parser) and renders Helm charts (Renderer). It knows nothing of registries.
//
// Its input is untrusted. Limits bounds the size of everything that it reads and writes, and charts are rendered in a
// separate process that confines itself:
//
//	answer, err := render.NewRenderer(program, 2, limits).Do(ctx, render.NewJob(files, limits)) // the caller
//	err := render.ServeRenderer(os.Stdin, os.Stdout)                                           // the program
//
// Invariants:
//
//   - A chart must not reach a file, the network, the environment or another process, or outlive its time and memory.
//   - A fault.Rejected error is the chart's or layer's own fault. A killed or starved renderer is Transient, and retried.
//   - Charts and YAML are read like Helm and kubectl read them.
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

// Renderer renders charts, by default each in a separate process. Templates are foreign programs, and this process
// cannot limit them: the engine builds its output as a string; `tpl` can call itself until the stack overflows, which
// Go cannot recover from; and a goroutine that never ends cannot be stopped. A process can be limited and killed. It
// costs some tens of milliseconds once for each chart, values and kind of cluster, because results are cached.
type Renderer struct {
	program []string
	limits  Limits
	slots   chan struct{}
}

// NewRenderer returns a renderer that does at most atOnce jobs at a time. It starts program, which must call
// ServeRenderer, for each job. Without a program it does jobs in this process.
func NewRenderer(program []string, atOnce int, limits Limits) *Renderer {
	return &Renderer{program: program, limits: limits, slots: make(chan struct{}, atOnce)}
}

// Do does a job. A fault.Rejected error says what is wrong with the chart.
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
		return Answer{}, fault.New(fault.Transient, ReasonRendererFailed, "the chart did not render within %s, and the busy node gave it less than %s of processor time",
			r.limits.RenderWait, r.limits.RenderTime)
	case err != nil:
		return Answer{}, err
	}
	return got, got.err()
}

// inProcess does the job in this process. A job that never ends leaks a goroutine.
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

// encodedFactor is a generous estimate of how much larger an answer is in JSON.
const encodedFactor = 2

// inOtherProcess does the job in a separate process without environment variables, which is killed when ctx is done.
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
		return Answer{}, fault.New(fault.Transient, ReasonRendererFailed, "the chart renderer cannot be started: %w", err)
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
		return Answer{}, fault.New(fault.Transient, ReasonRendererFailed, "the chart renderer gave no answer")
	}
	return answer, nil
}

// died returns the reason why a renderer ended without an answer. If it used up its processor time, or its runtime gave
// up, the chart is at fault. Any other end, including a timeout, says nothing about the chart.
func died(err error, state *os.ProcessState, limits Limits) error {
	switch {
	case state.ExitCode() == outOfTime || state.UserTime()+state.SystemTime() >= limits.RenderTime:
		return fault.New(fault.Rejected, ReasonInvalidChart, "the chart did not render within %s of processor time", limits.RenderTime)
	case isOutOfMemory(state.ExitCode()):
		return fault.New(fault.Rejected, ReasonInvalidChart,
			"the chart cannot be rendered: its templates use more than %d MiB of memory, or an endless recursion", limits.RenderBytes>>20)
	}
	return fault.New(fault.Transient, ReasonRendererFailed, "the chart renderer was terminated: %w", err)
}

// ServeRenderer is the other side of artifacts.Options.Renderer: it reads one job, does the job, and writes the answer.
// Call it only in a separate process: it applies the job's limits to the process, which may die of them.
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
