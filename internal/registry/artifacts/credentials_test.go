package artifacts

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/stretchr/testify/require"
)

func TestCredentialsAreForTheirOwnHostOnly(t *testing.T) {
	keychain, err := KeychainFromDockerConfig([]byte(`{"auths":{
		"https://registry.example.com/v2/": {"username":"host","password":"x"},
		"registry.example.com/team": {"username":"team","password":"x"},
		"paths.example.com/team": {"username":"path","password":"x"},
		"registry.example.com:5000": {"username":"port","password":"x"},
		"docker.io": {"username":"hub","password":"x"}
	}}`))
	require.NoError(t, err)
	for repository, want := range map[string]string{
		"registry.example.com/any/module":                        "host",
		"registry.example.com/team/module":                       "team",
		"registry.example.com/teammate/module":                   "host",
		"registry.example.com:5000/any/module":                   "port",
		"registry.example.com:443/any/module":                    "",
		"registry.example.com.evil.example/any/module":           "",
		"evil.example/registry.example.com/module":               "",
		"evil-registry.example.com/any/module":                   "",
		"example.com/registry/module":                            "",
		"paths.example.com/team/module":                          "path",
		"paths.example.com/teammate/module":                      "",
		"paths.example.com/other/team":                           "",
		"index.docker.io/any/module":                             "hub",
		"docker.io.evil.example/any/module":                      "",
		"other.example.com/https/registry.example.com/v2/module": "",
	} {
		t.Run(repository, func(t *testing.T) {
			parsed, err := name.NewRepository(repository, name.StrictValidation)
			require.NoError(t, err)
			found, err := authn.Resolve(context.Background(), keychain, parsed)
			require.NoError(t, err)
			config, err := authn.Authorization(context.Background(), found)
			require.NoError(t, err)
			require.Equal(t, want, config.Username)
		})
	}
}

func TestARedirectDoesNotGetOurCredentials(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	var leaked atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked.Add(1)
		if req.Header.Get("Authorization") != "" {
			leaked.Store(true)
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer elsewhere.Close()

	r := newTestRegistry(t)
	l := r.push(t, []byte("content"))
	r.answer = func(w http.ResponseWriter, req *http.Request) bool {
		if _, _, given := req.BasicAuth(); !given {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		if strings.Contains(req.URL.Path, "/blobs/") {
			http.Redirect(w, req, elsewhere.URL+req.URL.Path, http.StatusTemporaryRedirect)
			return true
		}
		return false
	}
	keychain, err := KeychainFromDockerConfig([]byte(`{"auths":{"` + r.host + `":{"username":"me","password":"pass"}}}`))
	require.NoError(t, err)
	store := r.store(t, func(o *Options) {
		o.Keychain = keychain
		o.PlainHTTPHosts = append(o.PlainHTTPHosts, strings.TrimPrefix(elsewhere.URL, "http://"))
		o.Timeout = 10 * time.Second
	})
	_, err = store.Fetch(context.Background(), l)
	require.Error(t, err)
	require.Positive(t, asked.Load(), "the redirect was followed")
	require.False(t, leaked.Load(), "the redirect got our credentials")
}
