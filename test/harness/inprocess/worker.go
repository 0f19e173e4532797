package inprocess

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/installations"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness/faultproxy"
	"github.com/kyma-project/lifecycle-manager/test/harness/temporaltest"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
	workers "github.com/kyma-project/lifecycle-manager/worker"
)

const (
	// shortTimeout is the time-out of heartbeats and workflow tasks, so that the work of a worker that was
	// cut off is soon given to another one.
	shortTimeout = 2 * time.Second
	// shortAttempt bounds the attempts of what does not heartbeat.
	shortAttempt = 3 * time.Second
)

// Worker has the Temporal workers for Manifests of one process. All its connections go through one fault proxy.
type Worker struct {
	Manifests *workers.ManifestActivities
	workers   []worker.Worker
	client    temporal.Client
	once      sync.Once
}

// Clients are what the activities of one process use.
type Clients struct {
	Control  client.Client
	Clusters *clusters.Registry
}

// Clients makes clients that connect through a proxy.
func (h *Harness) Clients(t testing.TB, proxy *faultproxy.Proxy) Clients {
	t.Helper()
	config := rest.CopyConfig(h.ControlConfig)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return proxy.Through(faultproxy.ToControlPlane, next) })
	control, err := client.New(config, client.Options{Scheme: h.Scheme})
	require.NoError(t, err)
	access, err := clusters.New(clusters.Options{
		ControlPlane: config, Scheme: h.Scheme,
		WrapTransport: func(_ string, next http.RoundTripper) http.RoundTripper {
			return proxy.Through(faultproxy.ToRemote, next)
		},
	})
	require.NoError(t, err)
	return Clients{Control: control, Clusters: access}
}

// Manifests makes the activities of Manifests, with these clients.
func (h *Harness) Manifests(t testing.TB, c Clients) *workers.ManifestActivities {
	t.Helper()
	activities, err := workers.AssembleManifests(workers.ManifestOptions{
		Steps: manifests.Options{ControlPlane: installations.Client(c.Control), Clusters: c.Clusters},
		Apply: apply.Options{Artifacts: h.artifacts},
	})
	require.NoError(t, err)
	return activities
}

// kymaIsGone stands for the Kyma's own steps, which are not part of the test: the workflow of a Kyma that is gone works on its
// Manifests alone, and ends with that work.
func kymaIsGone(context.Context, syncing.Input) (syncing.Result, error) {
	return syncing.Result{Outcome: syncing.OutcomeGone}, nil
}

// Work starts a worker. It is stopped at the end of the test at the latest.
func (h *Harness) Work(t testing.TB, proxy *faultproxy.Proxy) *Worker {
	t.Helper()
	connection, err := temporal.Dial(temporal.Options{
		HostPort: testfleet.Require(t, "TEMPORAL_ADDRESS"), Namespace: h.Namespace, Logger: temporaltest.NoLog{},
		ConnectionOptions: temporal.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(proxy.Calls())}},
	})
	require.NoError(t, err)
	p := &Worker{Manifests: h.Manifests(t, h.Clients(t, proxy)), client: connection}
	for _, queue := range []string{kick.ControlPlaneQueue, kick.RemoteQueue, kick.FollowQueue} {
		options := worker.Options{
			DisableWorkflowWorker:            queue != kick.ControlPlaneQueue,
			Interceptors:                     []interceptor.WorkerInterceptor{&shortTimeouts{}, workers.Heartbeats()},
			DefaultHeartbeatThrottleInterval: shortTimeout / 5, MaxHeartbeatThrottleInterval: shortTimeout / 5,
		}
		each := worker.New(connection, queue, options)
		if queue == kick.ControlPlaneQueue {
			workers.RegisterWorkflows(each)
		}
		for _, step := range []any{
			p.Manifests.Install.ApplyManifest, p.Manifests.Install.FollowModules, p.Manifests.Install.EnsureDefaultCR, p.Manifests.Install.ReportManifest,
			p.Manifests.Uninstall.RemoveManifest, p.Manifests.Uninstall.WaitRemoval,
		} {
			each.RegisterActivity(step)
		}
		each.RegisterActivityWithOptions(kymaIsGone, activity.RegisterOptions{Name: "SyncRemote"})
		require.NoError(t, each.Start())
		p.workers = append(p.workers, each)
	}
	t.Cleanup(p.Stop)
	return p
}

// Abandon stops a worker that was cut off in the background. Only the end of the test waits for it.
func (p *Worker) Abandon() { go p.Stop() }

// Stop stops a worker and waits until it has.
func (p *Worker) Stop() {
	p.once.Do(func() {
		for _, each := range p.workers {
			each.Stop()
		}
		p.client.Close()
	})
}

// shortTimeouts shortens the time-outs of activities to what a test can wait for.
type shortTimeouts struct {
	interceptor.WorkerInterceptorBase
}

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (*shortTimeouts) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	inbound := &shortTimeoutsOfWorkflow{}
	inbound.Next = next
	return inbound
}

type shortTimeoutsOfWorkflow struct {
	interceptor.WorkflowInboundInterceptorBase
}

// Init implements interceptor.WorkflowInboundInterceptor.
func (i *shortTimeoutsOfWorkflow) Init(next interceptor.WorkflowOutboundInterceptor) error {
	outbound := &shortTimeoutsOfActivities{}
	outbound.Next = next
	return i.Next.Init(outbound)
}

type shortTimeoutsOfActivities struct {
	interceptor.WorkflowOutboundInterceptorBase
}

// ExecuteActivity implements interceptor.WorkflowOutboundInterceptor.
func (i *shortTimeoutsOfActivities) ExecuteActivity(ctx workflow.Context, name string, arguments ...any) workflow.Future {
	if workflow.GetActivityOptions(ctx).HeartbeatTimeout > 0 {
		ctx = workflow.WithHeartbeatTimeout(ctx, shortTimeout)
	} else {
		ctx = workflow.WithStartToCloseTimeout(ctx, shortAttempt)
	}
	return i.Next.ExecuteActivity(ctx, name, arguments...)
}

func keyOf(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}
