package preflight

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

func TestTheRegistryIsCheckedWithTheCredentials(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "right" {
			w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	keychain := func(password string) authn.Keychain {
		content := `{"auths":{"` + host + `":{"username":"me","password":"` + password + `"}}}`
		keys, err := artifacts.KeychainFromDockerConfig([]byte(content))
		require.NoError(t, err)
		return keys
	}
	options := artifacts.Options{PlainHTTPHosts: []string{host}, Keychain: keychain("right")}
	require.Equal(t, RegistryFacts{Host: host, Credentials: "pull"}, AskRegistry(t.Context(), host+"/some/path", options, "pull"))

	options.Keychain = keychain("wrong")
	refused := AskRegistry(t.Context(), host, options, "pull")
	require.True(t, refused.Refused)
	require.Error(t, refused.Err)
	require.NotContains(t, refused.Err.Error(), "wrong", "the password")

	options.Keychain = nil
	require.True(t, AskRegistry(t.Context(), host, options, "").Refused)

	options.PlainHTTPHosts = nil
	require.Contains(t, artifacts.HintOf(AskRegistry(t.Context(), host, options, "").Err), "--oci-registry-plain-http", "the same rules as for layers apply")
	options.PlainHTTPHosts = []string{host}

	server.Close()
	gone := AskRegistry(t.Context(), host, options, "")
	require.False(t, gone.Refused)
	require.Error(t, gone.Err)
}
