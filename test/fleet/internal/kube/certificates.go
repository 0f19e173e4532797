package kube

import (
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/pki"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/ports"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
)

// The files of a cluster's certificates and keys.
const (
	authorityCertificate = "ca.crt"
	authorityKey         = "ca.key"
	frontProxyAuthority  = "front-proxy-ca.crt"
	serviceAccountKey    = "service-account.key"
	serviceAccountPublic = "service-account.pub"
	serverPair           = "apiserver"
	frontProxyPair       = "front-proxy-client"
	frontProxyCommonName = "front-proxy-client"
	certificateSuffix    = ".crt"
	keySuffix            = ".key"
)

// WriteCertificates makes all certificates, keys and kubeconfigs with client
// certificates of a new cluster. Two authorities keep apart who may talk to the
// API server, and as the aggregator.
func (c Cluster) WriteCertificates(now time.Time) error {
	authority, err := pki.NewAuthority(c.Name, now)
	if err != nil {
		return err
	}
	err = errors.Join(
		state.WriteFile(c.pki(authorityCertificate), authority.Certificate),
		state.WriteFile(c.pki(authorityKey), authority.Key),
		c.writeServer(authority, now),
		c.writeFrontProxy(now),
		c.writeServiceAccountKey(),
	)
	if err != nil {
		return fmt.Errorf("certificates of cluster %s: %w", c.Name, err)
	}
	pair, err := authority.Client("admin", []string{"system:masters"}, now)
	if err != nil {
		return fmt.Errorf("certificates of cluster %s: %w", c.Name, err)
	}
	return c.writePair(Admin, pair)
}

func (c Cluster) writeServer(authority *pki.Authority, now time.Time) error {
	pair, err := authority.Server("kube-apiserver", []string{
		ports.Loopback, "localhost", serviceAddress,
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}, now)
	if err != nil {
		return err
	}
	return c.writePair(serverPair, pair)
}

func (c Cluster) writeFrontProxy(now time.Time) error {
	authority, err := pki.NewAuthority(c.Name+" front proxy", now)
	if err != nil {
		return err
	}
	client, err := authority.Client(frontProxyCommonName, nil, now)
	if err != nil {
		return err
	}
	return errors.Join(
		state.WriteFile(c.pki(frontProxyAuthority), authority.Certificate),
		c.writePair(frontProxyPair, client),
	)
}

func (c Cluster) writeServiceAccountKey() error {
	private, public, err := pki.NewKey()
	if err != nil {
		return err
	}
	return errors.Join(
		state.WriteFile(c.pki(serviceAccountKey), private),
		state.WriteFile(c.pki(serviceAccountPublic), public),
	)
}

func (c Cluster) writePair(name string, pair pki.Pair) error {
	return errors.Join(
		state.WriteFile(c.pki(name+certificateSuffix), pair.Certificate),
		state.WriteFile(c.pki(name+keySuffix), pair.Key),
	)
}

// WriteKubeconfig writes the admin's kubeconfig, for the present port of the API server.
func (c Cluster) WriteKubeconfig() error {
	certificate, err := os.ReadFile(c.pki(Admin + certificateSuffix))
	if err != nil {
		return fmt.Errorf("kubeconfig of cluster %s: %w", c.Name, err)
	}
	key, err := os.ReadFile(c.pki(Admin + keySuffix))
	if err != nil {
		return fmt.Errorf("kubeconfig of cluster %s: %w", c.Name, err)
	}
	return c.writeKubeconfig(Admin, &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key})
}

// writeKubeconfig writes a kubeconfig that has all it needs and refers to no
// file: only such a kubeconfig can be handed to others.
func (c Cluster) writeKubeconfig(user string, auth *clientcmdapi.AuthInfo) error {
	authority, err := os.ReadFile(c.pki(authorityCertificate))
	if err != nil {
		return fmt.Errorf("kubeconfig %s of cluster %s: %w", user, c.Name, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = &clientcmdapi.Cluster{Server: c.Server(), CertificateAuthorityData: authority}
	config.AuthInfos[user] = auth
	config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: user}
	config.CurrentContext = c.Name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("kubeconfig %s of cluster %s: %w", user, c.Name, err)
	}
	return state.WriteFile(c.Kubeconfig(user), data)
}
