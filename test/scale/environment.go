package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/test/scale/postgres"
	"github.com/kyma-project/lifecycle-manager/test/scale/processes"
	"github.com/kyma-project/lifecycle-manager/test/scale/record"
	"github.com/kyma-project/lifecycle-manager/test/scale/scenarios"
	"github.com/kyma-project/lifecycle-manager/test/scale/usage"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// environment is all that runs.
type environment struct {
	options
	scenario *scenarios.Scenario
	folder   string
	fleet    fleet
	// admin is the configuration of the control plane's administrator, without limits.
	admin  *rest.Config
	client client.WithWatch
	// started are all processes, also those that have ended, in the order of their start.
	started []*processes.Process
	up      bool
	watched *usage.Watched

	// store is what Temporal keeps its data in, postgresPrograms the folder of PostgreSQL's programs.
	store, postgresPrograms string
	temporal                record.Temporal
	// postgres, server and temporalProcess are nil with the development server.
	postgres        *postgres.Server
	server          *temporalServer
	temporalProcess *processes.Process
	managers        []*manager
}

// fleet describes the local fleet (`fleet up --output json`).
type fleet struct {
	ControlPlane struct {
		Kubeconfig       string `json:"kubeconfig"`
		AccessKubeconfig string `json:"accessKubeconfig"`
	} `json:"controlPlane"`
	Temporal struct {
		Address   string `json:"address"`
		Namespace string `json:"namespace"`
		// Database is the file of the development server.
		Database string `json:"database"`
		// MetricsURL is where the server answers with its own metrics.
		MetricsURL string `json:"metricsURL"`
	} `json:"temporal"`
	Registry struct {
		Host string `json:"host"`
	} `json:"registry"`
	Kubectl string `json:"kubectl"`
}

func (e *environment) path(name string) string { return filepath.Join(e.folder, name) }

// all is the number of all Kymas.
func (e *environment) all() int { return e.scenario.Extra() + e.options.clusters }

func (e *environment) bringUp(ctx context.Context) error {
	say("bringing up a control plane and a registry")
	e.up = true
	out, err := processes.Output(ctx, nil, "bin/fleet", append([]string{
		"--state-dir", e.path("fleet"), "up", "--output", "json", "--remotes", "0", "--owner-pid", strconv.Itoa(os.Getpid()),
	}, e.fleetArguments()...)...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, &e.fleet); err != nil {
		return fmt.Errorf("read what the fleet says of itself: %w", err)
	}
	e.watched.AddFleet(e.path("fleet"))
	for _, step := range []func(context.Context) error{e.startStore, e.connect, e.startClusters, e.define, e.addManagers} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (e *environment) connect(context.Context) error {
	var err error
	if e.admin, err = clientcmd.BuildConfigFromFlags("", e.fleet.ControlPlane.Kubeconfig); err != nil {
		return fmt.Errorf("read the control plane's kubeconfig: %w", err)
	}
	e.admin.QPS = -1
	e.client, err = newClient(e.admin)
	return err
}

func newClient(config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("make the scheme: %w", err)
		}
	}
	made, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	return made, nil
}

// startClusters serves the fake clusters, some more than are asked for: those that warm up have their own.
func (e *environment) startClusters(ctx context.Context) error {
	say("serving %d clusters", e.all())
	served, err := e.start(processes.Program{Name: "memfleet", Path: "bin/memfleet", Arguments: []string{
		"serve", "--clusters", strconv.Itoa(e.all()), "--state-dir", e.path("clusters"),
		"--latency", e.latency.String(), "--ready-after", e.readyAfter.String(), "--ready-spread", e.readySpread.String(),
		"--owner-pid", strconv.Itoa(os.Getpid()),
	}})
	if err != nil {
		return err
	}
	return processes.Until(ctx, time.Minute, "the clusters are served", func() (bool, error) {
		_, err := os.Stat(e.path("clusters/address"))
		return err == nil, served.Died()
	})
}

// define installs what Lifecycle Manager needs to find.
func (e *environment) define(ctx context.Context) error {
	definitions, err := processes.Output(ctx, nil, e.manager, "crds")
	if err != nil {
		return err
	}
	namespace := "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: " + kymaNamespace + "}\n"
	if err := e.apply(ctx, append(definitions, namespace...)); err != nil {
		return err
	}
	_, err = processes.Output(ctx, nil, e.fleet.Kubectl, "--kubeconfig", e.fleet.ControlPlane.Kubeconfig,
		"wait", "--for=condition=Established", "--timeout=30s", "customresourcedefinitions", "--all")
	return err
}

func (e *environment) apply(ctx context.Context, resources []byte) error {
	_, err := processes.Output(ctx, resources, e.fleet.Kubectl, "--kubeconfig", e.fleet.ControlPlane.Kubeconfig, "apply", "--server-side", "-f", "-")
	return err
}
