package lifecycle

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

func TestAWorkloadThatIsStuckIsAnErrorAfterAWhile(t *testing.T) {
	s := newEnvironment(t, strings.NewReplacer("replicas: 0", "replicas: 1",
		"serviceAccountName: operator", "nodeSelector: {nowhere: \"true\"}\n      serviceAccountName: operator").Replace(operatorYAML), nil)
	applied := s.apply()
	require.Equal(t, manifests.OutcomeApplied, applied.Outcome, applied.Observed.Message)
	seen, err := s.activities.Install.Observe(context.Background(), s.ref())
	require.NoError(t, err)
	require.Equal(t, readiness.ReasonResourcesPending, seen.Reason, "what has just begun is no error: %s", seen.Message)
	s.report(seen, false)
	var pods corev1.PodList
	listed := func() bool {
		require.NoError(t, s.remote.List(context.Background(), &pods, client.InNamespace(s.id+"-remote")))
		return len(pods.Items) == 1
	}
	require.Eventually(t, listed, time.Minute, 50*time.Millisecond)
	s.requests.take()
	_, err = s.activities.Install.Observe(context.Background(), s.ref())
	require.NoError(t, err)
	for _, request := range s.requests.take() {
		require.NotContains(t, request, "/pods", "as long as it is young, its pods are not asked")
	}

	later := time.Now().Add(6 * time.Minute)
	s.activities.Steps.Options.Clock = func() time.Time { return later }
	for seen = s.wait(seen); !strings.Contains(seen.Message, "Unschedulable"); {
		seen = s.wait(seen)
	}
	require.Equal(t, shared.StateError, seen.State)
	require.Equal(t, readiness.ReasonWorkloadStuck, seen.Reason)
	require.Contains(t, seen.Message, "1 of 5 resources do not start: Deployment "+s.id+"-remote/operator (Unschedulable: 0/1 nodes are available")
	s.report(seen, false)

	require.Eventually(t, func() bool {
		// The scheduler may interfere, and retries from time to time.
		require.True(t, listed())
		pod := pods.Items[0].DeepCopy()
		pod.Status.Conditions = nil
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "operator", Image: "example.com/operator:1.0.0",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image"}},
		}}
		if err := s.remote.Status().Update(context.Background(), pod); err != nil {
			require.True(t, apierrors.IsConflict(err), "%v", err)
			return false
		}
		now, err := s.activities.Install.Observe(context.Background(), s.ref())
		require.NoError(t, err)
		return strings.Contains(now.Message, "container operator: ImagePullBackOff: image example.com/operator:1.0.0 cannot be pulled")
	}, time.Minute, 50*time.Millisecond)

	deployment := s.get("apps/v1", "Deployment", "ID-remote", "operator")
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"template":{"spec":{"nodeSelector":null}}}}`))
	require.NoError(t, s.remote.Patch(context.Background(), deployment, patch))
	for seen.State != shared.StateReady {
		seen = s.wait(seen)
	}
}

func TestADeploymentThatGaveUpReportsWhatItsPodsReport(t *testing.T) {
	s := newEnvironment(t, strings.NewReplacer("replicas: 0", "replicas: 1\n  progressDeadlineSeconds: 1",
		"serviceAccountName: operator", "nodeSelector: {nowhere: \"true\"}\n      serviceAccountName: operator").Replace(operatorYAML), nil)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	var seen readiness.Observed
	// The scheduler may report it only after the Deployment gave up, and a wait does not report a new message at once.
	require.Eventually(t, func() bool {
		var err error
		seen, err = s.activities.Install.Observe(context.Background(), s.ref())
		require.NoError(t, err)
		return seen.State == shared.StateError && strings.Contains(seen.Message, "Unschedulable")
	}, 2*time.Minute, 100*time.Millisecond, "%+v", &seen)
	require.Equal(t, readiness.ReasonResourcesFailed, seen.Reason)
	require.Contains(t, seen.Message, "Progress deadline exceeded; Unschedulable: 0/1 nodes are available")
}
