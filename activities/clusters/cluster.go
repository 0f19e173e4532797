// Package clusters gives access to the control plane and to remote clusters: one client, one HTTP
// connection pool and one REST mapper per cluster, made once, from kubeconfigs that are distrusted.
package clusters

import (
	"net/http"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cluster is access to one cluster. All its clients share one connection pool, one rate limiter and one
// REST mapper. It stays usable after it was evicted; only its idle connections are closed.
type Cluster struct {
	// Name is for messages: "control plane", or namespace and name of the Kyma.
	Name string
	// Config has the address and the limits of the cluster. Do not make further clients of it; those
	// below share what is to be shared.
	Config *rest.Config
	HTTP   *http.Client
	// Client is uncached: every read is live.
	Client client.Client
	// Metadata reads and applies without bodies: answers hold only metadata.
	Metadata metadata.Interface
	// Dynamic reads objects of any kind in full.
	Dynamic dynamic.Interface
	// Discovery is uncached.
	Discovery discovery.DiscoveryInterface
	// Mapper knows the built-in kinds, is taught the kinds of modules, and asks the cluster for others,
	// one group at a time.
	Mapper *Mapper
}
