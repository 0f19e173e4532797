package harness

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kyma-project/lifecycle-manager/test/harness/proxy"
)

// ThroughProxy is a proxy to the remote cluster, and a kubeconfig for access through it.
func (s *Environment) ThroughProxy(t *testing.T) (*proxy.TCP, []byte) {
	t.Helper()
	config, err := clientcmd.Load(s.RemoteAccess(t))
	require.NoError(t, err)
	server := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	address, err := url.Parse(server.Server)
	require.NoError(t, err)
	p := proxy.NewTCP(t, address.Host)
	server.Server = "https://" + p.Address()
	raw, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return p, raw
}

// ThroughBlocker is a blocker before the remote cluster, and a kubeconfig for access through it.
func (s *Environment) ThroughBlocker(t *testing.T) (*proxy.Blocker, []byte) {
	t.Helper()
	b := proxy.NewBlocker(t, s.RemoteAccess(t))
	return b, Kubeconfig(t, "https://"+b.Address(), b.Authority, nil)
}
