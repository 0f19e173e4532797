package harness

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/apply"
	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
	workers "github.com/kyma-project/lifecycle-manager/worker"
)

const (
	// shortTimeout is the time-out of heartbeats and workflow tasks, so that what a worker was doing when it was
	// cut off is soon given to another one.
	shortTimeout = 2 * time.Second
	// shortAttempt bounds the attempts of what does not heartbeat.
	shortAttempt = 3 * time.Second
)

// Worker is a process' worth of workers for Manifests: what it talks to, it talks to through one wire.
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

// Clients makes clients that talk through a wire.
func (l *Lane) Clients(t testing.TB, w *Wire) Clients {
	t.Helper()
	config := rest.CopyConfig(l.ControlConfig)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return w.Through(ToControlPlane, next) })
	control, err := client.New(config, client.Options{Scheme: l.Scheme})
	require.NoError(t, err)
	access, err := clusters.New(clusters.Options{
		ControlPlane: config, Scheme: l.Scheme,
		WrapTransport: func(_ string, next http.RoundTripper) http.RoundTripper { return w.Through(ToRemote, next) },
	})
	require.NoError(t, err)
	return Clients{Control: control, Clusters: access}
}

// Manifests makes the activities of Manifests, which talk through a wire.
func (l *Lane) Manifests(t testing.TB, c Clients) *workers.ManifestActivities {
	t.Helper()
	activities, err := workers.AssembleManifests(workers.ManifestOptions{
		Steps: manifests.Options{ControlPlane: c.Control, Clusters: c.Clusters, Kymas: nobody{}},
		Apply: apply.Options{Artifacts: l.artifacts},
		Purge: purge.Options{Manifests: nobody{}},
	})
	require.NoError(t, err)
	return activities
}

// nobody is the Kyma's workflow: there is none.
type nobody struct{}

func (nobody) OpenKyma(context.Context, kick.Ref, kick.Kick) error { return nil }

func (nobody) Purge(context.Context, kick.Ref, kick.Kick) error { return nil }

// Work starts a worker. It is stopped at the end of the test at the latest.
func (l *Lane) Work(t testing.TB, w *Wire) *Worker {
	t.Helper()
	connection, err := temporal.Dial(temporal.Options{
		HostPort: testfleet.Require(t, "TEMPORAL_ADDRESS"), Namespace: l.Namespace, Logger: quiet{},
		ConnectionOptions: temporal.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(w.Calls())}},
	})
	require.NoError(t, err)
	p := &Worker{Manifests: l.Manifests(t, l.Clients(t, w)), client: connection}
	for _, queue := range []string{kick.ControlPlaneQueue, kick.RemoteQueue} {
		options := worker.Options{
			DisableWorkflowWorker:            queue != kick.ControlPlaneQueue,
			Interceptors:                     []interceptor.WorkerInterceptor{&impatience{}, workers.Heartbeats()},
			DefaultHeartbeatThrottleInterval: shortTimeout / 5, MaxHeartbeatThrottleInterval: shortTimeout / 5,
		}
		each := worker.New(connection, queue, options)
		if queue == kick.ControlPlaneQueue {
			workers.RegisterWorkflows(each)
		}
		for _, activity := range []any{
			p.Manifests.Install.ApplyManifest, p.Manifests.Install.WaitManifest, p.Manifests.Install.EnsureDefaultCR, p.Manifests.Steps.ReportManifest,
			p.Manifests.Uninstall.RemoveManifest, p.Manifests.Uninstall.WaitRemoval,
		} {
			each.RegisterActivity(activity)
		}
		require.NoError(t, each.Start())
		p.workers = append(p.workers, each)
	}
	t.Cleanup(p.Stop)
	return p
}

// Abandon lets go of a worker that was cut off. Nobody waits for it before the end of the test.
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

// impatience shortens the time-outs of activities to what a test can wait for.
type impatience struct {
	interceptor.WorkerInterceptorBase
}

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (*impatience) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	inbound := &impatientWorkflow{}
	inbound.Next = next
	return inbound
}

type impatientWorkflow struct {
	interceptor.WorkflowInboundInterceptorBase
}

// Init implements interceptor.WorkflowInboundInterceptor.
func (i *impatientWorkflow) Init(next interceptor.WorkflowOutboundInterceptor) error {
	outbound := &impatientCalls{}
	outbound.Next = next
	return i.Next.Init(outbound)
}

type impatientCalls struct {
	interceptor.WorkflowOutboundInterceptorBase
}

// ExecuteActivity implements interceptor.WorkflowOutboundInterceptor.
func (i *impatientCalls) ExecuteActivity(ctx workflow.Context, activity string, arguments ...any) workflow.Future {
	if workflow.GetActivityOptions(ctx).HeartbeatTimeout > 0 {
		ctx = workflow.WithHeartbeatTimeout(ctx, shortTimeout)
	} else {
		ctx = workflow.WithStartToCloseTimeout(ctx, shortAttempt)
	}
	return i.Next.ExecuteActivity(ctx, activity, arguments...)
}

func keyOf(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}
