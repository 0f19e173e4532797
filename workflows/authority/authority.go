// Package authority has the workflow that changes the authorities of agents' and the listener's certificates in time:
// CertificatesWorkflow, one per instance, which runs always.
package authority

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/rotate"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/build"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/logic"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
)

// Input is the input of CertificatesWorkflow. A starter leaves it empty; what is in it is carried from run to run.
type Input struct {
	// Next is when to rotate again; zero is at once.
	Next time.Time `json:"next,omitzero"`
	// Failures is how many attempts failed since the last that did not.
	Failures int `json:"failures,omitempty"`
	// Awaited is how many rounds in a row found that an issuer has yet to issue the listener's certificate.
	Awaited int `json:"awaited,omitempty"`
	// View is what the run before showed.
	View View `json:"view,omitzero"`
}

const (
	// roundsPerRun bounds the history of one run.
	roundsPerRun = 100
	// minRest and maxRest bound the time between two rounds that nobody asks for.
	minRest, maxRest = time.Minute, time.Hour
	// awaitedRest is the first time between two rounds that wait for an issuer, up to minRest: no agent works before.
	awaitedRest = time.Second
	// stepTimeout bounds one attempt: a page of Secrets' metadata per 500 agents, and few writes.
	stepTimeout = 2 * time.Minute
)

// CertificatesWorkflow rotates authorities whenever it is time to or something asks for it. It never ends with an error:
// what failed is tried again.
func CertificatesWorkflow(ctx workflow.Context, in Input) error {
	logic.Of(ctx)
	r := &run{in: in, mail: mailbox.New(ctx, mailbox.Pending{}, mailbox.Pending{}), build: build.Of(ctx)}
	if err := workflow.SetQueryHandler(ctx, kick.QueryStatus, func() (View, error) { return r.in.View, nil }); err != nil {
		return err
	}
	return r.run(ctx)
}

// run is one run of CertificatesWorkflow.
type run struct {
	in    Input
	mail  *mailbox.Mailbox
	build string
	steps *rotate.Activities
}

func (r *run) run(ctx workflow.Context) error {
	r.show(ctx)
	for round := 0; ; round++ {
		if err := r.rest(ctx); err != nil {
			return err
		}
		if kicked := r.mail.Take(); kicked.Count > 0 {
			// The next run, if any, must not wait for its time.
			r.in.Next = workflow.Now(ctx)
		}
		if round >= roundsPerRun || r.mail.Forced || r.build != build.Of(ctx) {
			return workflow.NewContinueAsNewError(ctx, kick.CertificatesWorkflow, r.in)
		}
		if err := r.rotate(ctx); err != nil {
			return err
		}
		r.show(ctx)
	}
}

// rest waits until it is time to rotate, or something came in.
func (r *run) rest(ctx workflow.Context) error {
	wait := r.in.Next.Sub(workflow.Now(ctx))
	if wait <= 0 || r.in.Next.IsZero() {
		return nil
	}
	waiting, cancel := workflow.WithCancel(ctx)
	defer cancel()
	_, err := workflow.AwaitWithOptions(waiting, workflow.AwaitOptions{
		Timeout:      wait,
		TimerOptions: workflow.TimerOptions{Summary: "until the certificates are to be checked again"},
	}, r.mail.Arrived)
	return err
}

// rotate does what can be done now. Only a cancellation of the workflow is an error.
func (r *run) rotate(ctx workflow.Context) error {
	r.in.View.do(doingRotate, workflow.Now(ctx))
	var result certificates.Rotated
	err := workflow.ExecuteActivity(rotating(ctx), r.steps.RotateCertificates, rotate.Input{}).Get(ctx, &result)
	if temporal.IsCanceledError(err) || ctx.Err() != nil {
		return err
	}
	now := workflow.Now(ctx)
	if err != nil {
		r.in.Failures++
		r.in.View.LastFault = fault.FromTemporal(err)
		r.in.Next = now.Add(backoff(r.in.Failures))
	} else {
		r.in.Failures = 0
		r.in.View.take(result)
		r.in.Awaited, r.in.Next = r.restAfter(result, now)
	}
	r.in.View.do(doingWait, now)
	r.in.View.Next = r.in.Next
	return nil
}

// restAfter is how many rounds in a row have waited for an issuer after this one, and when to rotate again.
func (r *run) restAfter(result certificates.Rotated, now time.Time) (awaited int, next time.Time) {
	if !result.Awaited {
		return 0, nextRound(now, result.Next)
	}
	awaited = r.in.Awaited + 1
	return awaited, now.Add(doubled(awaitedRest, awaited, minRest))
}

// nextRound is when to rotate again: an issuer, an agent or a person may change what nobody reports.
func nextRound(now, due time.Time) time.Time {
	if due.IsZero() {
		return now.Add(maxRest)
	}
	return now.Add(min(max(due.Sub(now), minRest), maxRest))
}

// backoff is how long to wait after so many failures in a row.
func backoff(failures int) time.Duration { return doubled(minRest, failures, maxRest) }

// doubled is a time that doubles with each of so many attempts after the first, up to a most.
func doubled(first time.Duration, attempts int, most time.Duration) time.Duration {
	return min(first<<min(max(attempts-1, 0), 10), most)
}

func rotating(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           kick.ControlPlaneQueue,
		StartToCloseTimeout: stepTimeout,
		WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 2,
			MaximumInterval:    20 * time.Second,
			MaximumAttempts:    5,
		},
		Summary: "rotate the authorities of agents and listener",
	})
}

// show writes the current details.
func (r *run) show(ctx workflow.Context) { workflow.SetCurrentDetails(ctx, r.in.View.Markdown()) }
