package fleet

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sort"
	"strings"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/kube"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/process"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/service"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
	"github.com/kyma-project/lifecycle-manager/test/fleet/programs"
)

// Description is what users of a fleet need to know of it. Paths are absolute.
type Description struct {
	Name         string        `json:"name"`
	StateDir     string        `json:"stateDir"`
	Logs         string        `json:"logs"`
	ControlPlane ClusterInfo   `json:"controlPlane"`
	Remotes      []ClusterInfo `json:"remotes"`
	Temporal     TemporalInfo  `json:"temporal"`
	Registry     RegistryInfo  `json:"registry"`
	// Kubectl is the path of the kubectl that was built for fleets, else of the one on the PATH. Empty if there is neither.
	Kubectl string `json:"kubectl"`
}

// ClusterInfo describes a cluster.
type ClusterInfo struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	// Kubeconfig is the admin's, a path.
	Kubeconfig string `json:"kubeconfig"`
	// AccessKubeconfig is that of the service account for Lifecycle Manager, a
	// path: what goes into the access Secret of a Kyma.
	AccessKubeconfig string `json:"accessKubeconfig"`
}

// TemporalInfo describes the Temporal server.
type TemporalInfo struct {
	Address    string `json:"address"`
	Namespace  string `json:"namespace"`
	UIURL      string `json:"uiURL"`
	MetricsURL string `json:"metricsURL"`
	Database   string `json:"database"`
	// Binary is the path of Temporal's command line.
	Binary string `json:"binary"`
}

// RegistryInfo describes the OCI registry, which speaks plain HTTP.
type RegistryInfo struct {
	Host     string `json:"host"`
	URL      string `json:"url"`
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
}

// Describe lists what the fleet consists of, whether it runs or not.
func (f *Fleet) Describe() (Description, error) {
	if err := f.load(); err != nil {
		return Description{}, err
	}
	temporal, registry := f.temporal(), f.registry()
	description := Description{
		Name:     f.state.Name,
		StateDir: f.Folder.Path,
		Logs:     f.Folder.Logs(),
		Remotes:  []ClusterInfo{},
		Temporal: TemporalInfo{
			Address: temporal.Address(), Namespace: service.Namespace, UIURL: temporal.UIURL(),
			MetricsURL: temporal.MetricsURL(), Database: temporal.Database(), Binary: f.temporalProgram(),
		},
		Registry: RegistryInfo{
			Host: registry.Host(), URL: registry.URL(), Username: registry.Username, Password: registry.Password,
		},
		Kubectl: f.kubectl(),
	}
	if f.state.WithoutTemporal {
		description.Temporal = TemporalInfo{}
	}
	if f.state.WithoutRegistry {
		description.Registry = RegistryInfo{}
	}
	for _, cluster := range f.state.Clusters {
		known, err := f.cluster(cluster.Name)
		if err != nil {
			return Description{}, err
		}
		info := clusterInfo(known)
		if known.Name == state.ControlPlane {
			description.ControlPlane = info
			continue
		}
		description.Remotes = append(description.Remotes, info)
	}
	return description, nil
}

func (f *Fleet) kubectl() string {
	if built := f.state.Binaries[programs.Kubectl]; built != "" {
		return built
	}
	found, err := exec.LookPath("kubectl")
	if err != nil {
		return ""
	}
	return found
}

func clusterInfo(cluster kube.Cluster) ClusterInfo {
	return ClusterInfo{
		Name: cluster.Name, Server: cluster.Server(),
		Kubeconfig: cluster.Kubeconfig(kube.Admin), AccessKubeconfig: cluster.Kubeconfig(kube.LifecycleManager),
	}
}

// Variable is one environment variable.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Variables are the description as environment variables.
func (d Description) Variables() []Variable {
	remotes := make([]string, 0, len(d.Remotes))
	for _, remote := range d.Remotes {
		remotes = append(remotes, remote.Name)
	}
	variables := []Variable{
		{"KUBECONFIG", d.ControlPlane.Kubeconfig},
		{"TEMPORAL_ADDRESS", d.Temporal.Address},
		{"TEMPORAL_NAMESPACE", d.Temporal.Namespace},
		{"FLEET_NAME", d.Name},
		{"FLEET_STATE_DIR", d.StateDir},
		{"FLEET_TEMPORAL_UI_URL", d.Temporal.UIURL},
		{"FLEET_TEMPORAL_METRICS_URL", d.Temporal.MetricsURL},
		{"FLEET_TEMPORAL_BIN", d.Temporal.Binary},
		{"FLEET_KUBECTL_BIN", d.Kubectl},
		{"FLEET_REGISTRY", d.Registry.Host},
		{"FLEET_REGISTRY_URL", d.Registry.URL},
		{"FLEET_REGISTRY_USERNAME", d.Registry.Username},
		{"FLEET_REGISTRY_PASSWORD", d.Registry.Password},
		{"FLEET_REMOTES", strings.Join(remotes, " ")},
	}
	for _, cluster := range append([]ClusterInfo{d.ControlPlane}, d.Remotes...) {
		prefix := "FLEET_" + strings.ToUpper(strings.ReplaceAll(cluster.Name, "-", "_"))
		variables = append(variables,
			Variable{prefix + "_KUBECONFIG", cluster.Kubeconfig},
			Variable{prefix + "_ACCESS_KUBECONFIG", cluster.AccessKubeconfig},
		)
	}
	return variables
}

// ComponentStatus is how a component is right now.
type ComponentStatus struct {
	Component string `json:"component"`
	// State is "ready", "running" (its process runs, but it does not answer as
	// it should), "ended" (its process ended by itself) or "stopped".
	State string `json:"state"`
	// Message says what a running component lacks.
	Message string `json:"message,omitempty"`
	PID     int    `json:"pid,omitempty"`
	// StartedAt is nil without a process.
	StartedAt *time.Time `json:"startedAt,omitempty"`
	Log       string     `json:"log"`
}

// The states of a component.
const (
	StateReady   = "ready"
	StateRunning = "running"
	StateEnded   = "ended"
	StateStopped = "stopped"
)

// Status probes every component.
func (f *Fleet) Status(ctx context.Context) ([]ComponentStatus, error) {
	if err := f.load(); err != nil {
		return nil, err
	}
	components, err := f.components()
	if err != nil {
		return nil, err
	}
	statuses := make([]ComponentStatus, 0, len(components))
	for _, component := range components {
		statuses = append(statuses, f.probe(ctx, component))
	}
	// The supervisor is no part of what the fleet consists of.
	if record, err := f.Launcher.Records.Running(supervisorComponent); err == nil {
		statuses = append(statuses, ComponentStatus{
			Component: supervisorComponent, State: StateReady, PID: record.PID, StartedAt: &record.StartedAt,
			Log: f.Folder.Log(supervisorComponent),
		})
	}
	return statuses, nil
}

func (f *Fleet) probe(ctx context.Context, c component) ComponentStatus {
	status := ComponentStatus{Component: c.name, Log: f.Folder.Log(c.name)}
	record, err := f.Launcher.Records.Running(c.name)
	switch {
	case errors.Is(err, process.ErrGone) && record.PID != 0:
		status.State, status.StartedAt = StateEnded, &record.StartedAt
		return status
	case errors.Is(err, process.ErrGone):
		status.State = StateStopped
		return status
	case err != nil:
		status.State, status.Message = StateRunning, err.Error()
		return status
	}
	status.State, status.PID, status.StartedAt = StateReady, record.PID, &record.StartedAt
	if c.ready == nil {
		return status
	}
	probe, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := c.ready(probe); err != nil {
		status.State, status.Message = StateRunning, err.Error()
	}
	return status
}

// components are all components of the fleet, by name.
func (f *Fleet) components() ([]component, error) {
	var all []component
	if !f.state.WithoutRegistry {
		all = append(all, f.registryComponent())
	}
	if !f.state.WithoutTemporal {
		all = append(all, f.temporalComponent())
	}
	for _, name := range append([]string{state.ControlPlane}, f.state.Remotes()...) {
		if f.state.Cluster(name) == nil {
			// An Up that failed early has not even named its control plane.
			continue
		}
		cluster, err := f.cluster(name)
		if err != nil {
			return nil, err
		}
		client, err := cluster.Client()
		if err != nil {
			// Its kubeconfig was not written yet.
			client = nil
		}
		all = append(all, statusComponents(cluster, client)...)
	}
	sort.SliceStable(all, func(i, j int) bool { return order(all[i].name) < order(all[j].name) })
	return all, nil
}

func statusComponents(cluster kube.Cluster, client *kube.Client) []component {
	if client != nil {
		return clusterComponents(cluster, client)
	}
	components := clusterComponents(cluster, &kube.Client{})
	for i := range components {
		components[i].ready = nil
	}
	return components
}

// order puts the control plane first and single servers last.
func order(component string) int {
	switch {
	case strings.HasPrefix(component, state.ControlPlane+"/"):
		return 0
	case strings.Contains(component, "/"):
		return 1
	default:
		return 2
	}
}

// Kubeconfig returns the path of a cluster's kubeconfig for a user, which is
// kube.Admin or kube.LifecycleManager.
func (f *Fleet) Kubeconfig(cluster, user string) (string, error) {
	if user != kube.Admin && user != kube.LifecycleManager {
		return "", fmt.Errorf("user %q: want %s or %s", user, kube.Admin, kube.LifecycleManager)
	}
	if err := f.load(); err != nil {
		return "", err
	}
	known, err := f.cluster(cluster)
	if err != nil {
		return "", err
	}
	path := known.Kubeconfig(user)
	if !exists(path) {
		return "", fmt.Errorf("cluster %s was not brought up yet", cluster)
	}
	return path, nil
}
