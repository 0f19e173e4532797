// Package build makes the fleet's programs from the Go module proxy and keeps
// them, by version, in a cache outside the source tree.
package build

import "path/filepath"

// Group is a set of programs that are built with the same dependencies: a Go
// module of its own, whose go.mod and go.sum pin every version.
type Group struct {
	// Name is the group's folder in the components folder.
	Name string
	// Module is the module path whose version names the group's version.
	Module string
	// Binaries are built from the module.
	Binaries []Binary
	// Files are put together out of the module's source beside the binaries.
	Files []File
	// Optional groups are no part of a fleet: they are built only when asked for.
	Optional bool
}

// Binary is one program.
type Binary struct {
	// Name is the name of the executable file.
	Name string
	// Package is the import path of its main package.
	Package string
	// VersionVariables are linked to the version of the group, so that the
	// program knows what it is, as its own releases do.
	VersionVariables []string
	// TrimV drops the leading v of the version.
	TrimV bool
	// Replaceable programs are taken from the folder that KUBEBUILDER_ASSETS
	// names, where it has them.
	Replaceable bool
	// Cold is about how long the build takes on two cores from an empty build
	// cache, to give the user an idea.
	Cold string
}

// File is a file of a group's module that a program needs to run.
type File struct {
	// Name is the name of the copy.
	Name string
	// Sources are paths within the module, which are joined as documents of one
	// YAML file.
	Sources []string
	// Own are paths within the group's folder, which are joined to the sources.
	Own []string
}

// kubernetesVersions are the variables that the releases of Kubernetes link
// their version to. Without them the API server would call itself v0.0.0.
func kubernetesVersions() []string {
	return []string{"k8s.io/component-base/version.gitVersion", "k8s.io/client-go/pkg/version.gitVersion"}
}

// TemporalServer is the optional group with the Temporal server, and its main program.
const TemporalServer = "temporal-server"

// KwokStages is the name of the file with KWOK's simulation of nodes and pods.
const KwokStages = "stages.yaml"

// Groups lists what a fleet consists of, in the order in which it is built: the
// longest first, since the others share parts of it.
func Groups() []Group {
	kubernetes := func(name, cold string, replaceable bool) Binary {
		return Binary{
			Name: name, Package: "k8s.io/kubernetes/cmd/" + name, VersionVariables: kubernetesVersions(),
			Replaceable: replaceable, Cold: cold,
		}
	}
	return []Group{
		{
			Name:   "kubernetes",
			Module: "k8s.io/kubernetes",
			Binaries: []Binary{
				kubernetes("kube-apiserver", "3 min", true),
				kubernetes("kube-controller-manager", "1 min", false),
				kubernetes("kube-scheduler", "10 s", false),
				kubernetes("kubectl", "20 s", true),
			},
		},
		{
			Name:   "etcd",
			Module: "go.etcd.io/etcd/server/v3",
			Binaries: []Binary{
				{Name: "etcd", Package: "go.etcd.io/etcd/server/v3", Replaceable: true, Cold: "20 s"},
				{Name: "etcdctl", Package: "go.etcd.io/etcd/etcdctl/v3", Cold: "5 s"},
				{Name: "etcdutl", Package: "go.etcd.io/etcd/etcdutl/v3", Cold: "5 s"},
			},
		},
		{
			Name:   "kwok",
			Module: "sigs.k8s.io/kwok",
			Binaries: []Binary{
				{Name: "kwok", Package: "sigs.k8s.io/kwok/cmd/kwok", Cold: "1 min"},
			},
			Files: []File{{
				Name: KwokStages,
				Sources: []string{
					"kustomize/stage/node/fast/node-initialize.yaml",
					// The other one, heartbeat-with-lease, beats every ten minutes
					// and counts on leases. A lease would keep KWOK from the node
					// for a while after a crash of its own.
					"kustomize/stage/node/heartbeat/node-heartbeat.yaml",
					"kustomize/stage/pod/fast/pod-ready.yaml",
					"kustomize/stage/pod/fast/pod-complete.yaml",
					"kustomize/stage/pod/fast/pod-delete.yaml",
				},
				Own: []string{"pod-ready-again.yaml"},
			}},
		},
		{
			Name:   "temporal",
			Module: "github.com/temporalio/cli",
			Binaries: []Binary{
				{
					Name: "temporal", Package: "github.com/temporalio/cli/cmd/temporal", TrimV: true,
					VersionVariables: []string{"github.com/temporalio/cli/temporalcli.Version"}, Cold: "2 min",
				},
			},
		},
		{
			// What the development server of the group before has in it, for a database of its own.
			Name:     TemporalServer,
			Module:   "go.temporal.io/server",
			Optional: true,
			Binaries: []Binary{
				{Name: TemporalServer, Package: "go.temporal.io/server/cmd/server", Cold: "2 min"},
				{Name: "temporal-sql-tool", Package: "go.temporal.io/server/cmd/tools/sql", Cold: "20 s"},
			},
		},
		{
			Name:   "registry",
			Module: "github.com/distribution/distribution/v3",
			Binaries: []Binary{
				{
					Name: "registry", Package: "github.com/distribution/distribution/v3/cmd/registry",
					VersionVariables: []string{"github.com/distribution/distribution/v3/version.version"}, Cold: "30 s",
				},
			},
		},
	}
}

// folder is where the group's go.mod is.
func (g Group) folder(components string) string { return filepath.Join(components, g.Name) }
