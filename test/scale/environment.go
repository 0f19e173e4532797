package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// environment is all that runs.
type environment struct {
	options
	folder string
	fleet  fleet
	// admin is the configuration of the control plane's administrator, without limits.
	admin   *rest.Config
	client  client.WithWatch
	started []*exec.Cmd
	up      bool
	// watched are the processes that are measured, by what they are called in the record.
	watched map[string]int
}

// fleet is what is to be known of the local fleet (`fleet up --output json`).
type fleet struct {
	ControlPlane struct {
		Kubeconfig       string `json:"kubeconfig"`
		AccessKubeconfig string `json:"accessKubeconfig"`
	} `json:"controlPlane"`
	Temporal struct {
		Address   string `json:"address"`
		Namespace string `json:"namespace"`
	} `json:"temporal"`
	Registry struct {
		Host string `json:"host"`
	} `json:"registry"`
	Kubectl string `json:"kubectl"`
}

func (e *environment) path(name string) string { return filepath.Join(e.folder, name) }

func (e *environment) bringUp(ctx context.Context) error {
	say("bringing up a control plane, Temporal and a registry")
	e.up = true
	out, err := output(ctx, nil, "bin/fleet", "--state-dir", e.path("fleet"), "up", "--output", "json", "--remotes", "1", "--owner-pid", strconv.Itoa(os.Getpid()))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, &e.fleet); err != nil {
		return fmt.Errorf("read what the fleet says of itself: %w", err)
	}
	if err := e.connect(); err != nil {
		return err
	}
	if err := e.startClusters(ctx); err != nil {
		return err
	}
	if err := e.define(ctx); err != nil {
		return err
	}
	return e.startManager(ctx)
}

func (e *environment) connect() error {
	var err error
	if e.admin, err = clientcmd.BuildConfigFromFlags("", e.fleet.ControlPlane.Kubeconfig); err != nil {
		return fmt.Errorf("read the control plane's kubeconfig: %w", err)
	}
	e.admin.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("make the scheme: %w", err)
		}
	}
	if e.client, err = client.NewWithWatch(e.admin, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("make the client: %w", err)
	}
	return nil
}

// startClusters serves the fake clusters, some more than are asked for: those that warm up have their own.
func (e *environment) startClusters(ctx context.Context) error {
	say("serving %d clusters", e.all())
	if err := e.start("memfleet", nil, "bin/memfleet", "serve", "--clusters", strconv.Itoa(e.all()), "--state-dir", e.path("clusters"),
		"--latency", e.latency.String(), "--ready-after", e.readyAfter.String(), "--owner-pid", strconv.Itoa(os.Getpid())); err != nil {
		return err
	}
	return until(ctx, time.Minute, "the clusters are served", func() (bool, error) {
		_, err := os.Stat(e.path("clusters/address"))
		return err == nil, nil
	})
}

// all is the number of all Kymas.
func (e *environment) all() int { return e.warm + e.clusters }

// define installs what Lifecycle Manager needs to find.
func (e *environment) define(ctx context.Context) error {
	definitions, err := output(ctx, nil, e.manager, "crds")
	if err != nil {
		return err
	}
	namespace := "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: " + kymaNamespace + "}\n"
	if err := e.apply(ctx, append(definitions, namespace...)); err != nil {
		return err
	}
	_, err = output(ctx, nil, e.fleet.Kubectl, "--kubeconfig", e.fleet.ControlPlane.Kubeconfig,
		"wait", "--for=condition=Established", "--timeout=30s", "customresourcedefinitions", "--all")
	return err
}

func (e *environment) apply(ctx context.Context, resources []byte) error {
	_, err := output(ctx, resources, e.fleet.Kubectl, "--kubeconfig", e.fleet.ControlPlane.Kubeconfig, "apply", "--server-side", "-f", "-")
	return err
}

func (e *environment) startManager(ctx context.Context) error {
	metrics, err := freeAddress()
	if err != nil {
		return err
	}
	probes, err := freeAddress()
	if err != nil {
		return err
	}
	// An account that priority and fairness do not exempt, and no roll-out delay: all work comes at once.
	if err := e.start("lifecycle-manager", []string{
		"TEMPORAL_ADDRESS=" + e.fleet.Temporal.Address, "TEMPORAL_NAMESPACE=" + e.fleet.Temporal.Namespace,
	}, e.manager, "run", "--kubeconfig", e.fleet.ControlPlane.AccessKubeconfig, "--module-upgrade-rollout-max-delay", "0s",
		"--oci-registry-host", e.fleet.Registry.Host, "--oci-registry-plain-http", e.fleet.Registry.Host,
		"--metrics-bind-address", metrics, "--health-probe-bind-address", probes); err != nil {
		return err
	}
	e.watch()
	return until(ctx, time.Minute, "Lifecycle Manager is ready", func() (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+probes+"/readyz", http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
}

// start starts a program that runs until the end, with its output in a file.
func (e *environment) start(name string, variables []string, program string, arguments ...string) error {
	log, err := os.Create(e.path(name + ".log"))
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = log.Close() }()
	command := exec.Command(program, arguments...) //nolint:gosec,noctx // our own programs, stopped by takeDown
	command.Env = append(os.Environ(), variables...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	e.started = append(e.started, command)
	return nil
}

// takeDown stops everything, what was started last first.
func (e *environment) takeDown(ctx context.Context) {
	for i := len(e.started) - 1; i >= 0; i-- {
		_ = e.started[i].Process.Signal(syscall.SIGTERM)
		_ = e.started[i].Wait()
	}
	if e.up {
		if _, err := output(ctx, nil, "bin/fleet", "--state-dir", e.path("fleet"), "down"); err != nil {
			say("%v", err)
		}
	}
}

// output runs a program to its end and returns its standard output.
func output(ctx context.Context, in []byte, program string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, program, arguments...) //nolint:gosec // our own programs
	var failure bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(in), &failure
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %v: %w\n%s", program, arguments, err, failure.String())
	}
	return out, nil
}

func until(ctx context.Context, patience time.Duration, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s: %s", patience, what)) //nolint:err113 // for people
	defer cancel()
	for {
		is, err := so()
		if err != nil || is {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
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
