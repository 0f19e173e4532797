package clusters

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// configFrom converts a foreign kubeconfig into a client configuration. It uses only the current context, and copies
// only the fields below; all other fields have no effect. It refuses settings that reach beyond the cluster unless they
// are allowed (docs/design/identity-and-reads.md#access-to-remote-clusters). Every error is fault.Rejected with
// ReasonKubeconfigRejected, names the field, and never quotes the content.
func configFrom(kubeconfig []byte, allow Allow) (*rest.Config, error) {
	if len(kubeconfig) == 0 {
		return nil, rejected("it is empty")
	}
	parsed, err := clientcmd.Load(kubeconfig)
	if err != nil {
		// The parser's message may quote the content.
		return nil, rejected("it cannot be parsed")
	}
	cluster, user, err := current(parsed)
	if err != nil {
		return nil, err
	}
	config := &rest.Config{}
	if err := setServer(config, cluster, allow); err != nil {
		return nil, err
	}
	if err := setUser(config, user, allow); err != nil {
		return nil, err
	}
	return config, checkTLS(config)
}

func current(parsed *clientcmdapi.Config) (*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, error) {
	kubeContext := parsed.Contexts[parsed.CurrentContext]
	if kubeContext == nil {
		return nil, nil, rejected("its current-context does not exist")
	}
	cluster := parsed.Clusters[kubeContext.Cluster]
	if cluster == nil {
		return nil, nil, rejected("the cluster of its current context does not exist")
	}
	user := parsed.AuthInfos[kubeContext.AuthInfo]
	if user == nil {
		return nil, nil, rejected("the user of its current context does not exist")
	}
	return cluster, user, nil
}

func setServer(config *rest.Config, cluster *clientcmdapi.Cluster, allow Allow) error {
	server, err := url.Parse(cluster.Server)
	switch {
	case err != nil || server.Host == "":
		return rejected("server is not a URL with a host")
	case server.User != nil:
		return rejected("server has credentials in its URL")
	case server.RawQuery != "" || server.Fragment != "":
		return rejected("server has a query or a fragment")
	case server.Scheme != "https" && (server.Scheme != "http" || !allow.HTTP):
		return rejected("server is not https")
	case cluster.InsecureSkipTLSVerify && !allow.InsecureTLS:
		return rejected("insecure-skip-tls-verify is set")
	case cluster.ProxyURL != "" && !allow.Proxy:
		return rejected("proxy-url is set")
	case cluster.CertificateAuthority != "" && !allow.Files:
		return rejected("certificate-authority refers to a file; use certificate-authority-data")
	}
	config.Host = cluster.Server
	config.ServerName = cluster.TLSServerName
	config.Insecure = cluster.InsecureSkipTLSVerify
	config.CAData = cluster.CertificateAuthorityData
	config.DisableCompression = cluster.DisableCompression
	if len(config.CAData) == 0 && cluster.CertificateAuthority != "" {
		if config.CAData, err = os.ReadFile(cluster.CertificateAuthority); err != nil {
			return rejected("certificate-authority cannot be read")
		}
	}
	if config.Insecure && len(config.CAData) > 0 {
		return rejected("insecure-skip-tls-verify and a certificate authority exclude each other")
	}
	return setProxy(config, cluster.ProxyURL)
}

func setProxy(config *rest.Config, address string) error {
	if address == "" {
		return nil
	}
	proxy, err := url.Parse(address)
	if err != nil || proxy.Host == "" {
		return rejected("proxy-url is not a URL with a host")
	}
	config.Proxy = httpProxy(proxy)
	return nil
}

func setUser(config *rest.Config, user *clientcmdapi.AuthInfo, allow Allow) error {
	switch {
	case user.Exec != nil:
		return rejected("exec is set")
	case user.AuthProvider != nil:
		return rejected("auth-provider is set")
	case user.TokenFile != "" && !allow.Files:
		return rejected("tokenFile refers to a file; use token")
	case user.ClientCertificate != "" && !allow.Files:
		return rejected("client-certificate refers to a file; use client-certificate-data")
	case user.ClientKey != "" && !allow.Files:
		return rejected("client-key refers to a file; use client-key-data")
	case user.Token != "" && (user.Username != "" || user.Password != ""):
		return rejected("token and username/password exclude each other")
	}
	config.BearerToken = user.Token
	config.BearerTokenFile = user.TokenFile
	config.Username, config.Password = user.Username, user.Password
	config.CertData, config.KeyData = user.ClientCertificateData, user.ClientKeyData
	config.Impersonate = rest.ImpersonationConfig{
		UserName: user.Impersonate, UID: user.ImpersonateUID,
		Groups: user.ImpersonateGroups, Extra: user.ImpersonateUserExtra,
	}
	var err error
	if len(config.CertData) == 0 && user.ClientCertificate != "" {
		if config.CertData, err = os.ReadFile(user.ClientCertificate); err != nil {
			return rejected("client-certificate cannot be read")
		}
	}
	if len(config.KeyData) == 0 && user.ClientKey != "" {
		if config.KeyData, err = os.ReadFile(user.ClientKey); err != nil {
			return rejected("client-key cannot be read")
		}
	}
	return nil
}

// checkTLS refuses invalid certificates before the first connection. The fault is then the kubeconfig's, not that of an
// unreachable cluster.
func checkTLS(config *rest.Config) error {
	if len(config.CAData) > 0 && !x509.NewCertPool().AppendCertsFromPEM(config.CAData) {
		return rejected("certificate-authority-data holds no certificate")
	}
	if (len(config.CertData) == 0) != (len(config.KeyData) == 0) {
		return rejected("client-certificate and client-key must be given together")
	}
	if len(config.CertData) > 0 {
		if _, err := tls.X509KeyPair(config.CertData, config.KeyData); err != nil {
			return rejected("client-certificate-data and client-key-data are not a pair")
		}
	}
	if strings.ContainsAny(config.BearerToken, "\r\n") {
		return rejected("token has line breaks")
	}
	return nil
}

func rejected(why string) error {
	return &fault.Error{Kind: fault.Rejected, Reason: ReasonKubeconfigRejected, Message: fmt.Sprintf("the kubeconfig is refused: %s", why)}
}
