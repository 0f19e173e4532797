// Package authority has CertificatesWorkflow, which rotates the certificate authorities of agents and listener before
// they expire. Each instance of Lifecycle Manager has one, which never completes.
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

// Input is the input of CertificatesWorkflow. A starter leaves it empty; only continue-as-new fills it.
type Input struct {
	// Next is the time of the next rotation. Zero means at once.
	Next time.Time `json:"next,omitzero"`
	// Failures counts failed attempts in a row.
	Failures int `json:"failures,omitempty"`
	// Awaited counts rounds in a row in which the issuer had not issued the listener's certificate yet.
	Awaited int `json:"awaited,omitempty"`
	// View is the view of the previous run.
	View View `json:"view,omitzero"`
}

const (
	// roundsPerRun bounds the history of one run.
	roundsPerRun = 100
	// minRest and maxRest bound the time between two rounds if no kick comes.
	minRest, maxRest = time.Minute, time.Hour
	// awaitedRest is the first wait for an issuer. It doubles up to minRest. Agents do not work before the issuer has
	// issued the listener's certificate.
	awaitedRest = time.Second
	// stepTimeout bounds one attempt: a page of Secret metadata per 500 agents, and a few writes.
	stepTimeout = 2 * time.Minute
)

// CertificatesWorkflow rotates authorities when a rotation is due or a kick asks for one. It retries failures and
// never ends with an error.
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
			// The next run, if any, must act at once.
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

// rest waits until a rotation is due or a signal arrives.
func (r *run) rest(ctx workflow.Context) error {
	wait := r.in.Next.Sub(workflow.Now(ctx))
	if wait <= 0 || r.in.Next.IsZero() {
		return nil
	}
	waiting, cancel := workflow.WithCancel(ctx)
	defer cancel()
	_, err := workflow.AwaitWithOptions(waiting, workflow.AwaitOptions{
		Timeout:      wait,
		TimerOptions: workflow.TimerOptions{Summary: "the next check of the certificates"},
	}, r.mail.Arrived)
	return err
}

// rotate takes the steps that are due. It returns an error only if the workflow was canceled.
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

// restAfter returns how many rounds in a row have now waited for an issuer, and when to rotate again.
func (r *run) restAfter(result certificates.Rotated, now time.Time) (awaited int, next time.Time) {
	if !result.Awaited {
		return 0, nextRound(now, result.Next)
	}
	awaited = r.in.Awaited + 1
	return awaited, now.Add(doubled(awaitedRest, awaited, minRest))
}

// nextRound returns when to rotate again. It is never later than maxRest, because no event reports some changes by an
// issuer, an agent or a person.
func nextRound(now, due time.Time) time.Time {
	if due.IsZero() {
		return now.Add(maxRest)
	}
	return now.Add(min(max(due.Sub(now), minRest), maxRest))
}

// backoff returns the wait after this many failures in a row.
func backoff(failures int) time.Duration { return doubled(minRest, failures, maxRest) }

// doubled returns first, doubled for each attempt after the first, and at most most.
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
		Summary: "rotate the certificate authorities of agents and listener",
	})
}

// show updates the current details.
func (r *run) show(ctx workflow.Context) { workflow.SetCurrentDetails(ctx, r.in.View.Markdown()) }
