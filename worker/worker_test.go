package worker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
)

// fakeWorker counts starts and stops.
type fakeWorker struct {
	starts, stops atomic.Int32
	err           error
}

func (f *fakeWorker) Start() error { f.starts.Add(1); return f.err }
func (f *fakeWorker) Stop()        { f.stops.Add(1) }

func workersOf(fakes ...*fakeWorker) *Workers {
	w := &Workers{fatal: make(chan error, 1)}
	for _, each := range fakes {
		w.workers = append(w.workers, each)
	}
	return w
}

func TestWorkersStopWhenTheProcessDoes(t *testing.T) {
	t.Parallel()
	first, second := &fakeWorker{}, &fakeWorker{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, workersOf(first, second).Start(ctx))
	require.EqualValues(t, 1, first.stops.Load())
	require.EqualValues(t, 1, second.stops.Load())
}

func TestAWorkerThatCannotContinueEndsTheProcess(t *testing.T) {
	t.Parallel()
	fake := &fakeWorker{}
	w := workersOf(fake)
	denied := errors.New("namespace is not found")
	w.queue(Options{}, 1).OnFatalError(denied)
	w.queue(Options{}, 1).OnFatalError(errors.New("a second one does not block"))
	require.ErrorIs(t, w.Start(t.Context()), denied)
	require.EqualValues(t, 1, fake.stops.Load())
}

func TestWorkersThatStartedStopWhenAnotherCannotStart(t *testing.T) {
	t.Parallel()
	first, second := &fakeWorker{}, &fakeWorker{err: errors.New("no connection")}
	require.ErrorContains(t, workersOf(first, second).Start(t.Context()), "no connection")
	require.EqualValues(t, 1, first.stops.Load())
	require.Zero(t, second.stops.Load())
}

// Without the flag the workers are unversioned, and no version has to be made current.
func TestWorkersAreVersionedOnlyWithTheFlag(t *testing.T) {
	require.Zero(t, (&Workers{}).queue(Options{BuildID: "1.0.0"}, 1).DeploymentOptions)
	options := (&Workers{}).queue(Options{BuildID: "1.0.0", Versioned: true}, 1).DeploymentOptions
	require.True(t, options.UseVersioning)
	require.Equal(t, worker.WorkerDeploymentVersion{DeploymentName: "lifecycle-manager", BuildID: "1.0.0"}, options.Version)
}
