package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// resyncInterval bounds how late an edit in the remote cluster is seen without the agent. It is 5 minutes by default;
// nobody waits that long at a demo.
const resyncInterval = 10 * time.Second

// prepareControlPlane installs what `lifecycle-manager run` needs to find.
func (d *demo) prepareControlPlane(ctx context.Context) error {
	definitions, err := command{d.program("lifecycle-manager"), "crds"}.output(ctx)
	if err != nil {
		return err
	}
	if err := d.apply(ctx, definitions+"---\n"+namespaceYAML); err != nil {
		return err
	}
	if err := d.controlPlane.awaitDefinitions(ctx); err != nil {
		return err
	}
	d.say("installed the custom resource definitions into the control plane")
	return nil
}

const namespaceYAML = `apiVersion: v1
kind: Namespace
metadata:
  name: kcp-system
`

// apply applies resources in the control plane.
func (d *demo) apply(ctx context.Context, resources string) error {
	return d.controlPlane.apply(ctx, resources)
}

// startManager starts Lifecycle Manager.
func (d *demo) startManager(ctx context.Context) error {
	var addresses [3]string
	for i := range addresses {
		var err error
		if addresses[i], err = freeAddress(); err != nil {
			return err
		}
	}
	run := command{
		d.program("lifecycle-manager"), "run",
		"--kubeconfig", d.fleet.ControlPlane.AccessKubeconfig,
		"--module-upgrade-rollout-max-delay", "0s",
		"--oci-registry-host", d.registry, "--oci-registry-plain-http", d.registry,
		"--metrics-bind-address", addresses[0], "--health-probe-bind-address", addresses[1],
	}
	if d.hasAgent {
		if err := d.apply(ctx, watcherYAML); err != nil {
			return err
		}
		run = append(run, managerFlagsForAgent(addresses[2])...)
	} else {
		run = append(run, "--resync-interval", resyncInterval.String())
	}
	d.managerProbe = "http://" + addresses[1] + "/readyz"
	var err error
	d.manager, err = d.startKept("lifecycle-manager", []string{
		"TEMPORAL_ADDRESS=" + d.fleet.Temporal.Address, "TEMPORAL_NAMESPACE=" + d.fleet.Temporal.Namespace,
	}, run)
	return err
}

func (d *demo) waitForManager(ctx context.Context) error {
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !answers(ctx, d.managerProbe) {
		select {
		case <-d.manager.ended:
			return d.manager.failure()
		case <-ctx.Done():
			return fmt.Errorf("lifecycle-manager is not ready after %s, the end of its log %s:\n%s",
				patience, d.manager.log, lastLines(d.manager.log, logLines))
		case <-time.After(20 * time.Millisecond):
		}
	}
	d.say("Lifecycle Manager runs, its log is %s\n", d.manager.log)
	return nil
}

// answers reports whether a GET is answered with 200.
func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// freeAddress is an address on which nothing listens.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String(), nil
}

// startSampleOperator runs the sample module's operator beside the remote
// cluster, whose simulated node runs no containers. It works only while its
// Deployment is available there, as if it ran in its pod.
func (d *demo) startSampleOperator(context.Context) error {
	_, err := d.startKept("sample-operator", nil, command{
		d.program("sample-operator"), "--kubeconfig", d.fleet.Remotes[0].Kubeconfig,
	})
	return err
}
