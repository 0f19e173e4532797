package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
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

// watcherYAML makes the agent report changes of the Kyma in the remote cluster.
const watcherYAML = `apiVersion: v1
kind: Namespace
metadata:
  name: ` + certificateNamespace + `
---
apiVersion: operator.kyma-project.io/v1beta2
kind: Watcher
metadata:
  name: kymas
  namespace: ` + kymaNamespace + `
spec:
  serviceInfo: {name: listener, namespace: ` + kymaNamespace + `, port: 8443}
  manager: lifecycle-manager
  field: spec
  gateway: {selector: {}}
  resourceToWatch: {group: operator.kyma-project.io, version: "*", resource: kymas}
  labelsToWatch: {operator.kyma-project.io/watched-by: kyma}
`

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
