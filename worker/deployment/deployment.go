package deployment

import (
	"context"
	"errors"
	"fmt"
	"time"

	deploymentpb "go.temporal.io/api/deployment/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/kyma-project/lifecycle-manager/worker/taskqueues"
)

// unversionedName is Temporal's name for unversioned workers in a routing configuration.
const unversionedName = "__unversioned__"

// Deployment is the worker deployment of an instance in its Temporal namespace.
type Deployment struct {
	Temporal  workflowservice.WorkflowServiceClient
	Namespace string
	// Identity is recorded with each change.
	Identity string
	Now      func() time.Time
}

// isBusy reports whether Temporal answered that it is busy. The server asks an internal workflow about a deployment, and
// accepts one query at a time.
func isBusy(err error) bool {
	var busy *serviceerror.ResourceExhausted
	return errors.As(err, &busy)
}

// Read reads the state. If no versioned worker has ever polled, it does not ask for pollers.
func (d Deployment) Read(ctx context.Context) (State, error) {
	var described *workflowservice.DescribeWorkerDeploymentResponse
	someSeconds := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 7}
	err := retry.OnError(someSeconds, isBusy, func() (err error) {
		described, err = d.Temporal.DescribeWorkerDeployment(ctx, &workflowservice.DescribeWorkerDeploymentRequest{Namespace: d.Namespace, DeploymentName: Name})
		return err
	})
	var unknown *serviceerror.NotFound
	if errors.As(err, &unknown) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("describe the worker deployment %s: %w", Name, err)
	}
	info := described.GetWorkerDeploymentInfo()
	routing := info.GetRoutingConfig()
	s := State{
		Exists: true, Current: buildOf(routing.GetCurrentDeploymentVersion()), Pollers: map[string]Pollers{}, token: described.GetConflictToken(),
	}
	if ramping := routing.GetRampingDeploymentVersion(); ramping != nil || routing.GetRampingVersion() == unversionedName { //nolint:staticcheck // no other field shows that unversioned workers ramp
		s.Ramping = &Ramping{
			BuildID: buildOf(ramping), Percent: routing.GetRampingVersionPercentage(), Since: routing.GetRampingVersionPercentageChangedTime().AsTime(),
		}
	}
	for _, each := range info.GetVersionSummaries() {
		v := Version{BuildID: buildOf(each.GetDeploymentVersion()), Draining: each.GetStatus() == enumspb.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING}
		if at := each.GetFirstActivationTime(); at != nil {
			v.Activated = at.AsTime()
		}
		if at := each.GetLastDeactivationTime(); at != nil {
			v.Deactivated = at.AsTime()
		}
		s.Versions = append(s.Versions, v)
	}
	return s, d.readPollers(ctx, s.Pollers)
}

// readPollers finds out which builds poll which task queues.
func (d Deployment) readPollers(ctx context.Context, into map[string]Pollers) error {
	queues := taskqueues.All()
	polled := map[string]int{}
	for _, q := range queues {
		described, err := taskqueues.Describe(ctx, d.Temporal, d.Namespace, q, d.Now())
		if err != nil {
			return err
		}
		builds := map[string]bool{}
		for _, each := range described.Pollers {
			builds[buildOfPoller(each.GetDeploymentOptions())] = true
		}
		for build := range builds {
			polled[build]++
		}
	}
	for build, count := range polled {
		into[build] = SomeQueues
		if count == len(queues) {
			into[build] = EveryQueue
		}
	}
	return nil
}

func buildOf(v *deploymentpb.WorkerDeploymentVersion) string { return v.GetBuildId() }

func buildOfPoller(options *deploymentpb.WorkerDeploymentOptions) string {
	if options.GetWorkerVersioningMode() != enumspb.WORKER_VERSIONING_MODE_VERSIONED {
		return Unversioned
	}
	return options.GetBuildId()
}

// Do makes the change of a step that was decided on a state. It fails if another client has changed the deployment
// since.
func (d Deployment) Do(ctx context.Context, s State, step Step) error {
	switch {
	case step.Current != nil:
		// All task queues of this release are known to be polled. A queue of an earlier release may be gone.
		_, err := d.Temporal.SetWorkerDeploymentCurrentVersion(ctx, &workflowservice.SetWorkerDeploymentCurrentVersionRequest{
			Namespace: d.Namespace, DeploymentName: Name, BuildId: *step.Current, ConflictToken: s.token, Identity: d.Identity, IgnoreMissingTaskQueues: true,
		})
		if err != nil {
			return fmt.Errorf("make %s the current version of the worker deployment %s: %w", Say(*step.Current), Name, err)
		}
	case step.Ramping != nil:
		_, err := d.Temporal.SetWorkerDeploymentRampingVersion(ctx, &workflowservice.SetWorkerDeploymentRampingVersionRequest{
			Namespace: d.Namespace, DeploymentName: Name, BuildId: *step.Ramping, Percentage: step.Percent, ConflictToken: s.token, Identity: d.Identity,
			IgnoreMissingTaskQueues: true,
		})
		if err != nil {
			return fmt.Errorf("ramp %s to %g %% of the workflows of the worker deployment %s: %w", Say(*step.Ramping), step.Percent, Name, err)
		}
	}
	return nil
}

// Say returns a build id for people.
func Say(buildID string) string {
	if buildID == Unversioned {
		return "unversioned workers"
	}
	return buildID
}
