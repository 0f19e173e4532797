package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// resyncInterval bounds how late an edit in the remote cluster is seen. It is 5
// minutes by default; nobody waits that long at a demo.
const resyncInterval = 10 * time.Second

// prepareControlPlane installs what `lifecycle-manager run` needs to find.
func (d *demo) prepareControlPlane(ctx context.Context) error {
	definitions, err := command{d.program("lifecycle-manager"), "crds"}.output(ctx, nil)
	if err != nil {
		return err
	}
	definitions += "---\n" + namespaceYAML
	if err := d.apply(ctx, definitions); err != nil {
		return err
	}
	established := d.kubectl("wait", "--for=condition=Established", "--timeout=30s", "customresourcedefinitions", "--all")
	if _, err := established.output(ctx, nil); err != nil {
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
	_, err := d.kubectl("apply", "--server-side", "-f", "-").output(ctx, strings.NewReader(resources))
	return err
}

// startManager starts Lifecycle Manager and waits until it is ready.
func (d *demo) startManager(ctx context.Context) error {
	metrics, err := freeAddress()
	if err != nil {
		return err
	}
	probes, err := freeAddress()
	if err != nil {
		return err
	}
	d.manager, err = d.startKept("lifecycle-manager", []string{
		"TEMPORAL_ADDRESS=" + d.fleet.Temporal.Address, "TEMPORAL_NAMESPACE=" + d.fleet.Temporal.Namespace,
	}, command{
		d.program("lifecycle-manager"), "run",
		"--kubeconfig", d.fleet.ControlPlane.AccessKubeconfig,
		"--resync-interval", resyncInterval.String(),
		"--module-upgrade-rollout-max-delay", "0s",
		"--oci-registry-host", d.fleet.Registry.Host, "--oci-registry-plain-http", d.fleet.Registry.Host,
		"--metrics-bind-address", metrics, "--health-probe-bind-address", probes,
	})
	if err != nil {
		return err
	}
	if err := d.waitForManager(ctx, "http://"+probes+"/readyz"); err != nil {
		return err
	}
	d.say("started Lifecycle Manager, its log is %s", d.manager.log)
	return nil
}

func (d *demo) waitForManager(ctx context.Context, url string) error {
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if answers(ctx, url) {
			return nil
		}
		select {
		case <-d.manager.ended:
			return d.manager.failure()
		case <-ctx.Done():
			return fmt.Errorf("lifecycle-manager is not ready after %s, the end of its log %s:\n%s",
				patience, d.manager.log, lastLines(d.manager.log, logLines))
		case <-time.After(100 * time.Millisecond):
		}
	}
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
