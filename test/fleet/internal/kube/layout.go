// Package kube knows how to run a Kubernetes cluster out of single programs:
// their files, their arguments, when they are ready, and who may use it.
package kube

import (
	"path/filepath"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/ports"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
)

// The components of a cluster, in the order of their start.
const (
	Etcd      = "etcd"
	APIServer = "kube-apiserver"
	// ControllerManager is also the scheduler and the simulated node (components/kubernetes/kube-controller-manager).
	ControllerManager = "kube-controller-manager"
)

// The users for whom a cluster has a kubeconfig that the fleet's users need.
const (
	// Admin may do everything, by a client certificate.
	Admin = "admin"
	// LifecycleManager is a service account with a token that does not expire
	// and the role cluster-admin.
	LifecycleManager = "lifecycle-manager"
)

// Services get addresses of the loopback network: nothing runs behind them, and
// so a call to a webhook or to an aggregated API fails at once and leaves the
// machine alone.
const (
	serviceRange   = "127.64.0.0/16"
	serviceAddress = "127.64.0.1"
)

// nodeName is the name of the simulated node.
const nodeName = "node-1"

// Cluster is one cluster with its place on this machine.
type Cluster struct {
	state.Cluster

	// Dir is the cluster's folder.
	Dir string
	// Binaries are the programs' paths by name.
	Binaries map[string]string
}

// Server is the URL of the API server.
func (c Cluster) Server() string { return "https://" + ports.Address(c.APIServer.Number) }

// Kubeconfig is the kubeconfig file of a user.
func (c Cluster) Kubeconfig(user string) string {
	return filepath.Join(c.Dir, "kubeconfig", user+".yaml")
}

// Complete is the file that exists once the cluster was ready for the first
// time. A cluster without it was interrupted while it was made, and is made
// again rather than repaired.
func (c Cluster) Complete() string { return filepath.Join(c.Dir, "complete") }

func (c Cluster) pki(name string) string { return filepath.Join(c.Dir, "pki", name) }
