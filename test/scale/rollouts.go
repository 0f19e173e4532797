package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/scale/processes"
	"github.com/kyma-project/lifecycle-manager/test/scale/record"
	"github.com/kyma-project/lifecycle-manager/test/scale/scenarios"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// makePolicy makes a policy for all modules.
func (e *environment) makePolicy(ctx context.Context, s scenarios.Policy) error {
	concurrency, share := intstr.FromInt(s.Concurrency), int32(100/s.Stages) //nolint:gosec // a percentage
	policy := &v1beta2.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: kymaNamespace, Name: "scale"}}
	policy.Spec.Concurrency = &concurrency
	for i := range s.Stages - 1 {
		policy.Spec.Stages = append(policy.Spec.Stages, v1beta2.RolloutStage{Name: fmt.Sprintf("stage-%d", i+1), Percent: &share})
	}
	return e.client.Create(ctx, policy)
}

// rollOut pushes a new version of the first module, and waits for its rollout.
func (p *player) rollOut(ctx context.Context, s scenarios.Rollout) (outcome, error) {
	p.releases = p.after(1)
	version := versionOf(p.releases[0])
	stop := p.killEvery(ctx, s.KillEvery)
	result := outcome{kymas: len(p.there)}
	var err error
	if s.Bad {
		if err = p.pushBad(ctx, version, 0); err == nil {
			err = p.awaitRollout(ctx, version, v1beta2.RolloutHeld)
		}
	} else {
		all := newWaiting().forAll(p.there, p.ready(p.releases))
		result.latencies = map[string]*waiting{"kymas": all}
		err = p.observe(ctx, allMost, func(ctx context.Context) error { return p.push(ctx, version, 0) }, all)
		if err == nil {
			err = p.awaitRollout(ctx, version, v1beta2.RolloutCompleted)
		}
	}
	if err == nil {
		err = pause(ctx, durationOr(s.For, 0))
	}
	kills, killing := stop()
	if err := errors.Join(err, killing); err != nil {
		return outcome{}, err
	}
	if s.Bad {
		// What is held must be so still, whoever was killed.
		if err := p.awaitRollout(ctx, version, v1beta2.RolloutHeld); err != nil {
			return outcome{}, err
		}
	}
	if result.rollout, err = p.describeRollout(ctx, version); err != nil {
		return outcome{}, err
	}
	result.rollout.Kills = kills
	return result, nil
}

// rolloutTo is the rollout of a version of the first module; nil where there is none.
func (e *environment) rolloutTo(ctx context.Context, version string) (*v1beta2.ModuleRollout, error) {
	list := &v1beta2.ModuleRolloutList{}
	if err := e.client.List(ctx, list, client.InNamespace(kymaNamespace)); err != nil {
		return nil, fmt.Errorf("list the rollouts: %w", err)
	}
	at := slices.IndexFunc(list.Items, func(r v1beta2.ModuleRollout) bool {
		return r.Spec.ModuleName == moduleName(0) && r.Spec.To == version
	})
	if at < 0 {
		return nil, nil //nolint:nilnil // it is about to be made
	}
	return &list.Items[at], nil
}

func (e *environment) awaitRollout(ctx context.Context, version string, phase v1beta2.RolloutPhase) error {
	return processes.Until(ctx, allMost, fmt.Sprintf("the rollout of %s is %s", version, phase), func() (bool, error) {
		r, err := e.rolloutTo(ctx, version)
		if err != nil || r == nil {
			return false, err
		}
		if r.HasEnded() && r.Status.Phase != phase {
			return false, fmt.Errorf("the rollout of %s is %s", version, r.Status.Phase) //nolint:err113 // for people
		}
		// Not at each of many short intervals: that would be most of what the control plane is asked.
		return r.Status.Phase == phase, pause(ctx, 500*time.Millisecond)
	})
}

func (e *environment) describeRollout(ctx context.Context, version string) (*record.Rollout, error) {
	r, err := e.rolloutTo(ctx, version)
	if err != nil {
		return nil, err
	}
	if r == nil || r.Status.StartedAt == nil {
		return nil, fmt.Errorf("the rollout of %s is gone", version) //nolint:err113 // for people
	}
	described := &record.Rollout{Phase: string(r.Status.Phase)}
	for _, stage := range r.Status.Stages {
		described.Stages = append(described.Stages, int(stage.Total))
		described.Released += int(stage.Released)
	}
	end := r.Status.CompletedAt
	if r.Status.Phase == v1beta2.RolloutHeld {
		end = r.Status.WaitsSince
		failures, err := e.failuresOf(ctx, version)
		if err != nil {
			return nil, err
		}
		described.FailedByThen = len(slices.DeleteFunc(slices.Clone(failures), func(at time.Time) bool { return at.After(end.Time) }))
		if len(failures) >= rollout.DefaultSameFailures {
			described.FromThirdFailure = new(end.Sub(failures[rollout.DefaultSameFailures-1]).Seconds())
		}
	}
	described.Seconds = end.Sub(r.Status.StartedAt.Time).Seconds()
	described.History, err = e.historyOf(ctx, kick.RolloutWorkflowID(kick.RefOf(r)))
	return described, err
}

// failuresOf are the times when clusters failed with a version of the first module, in order.
func (e *environment) failuresOf(ctx context.Context, version string) ([]time.Time, error) {
	list := &v1beta2.ManifestList{}
	if err := e.client.List(ctx, list, client.InNamespace(kymaNamespace)); err != nil {
		return nil, fmt.Errorf("list the Manifests: %w", err)
	}
	var failed []time.Time
	for _, m := range list.Items {
		if m.Spec.Version == version && m.Labels[shared.LabelModuleName] == moduleName(0) && m.Status.State == shared.StateError && m.Status.LastOperation != nil {
			failed = append(failed, m.Status.LastOperation.LastUpdateTime.Time)
		}
	}
	slices.SortFunc(failed, time.Time.Compare)
	return failed, nil
}

// killEvery kills one process of Lifecycle Manager after the other, and starts it again, until it is stopped.
func (p *player) killEvery(ctx context.Context, every *metav1.Duration) (stop func() (kills int, err error)) {
	if every == nil {
		return func() (int, error) { return 0, nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	kills, failed := 0, error(nil)
	ended.Go(func() {
		for failed == nil && ctx.Err() == nil {
			m := p.managers[kills%len(p.managers)]
			p.end(m.Process, syscall.SIGKILL)
			m.Process = nil
			kills++
			if failed = p.startManagers(context.WithoutCancel(ctx)); failed == nil {
				_ = pause(ctx, every.Duration) // it ends when it is to stop
			}
		}
	})
	return func() (int, error) {
		cancel()
		ended.Wait()
		return kills, failed
	}
}
