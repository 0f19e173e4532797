package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ControlPlane is the name of the cluster in which Lifecycle Manager works.
const ControlPlane = "control-plane"

// Fleet is what is remembered of a fleet: what it consists of, and the ports
// and secrets that were chosen for it, so that a component comes back where its
// clients expect it.
type Fleet struct {
	// Name is for people.
	Name string `json:"name"`
	// ID distinguishes fleets of the same name.
	ID string `json:"id"`
	// CreatedAt is the time of the first up.
	CreatedAt time.Time `json:"createdAt"`
	// Binaries are the programs' paths by their names, like "kube-apiserver".
	Binaries map[string]string `json:"binaries"`
	// Clusters are the control plane and the remote clusters.
	Clusters []Cluster `json:"clusters"`
	Temporal Temporal  `json:"temporal"`
	// WithoutTemporal and WithoutRegistry are set for a fleet that lacks the one or the other.
	WithoutTemporal bool     `json:"withoutTemporal,omitempty"`
	WithoutRegistry bool     `json:"withoutRegistry,omitempty"`
	Registry        Registry `json:"registry"`
}

// Port is a TCP port on the loopback interface.
type Port struct {
	// Number is 0 until a port was chosen.
	Number int `json:"number"`
	// Fixed is set when the user asked for this very port: no other is chosen
	// when it is taken.
	Fixed bool `json:"fixed,omitempty"`
}

// Cluster is one Kubernetes cluster.
type Cluster struct {
	Name      string `json:"name"`
	APIServer Port   `json:"apiServer"`
}

// Temporal is the Temporal dev server.
type Temporal struct {
	// Oldest is set for a server of the oldest release that the product supports.
	Oldest   bool `json:"oldest,omitempty"`
	Frontend Port `json:"frontend"`
	UI       Port `json:"ui"`
	HTTP     Port `json:"http"`
	Metrics  Port `json:"metrics"`
}

// Registry is the OCI registry.
type Registry struct {
	HTTP Port `json:"http"`
	// Username and Password are empty when the registry asks for none.
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
}

// Cluster returns the cluster with the given name, or nil. The pointer is into
// the fleet.
func (f *Fleet) Cluster(name string) *Cluster {
	for i := range f.Clusters {
		if f.Clusters[i].Name == name {
			return &f.Clusters[i]
		}
	}
	return nil
}

// Remotes are the names of the remote clusters, in the order of their making.
func (f *Fleet) Remotes() []string {
	names := []string{}
	for _, cluster := range f.Clusters {
		if cluster.Name != ControlPlane {
			names = append(names, cluster.Name)
		}
	}
	return names
}

// RemoveCluster forgets a cluster.
func (f *Fleet) RemoveCluster(name string) {
	f.Clusters = slices.DeleteFunc(f.Clusters, func(c Cluster) bool { return c.Name == name })
}

// Ports are all ports of the fleet that are known by now. The pointers are into
// the fleet.
func (f *Fleet) Ports() []*Port {
	all := []*Port{&f.Temporal.Frontend, &f.Temporal.UI, &f.Temporal.HTTP, &f.Temporal.Metrics, &f.Registry.HTTP}
	for i := range f.Clusters {
		all = append(all, &f.Clusters[i].APIServer)
	}
	return slices.DeleteFunc(all, func(p *Port) bool { return p.Number == 0 })
}

// Load reads the fleet from its folder. Where there is none it returns an error
// that is ErrNotAFleet.
func (f Folder) Load() (*Fleet, error) {
	data, err := os.ReadFile(filepath.Join(f.Path, fleetName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", f.Path, ErrNotAFleet)
	}
	if err != nil {
		return nil, fmt.Errorf("read the fleet's state: %w", err)
	}
	var fleet Fleet
	if err := json.Unmarshal(data, &fleet); err != nil {
		return nil, fmt.Errorf("decode the fleet's state in %s: %w", f.Path, err)
	}
	return &fleet, nil
}

// Save writes the fleet into its folder.
func (f Folder) Save(fleet *Fleet) error {
	data, err := json.MarshalIndent(fleet, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the fleet's state: %w", err)
	}
	return WriteFile(filepath.Join(f.Path, fleetName), append(data, '\n'))
}
