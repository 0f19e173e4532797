package worker

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
)

// TaskFailures counts and logs failed workflow tasks of this process. A task fails in the process, for example
// because its history does not replay, or the server rejects its result, for example because of an unknown search
// attribute. The server retries the task again and again, so the workflow makes no progress before the cause is
// fixed.
type TaskFailures struct {
	failed *prometheus.CounterVec
	log    logr.Logger
	now    func() time.Time

	mu sync.Mutex
	// said is when the last failure was logged. unsaid counts the failures since then.
	said   time.Time
	unsaid int
}

// sayFailuresEvery limits the rate of log lines if all workflows of a fleet fail.
const sayFailuresEvery = 10 * time.Second

// causeRefused is the cause of a failure if the server rejected the result.
const causeRefused = "Refused"

// NewTaskFailures registers lifecycle_mgr_workflow_task_failures_total.
func NewTaskFailures(registry prometheus.Registerer, log logr.Logger) (*TaskFailures, error) {
	failed, err := metrics.NewTaskFailures(registry)
	if err != nil {
		return nil, err
	}
	return &TaskFailures{failed: failed, log: log, now: time.Now}, nil
}

// Intercept is a grpc.UnaryClientInterceptor for the connection to Temporal.
func (f *TaskFailures) Intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, conn, opts...)
	switch request := req.(type) {
	case *workflowservice.RespondWorkflowTaskFailedRequest:
		f.note(request.GetResourceId(), request.GetCause().String(), request.GetFailure().GetMessage())
	case *workflowservice.RespondWorkflowTaskCompletedRequest:
		if refused := serviceerror.ToStatus(err); refused.Code() == codes.InvalidArgument && !isOutrun(refused.Message()) {
			f.note(request.GetResourceId(), causeRefused, err.Error())
		}
	}
	return err
}

// isOutrun reports whether the server rejected a result because a signal arrived before the run ended. The server
// then retries the task with the signal.
func isOutrun(message string) bool {
	return message == enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND.String()
}

// note counts and logs a failure. resource is the request's resource id, which names the workflow.
func (f *TaskFailures) note(resource, cause, message string) {
	f.failed.WithLabelValues(cause).Inc()
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if now.Sub(f.said) < sayFailuresEvery {
		f.unsaid++
		return
	}
	f.log.Error(nil, "a workflow task failed, it will be tried again", logkey.WorkflowID, strings.TrimPrefix(resource, "workflow:"), logkey.Cause, cause, logkey.Message, message, logkey.OthersSince, f.unsaid)
	f.said, f.unsaid = now, 0
}
