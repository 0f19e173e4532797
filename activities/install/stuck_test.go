package install

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
)

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: "operator", Image: "example.com/operator:1.0.0",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}
}

func TestWhatAPodSaysOfItself(t *testing.T) {
	crashed := waiting("CrashLoopBackOff", "back-off 40s restarting failed container=operator pod=operator-5d8_ns(1)")
	crashed.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", Message: "token=secret"}
	running := func(change func(*corev1.ContainerStatus)) corev1.ContainerStatus {
		c := corev1.ContainerStatus{Name: "operator", RestartCount: 3, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
		c.LastTerminationState = crashed.LastTerminationState
		change(&c)
		return c
	}
	unschedulable := corev1.PodStatus{Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available"},
	}}
	of := func(statuses ...corev1.ContainerStatus) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: statuses}
	}
	for name, c := range map[string]struct {
		status corev1.PodStatus
		says   string
	}{
		"a pod that runs":        {of(corev1.ContainerStatus{Name: "operator"}), ""},
		"a pod that just starts": {of(waiting("ContainerCreating", "")), ""},
		"an image that is not there": {
			of(waiting("ErrImagePull", `failed to resolve "example.com/operator:1.0.0": not found`)),
			`container operator: ImagePullBackOff: failed to resolve "example.com/operator:1.0.0": not found`,
		},
		"the same, between two tries": {
			of(waiting("ImagePullBackOff", `Back-off pulling image "example.com/operator:1.0.0": ErrImagePull: failed to resolve "example.com/operator:1.0.0": not found`)),
			`container operator: ImagePullBackOff: failed to resolve "example.com/operator:1.0.0": not found`,
		},
		"a container that exits, without what it wrote": {of(crashed), "container operator: CrashLoopBackOff: it exits with code 137 (OOMKilled)"},
		"the same, while it runs again": {
			of(running(func(*corev1.ContainerStatus) {})), "container operator: CrashLoopBackOff: it exits with code 137 (OOMKilled)",
		},
		"the same, when it has just ended again": {
			of(running(func(c *corev1.ContainerStatus) {
				c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}
			})), "container operator: CrashLoopBackOff: it exits with code 137 (OOMKilled)",
		},
		"the same, when it is ready again": {of(running(func(c *corev1.ContainerStatus) { c.Ready = true })), ""},
		"a container that was restarted after a good end": {of(running(func(c *corev1.ContainerStatus) {
			c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 0}
		})), ""},
		"a container that runs for the first time": {of(running(func(c *corev1.ContainerStatus) {
			c.RestartCount, c.LastTerminationState = 0, corev1.ContainerState{}
		})), ""},
		"an init container that was done after some tries": {
			corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{running(func(c *corev1.ContainerStatus) {
				c.Ready, c.State = true, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
			})}},
			"",
		},
		"a container that lacks its configuration": {
			of(waiting("CreateContainerConfigError", `secret "settings" not found`)),
			`container operator: CreateContainerConfigError: secret "settings" not found`,
		},
		"an init container": {
			corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{waiting("CrashLoopBackOff", "")}},
			"container operator: CrashLoopBackOff: it exits again and again",
		},
		"a pod without a node": {unschedulable, "Unschedulable: 0/1 nodes are available"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.says, keptBack(&corev1.Pod{Status: c.status})) })
	}
}

func TestAWorkloadThatIsStuckIsAnErrorAfterAWhile(t *testing.T) {
	s := newStand(t, strings.NewReplacer("replicas: 0", "replicas: 1",
		"serviceAccountName: operator", "nodeSelector: {nowhere: \"true\"}\n      serviceAccountName: operator").Replace(operatorYAML), nil)
	applied := s.apply()
	require.Equal(t, OutcomeApplied, applied.Outcome, applied.Observed.Message)
	seen, err := s.activities.look(context.Background(), s.ref())
	require.NoError(t, err)
	require.Equal(t, ReasonResourcesPending, seen.Reason, "what has just begun is no error: %s", seen.Message)
	s.report(seen, false)
	var pods corev1.PodList
	listed := func() bool {
		require.NoError(t, s.remote.List(context.Background(), &pods, client.InNamespace(s.id+"-remote")))
		return len(pods.Items) == 1
	}
	require.Eventually(t, listed, time.Minute, 50*time.Millisecond)
	s.requests.take()
	_, err = s.activities.look(context.Background(), s.ref())
	require.NoError(t, err)
	for _, request := range s.requests.take() {
		require.NotContains(t, request, "/pods", "as long as it is young, its pods are not asked")
	}

	later := time.Now().Add(6 * time.Minute)
	s.activities.options.Clock = func() time.Time { return later }
	for seen = s.wait(seen); !strings.Contains(seen.Message, "Unschedulable"); {
		seen = s.wait(seen)
	}
	require.Equal(t, shared.StateError, seen.State)
	require.Equal(t, ReasonWorkloadStuck, seen.Reason)
	require.Contains(t, seen.Message, "1 of 5 resources do not start: Deployment "+s.id+"-remote/operator (Unschedulable: 0/1 nodes are available")
	s.report(seen, false)

	require.Eventually(t, func() bool {
		// The scheduler may come between, and tries again at times.
		require.True(t, listed())
		pod := pods.Items[0].DeepCopy()
		pod.Status.Conditions = nil
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{waiting("ImagePullBackOff", "Back-off pulling image")}
		if err := s.remote.Status().Update(context.Background(), pod); err != nil {
			require.True(t, apierrors.IsConflict(err), "%v", err)
			return false
		}
		now, err := s.activities.look(context.Background(), s.ref())
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

func TestADeploymentThatGaveUpSaysWhatItsPodsSay(t *testing.T) {
	s := newStand(t, strings.NewReplacer("replicas: 0", "replicas: 1\n  progressDeadlineSeconds: 1",
		"serviceAccountName: operator", "nodeSelector: {nowhere: \"true\"}\n      serviceAccountName: operator").Replace(operatorYAML), nil)
	require.Equal(t, OutcomeApplied, s.apply().Outcome)
	var seen Observed
	// The scheduler may say so only after the Deployment gave up, and a wait does not report other words at once.
	require.Eventually(t, func() bool {
		var err error
		seen, err = s.activities.look(context.Background(), s.ref())
		require.NoError(t, err)
		return seen.State == shared.StateError && strings.Contains(seen.Message, "Unschedulable")
	}, 2*time.Minute, 100*time.Millisecond, "%+v", &seen)
	require.Equal(t, ReasonResourcesFailed, seen.Reason)
	require.Contains(t, seen.Message, "Progress deadline exceeded; Unschedulable: 0/1 nodes are available")
}

func TestWhatAWorkloadIsStuckOnIsToldNowAndThenOnly(t *testing.T) {
	reported := Observed{State: shared.StateError, Reason: ReasonWorkloadStuck, Message: "one"}
	seen := reported
	seen.Message = "two"
	require.False(t, wait{elapsed: time.Minute}.worthTelling(seen, reported), "pods go to and fro between reasons")
	require.True(t, wait{elapsed: 6 * time.Minute}.worthTelling(seen, reported))
}
