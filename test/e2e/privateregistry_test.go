package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// registryData is a docker config with credentials for registries.
func registryData(entries ...string) map[string][]byte {
	auths := make([]string, len(entries))
	for i, entry := range entries {
		auths[i] = fmt.Sprintf(`%q:{"username":"reader","password":"hidden-password"}`, entry)
	}
	return map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{` + strings.Join(auths, ",") + `}}`)}
}

// newPrivateRegistry serves what is in another registry to those who know the password, and returns its host.
func newPrivateRegistry(t *testing.T, of string) string {
	t.Helper()
	target, err := url.Parse("http://" + of)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if user, password, _ := request.BasicAuth(); user != "reader" || password != "hidden-password" {
			w.Header().Set("WWW-Authenticate", `Basic realm="modules"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// What comes from a registry is installed, or its module says why not. Each part has an instance with other flags.
func TestWhatComesFromARegistryIsInstalledOrItsModuleSaysWhyNot(t *testing.T) {
	s := harness.NewEnvironment(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *harness.Environment)
	}{
		{"a Secret with the credentials names the private registry", secretNamesRegistry},
		{"hostile artifacts are refused, and leave the cluster untouched", hostileArtifactsAreRefused},
		{"an error of one module is in the Kyma's status, and stops no other module", errorsAreInTheStatus},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, s) })
		s.DeleteEverything()
		definitionsGo(t, s, s.Remote)
		s.Instance.Stop()
	}
}

// As upstream's users have it: the Secret with the credentials alone says which registry modules come from.
func secretNamesRegistry(t *testing.T, s *harness.Environment) {
	t.Helper()
	s.Instance.Flags = []string{"--oci-registry-cred-secret", "modules", "--oci-registry-allowed", "allowed.example.com"}
	private := newPrivateRegistry(t, s.Registry)
	// Neither names the private registry: the one has a descriptor with another, the other's is only there.
	s.PushMinimal("embedded")
	s.PushModule(harness.MinimalModule{Name: "fetched", Channels: "regular", PushFlags: []string{"--descriptor", "none"}})

	t.Log("a Secret that does not say which registry it is keeps the process from starting, and a check says the same")
	doesNotStart(t, s.Instance, "--oci-registry-cred-secret kcp-system/modules: read the registry's credentials", "not found")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "modules", Namespace: harness.ControlPlaneNamespace},
		Type:       corev1.SecretTypeDockerConfigJson, Data: registryData(),
	}
	require.NoError(t, s.ControlPlane.Create(t.Context(), secret))
	t.Cleanup(func() { _ = s.ControlPlane.Delete(context.Background(), secret) })
	for _, test := range []struct {
		entries, flags []string
		says           string
	}{
		{nil, nil, "it has 0 entries in auths of .dockerconfigjson"},
		{[]string{"http://" + private, "registry.example.com"}, nil, "it has 2 entries in auths of .dockerconfigjson"},
		{[]string{"http://" + private}, []string{"--oci-registry-host", "registry.example.com"}, "it has no credentials for registry.example.com, which --oci-registry-host names"},
	} {
		harness.EditObject(t, s.ControlPlane, secret, func() { secret.Data = registryData(test.entries...) })
		instance := s.NewInstance(append(test.flags, "--oci-registry-cred-secret", "modules")...)
		doesNotStart(t, instance, test.says)
		code, found := check(t, s, append(test.flags, "--oci-registry-cred-secret", "modules")...)
		require.Equal(t, 1, code)
		require.Contains(t, found["failed"]["registry"], test.says)
	}

	harness.EditObject(t, s.ControlPlane, secret, func() { secret.Data = registryData("http://" + private) })
	code, found := check(t, s, "--oci-registry-cred-secret", "modules")
	require.Zero(t, code)
	require.Contains(t, found["ok"]["registry"], private+" answers a request with the credentials of Secret modules")
	code, _ = check(t, s, "--oci-registry-cred-secret", "modules", "--oci-registry-host", "http://"+private)
	require.Zero(t, code, "both, where they agree")

	s.Instance.Start()
	s.Create(harness.NewSynced("private", "embedded", "fetched"))
	s.BecomesReady("private", "embedded@1.0.0", "fetched@1.0.0")
	for _, m := range s.Manifests(s.Kyma("private")) {
		require.Equal(t, private, m.Spec.Install.Source.Repo, m.Name)
	}
	saysNowhere(t, s, "hidden-password")
}
