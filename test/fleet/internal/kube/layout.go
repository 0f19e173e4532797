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
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
)

// The programs that take snapshots of etcd, and restore them.
const (
	etcdctl = "etcdctl"
	etcdutl = "etcdutl"
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

// Node and pods get addresses that are set aside for documentation and
// benchmarks (RFC 5737, RFC 2544). Loopback addresses are not allowed in
// endpoints.
const (
	nodeName    = "node-1"
	nodeAddress = "192.0.2.1"
	podRange    = "198.18.0.0/16"
)

// Cluster is one cluster with its place on this machine.
type Cluster struct {
	state.Cluster

	// Dir is the cluster's folder.
	Dir string
	// Binaries are the programs' paths by name.
	Binaries map[string]string
	// Stages is the file with what KWOK simulates.
	Stages string
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
