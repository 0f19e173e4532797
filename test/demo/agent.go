package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/agentpod"
)

const (
	// certificateNamespace has the certificates of the agent and of the listener that it reports to.
	certificateNamespace = "istio-system"
	// someServiceAddress is an address as the Services of the fleet's clusters have it.
	someServiceAddress = "127.64.0.1"
)

// checkAgent finds out whether the agent can run here: its webhook is called on port 443 of a Service's address, which a
// process may not open everywhere.
func (d *demo) checkAgent() {
	listener, err := net.Listen("tcp", net.JoinHostPort(someServiceAddress, agentpod.Port))
	if err != nil {
		d.say("the agent of the remote cluster cannot run here (%v): changes there are seen within %s instead of a second", err, resyncInterval)
		return
	}
	_ = listener.Close()
	d.hasAgent = true
}

// managerFlagsForAgent make Lifecycle Manager install the agent and listen to what it reports.
func managerFlagsForAgent(listener string) []string {
	return []string{
		"--watcher-routing", "direct", "--watcher-listener-address", listener, "--kyma-skr-listener-bind-address", listener,
		"--self-signed-cert-key-size", "2048",
	}
}

// watchRemoteKyma creates what makes the agent report changes of the Kyma in the remote cluster.
func (d *demo) watchRemoteKyma(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: certificateNamespace}}
	if err := d.controlPlane.Create(ctx, namespace); err != nil {
		return fmt.Errorf("create %s: %w", namespace.Name, err)
	}
	watcher := &v1beta2.Watcher{
		ObjectMeta: metav1.ObjectMeta{Name: "kymas", Namespace: kymaNamespace},
		Spec: v1beta2.WatcherSpec{
			ServiceInfo: v1beta2.ServiceInfo{Name: "listener", Namespace: kymaNamespace, Port: shared.AgentPort},
			Manager:     "lifecycle-manager", Field: v1beta2.WatchedFieldSpec,
			ResourceToWatch: v1beta2.WatchableGVR{Group: shared.OperatorGroup, Version: "*", Resource: "kymas"},
			LabelsToWatch:   map[string]string{shared.LabelWatchedBy: shared.WatchedByKyma},
		},
	}
	if err := objects.CreateTyped(ctx, d.controlPlane, watcher, fieldOwner); err != nil {
		return fmt.Errorf("create the Watcher: %w", err)
	}
	return nil
}

// runAgent runs the agent as a process for as long as the remote cluster has its Deployment, until the context ends. It
// stands in for the simulated node, which runs no containers.
func (d *demo) runAgent(ctx context.Context) {
	const interval = 200 * time.Millisecond
	folder := d.path("agent")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		d.say("the agent cannot run: %v", err)
		return
	}
	var running *kept
	var is agentpod.Pod
	var mounted map[string][]byte
	for {
		wanted, files, err := agentpod.Read(ctx, d.remote, folder)
		if err == nil && files != nil && !maps.EqualFunc(files, mounted, bytes.Equal) {
			if err = agentpod.Mount(folder, files); err == nil {
				mounted = files
			}
		}
		if err == nil && running != nil && !wanted.Equal(is) {
			running.stop()
			running = nil
		}
		if err == nil && running == nil && wanted.Address != "" && mounted != nil {
			running, err = keepRunning("agent", d.path("agent.log"), wanted.Environment, append(command{d.program("agent")}, wanted.Arguments...))
			is = wanted
		}
		if err != nil && ctx.Err() == nil {
			d.say("the agent is not what the remote cluster wants: %v", err)
		}
		select {
		case <-ctx.Done():
			if running != nil {
				running.stop()
			}
			return
		case <-time.After(interval):
		}
	}
}

// awaitAgent waits until the remote cluster's API server can call the agent.
func (d *demo) awaitAgent(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	for {
		pod, _, err := agentpod.Read(ctx, d.remote, "")
		if err == nil && pod.Address != "" && answers(ctx, fmt.Sprintf("http://%s/readyz", net.JoinHostPort(pod.Address, fmt.Sprint(shared.AgentProbePort)))) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the agent of the remote cluster, whose log is %s: %w", d.path("agent.log"), context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
