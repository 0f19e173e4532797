package clusters

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

const secretToken = "t0p-s3cret"

// kubeconfigWith returns a valid kubeconfig after the change.
func kubeconfigWith(t *testing.T, change func(*clientcmdapi.Config)) []byte {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "here"
	config.Contexts["here"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "user"}
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: "https://api.example.com:6443"}
	config.AuthInfos["user"] = &clientcmdapi.AuthInfo{Token: secretToken}
	if change != nil {
		change(config)
	}
	raw, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return raw
}

func TestConfigFromAcceptsAnOrdinaryKubeconfig(t *testing.T) {
	t.Parallel()
	config, err := configFrom(kubeconfigWith(t, nil), Allow{})
	require.NoError(t, err)
	require.Equal(t, "https://api.example.com:6443", config.Host)
	require.Equal(t, secretToken, config.BearerToken)
	require.Nil(t, config.Proxy)
	require.False(t, config.Insecure)
}

func TestConfigFromRefusesSettingsThatReachBeyondTheCluster(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		change   func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)
		contains string
		allow    *Allow
	}{
		{"an exec plugin runs a process on our side", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Exec = &clientcmdapi.ExecConfig{Command: "sh", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: "Never"}
		}, "exec", nil},
		{"an auth provider runs code on our side", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"}
		}, "auth-provider", nil},
		{"a token file is in our file system", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Token, u.TokenFile = "", "/var/run/secrets/kubernetes.io/serviceaccount/token"
		}, "tokenFile", &Allow{Files: true}},
		{"a certificate file is in our file system", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientCertificate = "/tmp/cert"
		}, "client-certificate", nil},
		{"a key file is in our file system", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientKey = "/tmp/key"
		}, "client-key", nil},
		{"a CA file is in our file system", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.CertificateAuthority = "/etc/ssl/ca.crt"
		}, "certificate-authority", nil},
		{"an unverified server may be anybody", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.InsecureSkipTLSVerify = true
		}, "insecure-skip-tls-verify", &Allow{InsecureTLS: true}},
		{"a proxy reads and redirects", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.ProxyURL = "http://proxy.example.com:3128"
		}, "proxy-url", &Allow{Proxy: true}},
		{"a server without TLS gets our token in the clear", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.Server = "http://api.example.com"
		}, "https", &Allow{HTTP: true}},
		{"a server with another scheme is no API server", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.Server = "file:///etc/passwd"
		}, "server", nil},
		{"a server URL without a host is invalid", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.Server = "https://"
		}, "server", nil},
		{"a server with credentials would show them in messages", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.Server = "https://admin:" + secretToken + "@api.example.com"
		}, "credentials", nil},
		{"a server with a query is no API server", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.Server = "https://api.example.com?token=" + secretToken
		}, "query", nil},
		{"a server with a fragment is no API server", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.Server = "https://api.example.com#" + secretToken
		}, "fragment", nil},
		{"an unused authority is a mistake", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.InsecureSkipTLSVerify, c.CertificateAuthorityData = true, []byte(secretToken)
		}, "insecure-skip-tls-verify", nil},
		{"a mismatched certificate and key prove nothing", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientCertificateData, u.ClientKeyData = []byte(secretToken), []byte(secretToken)
		}, "not a pair", nil},
		{"a key without its certificate is useless", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientKeyData = []byte(secretToken)
		}, "client-certificate", nil},
		{"a token with line breaks is more than one header", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Token = secretToken + "\nX-Remote-Group: system:masters"
		}, "line breaks", nil},
		{"a CA without a certificate cannot verify anything", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.CertificateAuthorityData = []byte("not a certificate")
		}, "certificate-authority-data", nil},
		{"a certificate without its key is useless", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientCertificateData = []byte("cert")
		}, "client-key", nil},
		{"token and password together are ambiguous", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Username, u.Password = "admin", "admin"
		}, "exclude", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			kubeconfig := kubeconfigWith(t, func(c *clientcmdapi.Config) { test.change(c.Clusters["cluster"], c.AuthInfos["user"]) })
			_, err := configFrom(kubeconfig, Allow{})
			requireRejected(t, err, test.contains)
			if test.allow != nil {
				_, err = configFrom(kubeconfig, *test.allow)
				require.NoError(t, err, "a flag may allow it")
			}
		})
	}
}

func TestConfigFromRefusesInvalidKubeconfigs(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, kubeconfig string }{
		{"nothing at all", ""},
		{"text that is not YAML", "\t{" + secretToken},
		{"a list", "- " + secretToken},
		{"fields of wrong types", "clusters: " + secretToken},
		{"no current context", "apiVersion: v1\nkind: Config\n"},
		{"a context without its cluster", "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: b, user: c}}]\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := configFrom([]byte(test.kubeconfig), Allow{})
			requireRejected(t, err, "kubeconfig")
		})
	}
}

// Allowed settings are still refused if they cannot work.
func TestConfigFromRefusesAllowedSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	all := Allow{HTTP: true, InsecureTLS: true, Proxy: true, Files: true}
	tests := []struct {
		name     string
		change   func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)
		contains string
	}{
		{"a proxy without a host", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.ProxyURL = "http://" }, "proxy-url"},
		{"both insecure and an authority", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.InsecureSkipTLSVerify, c.CertificateAuthorityData = true, []byte(secretToken)
		}, "exclude"},
		{"a missing authority file", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.CertificateAuthority = "/nowhere/" + secretToken
		}, "certificate-authority cannot be read"},
		{"a missing certificate file", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientCertificate = "/nowhere/" + secretToken
		}, "client-certificate cannot be read"},
		{"a missing key file", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientKey = "/nowhere/" + secretToken
		}, "client-key cannot be read"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := configFrom(kubeconfigWith(t, func(c *clientcmdapi.Config) { test.change(c.Clusters["cluster"], c.AuthInfos["user"]) }), all)
			requireRejected(t, err, test.contains)
		})
	}
}

func requireRejected(t *testing.T, err error, contains string) {
	t.Helper()
	require.Error(t, err)
	f := fault.Of(err)
	require.Equal(t, fault.Rejected, f.Kind)
	require.Equal(t, "KubeconfigRejected", f.Reason)
	require.Contains(t, f.Message, contains)
	require.NotContains(t, f.Message, secretToken, "an error must never show credentials")
}
