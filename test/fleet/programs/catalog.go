// Package programs knows which programs a local fleet runs. It builds them from the Go module proxy and keeps them, by
// version, in a cache outside the source tree.
package programs

import "path/filepath"

// Group is a set of programs that are built with the same dependencies: a Go module in test/fleet/components, whose go.mod
// and go.sum pin every version.
type Group struct {
	// Name is the group's folder in the components folder.
	Name string
	// Module is the module path whose version names the group's version.
	Module string
	// Binaries are built from the module.
	Binaries []Binary
}

// Binary is one program.
type Binary struct {
	// Name is the name of the executable file.
	Name string
	// Package is the import path of its main package, or its folder below the group's, which begins with "./".
	Package string
	// VersionVariables are linked to the version of the group, so that the program knows what it is, as its own releases do.
	VersionVariables []string
	// TrimV drops the leading v of the version.
	TrimV bool
	// Replaceable programs are taken from the folder that KUBEBUILDER_ASSETS names, if it has them.
	Replaceable bool
	// Optional programs are built only when asked for by their names.
	Optional bool
}

// The optional programs.
const (
	Kubectl        = "kubectl"
	Etcdctl        = "etcdctl"
	Etcdutl        = "etcdutl"
	Registry       = "registry"
	TemporalServer = "temporal-server"
	OldestTemporal = "temporal-1.29"
)

// kubernetesVersions are the variables that the releases of Kubernetes link their version to. Without them the API server
// would call itself v0.0.0.
func kubernetesVersions() []string {
	return []string{"k8s.io/component-base/version.gitVersion", "k8s.io/client-go/pkg/version.gitVersion"}
}

// Groups lists what fleets consist of, in the order in which it is built: the longest first, since the others share parts
// of it.
func Groups() []Group {
	return []Group{
		{
			Name:   "kubernetes",
			Module: "k8s.io/kubernetes",
			Binaries: []Binary{
				{Name: "kube-apiserver", Package: "k8s.io/kubernetes/cmd/kube-apiserver", VersionVariables: kubernetesVersions(), Replaceable: true},
				{Name: "kube-controller-manager", Package: "./kube-controller-manager", VersionVariables: kubernetesVersions()},
				{Name: "etcd", Package: "go.etcd.io/etcd/server/v3", Replaceable: true},
				{Name: Kubectl, Package: "k8s.io/kubernetes/cmd/kubectl", VersionVariables: kubernetesVersions(), Replaceable: true, Optional: true},
				{Name: Etcdctl, Package: "go.etcd.io/etcd/etcdctl/v3", Optional: true},
				{Name: Etcdutl, Package: "go.etcd.io/etcd/etcdutl/v3", Optional: true},
			},
		},
		{
			Name:   "temporal",
			Module: "github.com/temporalio/cli",
			Binaries: []Binary{{
				Name: "temporal", Package: "github.com/temporalio/cli/cmd/temporal", TrimV: true,
				VersionVariables: []string{"github.com/temporalio/cli/internal/temporalcli.Version"},
			}},
		},
		{
			// The oldest release that the product supports. Tests of the product's use of Temporal run on it as well.
			Name:   OldestTemporal,
			Module: "github.com/temporalio/cli",
			Binaries: []Binary{{
				Name: OldestTemporal, Package: "github.com/temporalio/cli/cmd/temporal", TrimV: true, Optional: true,
				VersionVariables: []string{"github.com/temporalio/cli/temporalcli.Version"},
			}},
		},
		{
			// What the development server of the group before has in it, for a database of its own.
			Name:   "temporal-server",
			Module: "go.temporal.io/server",
			Binaries: []Binary{
				{Name: TemporalServer, Package: "go.temporal.io/server/cmd/server", Optional: true},
				{Name: "temporal-sql-tool", Package: "go.temporal.io/server/cmd/tools/sql", Optional: true},
			},
		},
		{
			Name:   "registry",
			Module: "github.com/distribution/distribution/v3",
			Binaries: []Binary{{
				Name: Registry, Package: "github.com/distribution/distribution/v3/cmd/registry", Optional: true,
				VersionVariables: []string{"github.com/distribution/distribution/v3/version.version"},
			}},
		},
	}
}

// OptionalNames are the names of the optional programs.
func OptionalNames() []string {
	var names []string
	for _, group := range Groups() {
		for _, binary := range group.Binaries {
			if binary.Optional {
				names = append(names, binary.Name)
			}
		}
	}
	return names
}

// folder is where the group's go.mod is.
func (g Group) folder(components string) string { return filepath.Join(components, g.Name) }
