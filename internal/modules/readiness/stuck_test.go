package readiness

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: "operator", Image: "example.com/operator:1.0.0",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}
}

func TestWhyAPodCannotRun(t *testing.T) {
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
		want   string
	}{
		"a pod that runs":        {of(corev1.ContainerStatus{Name: "operator"}), ""},
		"a pod that just starts": {of(waiting("ContainerCreating", "")), ""},
		"an image that does not exist": {
			of(waiting("ErrImagePull", `failed to resolve "example.com/operator:1.0.0": not found`)),
			`container operator: ImagePullBackOff: failed to resolve "example.com/operator:1.0.0": not found`,
		},
		"the same, between two attempts": {
			of(waiting("ImagePullBackOff", `Back-off pulling image "example.com/operator:1.0.0": ErrImagePull: failed to resolve "example.com/operator:1.0.0": not found`)),
			`container operator: ImagePullBackOff: failed to resolve "example.com/operator:1.0.0": not found`,
		},
		"a container that exits, without its output": {of(crashed), "container operator: CrashLoopBackOff: it exits with code 137 (OOMKilled)"},
		"the same, while it runs again": {
			of(running(func(*corev1.ContainerStatus) {})), "container operator: CrashLoopBackOff: it exits with code 137 (OOMKilled)",
		},
		"the same, when it has just exited again": {
			of(running(func(c *corev1.ContainerStatus) {
				c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}
			})), "container operator: CrashLoopBackOff: it exits with code 137 (OOMKilled)",
		},
		"the same, when it is ready again": {of(running(func(c *corev1.ContainerStatus) { c.Ready = true })), ""},
		"a container that was restarted after it succeeded": {of(running(func(c *corev1.ContainerStatus) {
			c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 0}
		})), ""},
		"a container that runs for the first time": {of(running(func(c *corev1.ContainerStatus) {
			c.RestartCount, c.LastTerminationState = 0, corev1.ContainerState{}
		})), ""},
		"an init container that succeeded after some attempts": {
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
			"container operator: CrashLoopBackOff: it exits repeatedly",
		},
		"a pod without a node": {unschedulable, "Unschedulable: 0/1 nodes are available"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, whyNotRunning(&corev1.Pod{Status: c.status})) })
	}
}
