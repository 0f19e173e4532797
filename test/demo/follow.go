package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// rollout is what the tour reads of a ModuleRollout.
type rollout struct {
	Metadata struct {
		Name string `json:"name"`
		UID  string `json:"uid"`
	} `json:"metadata"`
	Spec struct {
		From string `json:"from"`
		To   string `json:"to"`
	} `json:"spec"`
	Status struct {
		Phase     string `json:"phase"`
		StageName string `json:"stageName"`
		WaitsFor  string `json:"waitsFor"`
		Stages    []struct {
			Total    int `json:"total"`
			Released int `json:"released"`
			Ready    int `json:"ready"`
		} `json:"stages"`
		Failures []struct {
			Message string   `json:"message"`
			Kymas   []string `json:"kymas"`
		} `json:"failures"`
	} `json:"status"`
}

// longestWait is how much of what a rollout waits for is shown in a line.
const longestWait = 76

// line says how far the rollout is.
func (r rollout) line() string {
	total, released, ready := 0, 0, 0
	for _, stage := range r.Status.Stages {
		total, released, ready = total+stage.Total, released+stage.Released, ready+stage.Ready
	}
	line := fmt.Sprintf("%s %-11s  %-6s  released %d/%d  ready %d/%d",
		r.Spec.To, r.Status.Phase, r.Status.StageName, released, total, ready, total)
	waits := []rune(r.Status.WaitsFor)
	if len(waits) > longestWait {
		waits = append(waits[:longestWait], '…')
	}
	switch {
	case len(waits) == 0:
		return line
	case r.Status.Phase == phaseHeld:
		return line + "  " + string(waits) // why it stopped, and what people can do
	default:
		return line + "  waits for " + string(waits)
	}
}

// Phases in which a rollout stays, and those that the tour expects.
const (
	phaseCompleted = "Completed"
	phaseHeld      = "Held"
)

// isStopped tells whether a rollout goes on by itself no more.
func isStopped(phase string) bool {
	return slices.Contains([]string{phaseCompleted, phaseHeld, "Reverted", "Aborted", "Superseded", "Paused", "AwaitingApproval"}, phase)
}

var (
	errOtherwise = errors.New("the tour did not go as told")
	errEndOfList = errors.New("the API server ended the watch")
)

// follow prints how far the rollout of a version is whenever that changes, until it is in a phase.
func (d *demo) follow(ctx context.Context, version, phase string) (rollout, error) {
	limited, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	in, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = out.CloseWithError(orStopped(d.controlPlane.watchRollouts(limited, out)))
	}()
	last, err := d.readRollouts(in, version, phase)
	// The watch ends when it cannot write, or by its context.
	_ = in.Close()
	cancel()
	<-ended
	if err != nil && ctx.Err() == nil && limited.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		return last, fmt.Errorf("%w: the rollout of %s is not %s after %s: %s", errOtherwise, version, phase, d.timeout, orNone(last))
	}
	return last, err
}

// readRollouts prints what changes in the rollout of a version, until it is in a phase or stopped in another.
func (d *demo) readRollouts(in io.Reader, version, phase string) (rollout, error) {
	var last rollout
	for decoder, printed := json.NewDecoder(in), ""; ; {
		var r rollout
		if err := decoder.Decode(&r); err != nil {
			return last, fmt.Errorf("follow the rollout of %s: %w", version, err)
		}
		if r.Spec.To != version || r.Status.Phase == "" {
			continue
		}
		begins := r.Spec.From == r.Spec.To // with the policy, for the version that all have; nothing is to be seen of it
		if last.Metadata.UID == "" && !begins {
			d.say("Temporal shows the workflow of this rollout:\n\n  %s\n", d.workflowURL("rollout", r.Metadata.Name, r.Metadata.UID))
		}
		last = r
		if line := r.line(); line != printed && !begins {
			d.say("  %s", line)
			printed = line
		}
		switch {
		case r.Status.Phase == phase:
			return r, nil
		case isStopped(r.Status.Phase):
			return r, fmt.Errorf("%w: the rollout of %s is %s, and not %s: %s",
				errOtherwise, version, r.Status.Phase, phase, r.Status.WaitsFor)
		}
	}
}

func orStopped(err error) error {
	if err == nil {
		return errEndOfList
	}
	return err
}

// orNone says how far a rollout was; of none, that there is none.
func orNone(r rollout) string {
	if r.Metadata.UID == "" {
		return "there is none"
	}
	return r.line()
}
