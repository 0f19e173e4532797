package clusters_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
)

// A kube-apiserver that has just started accepts requests before its discovery has all definitions. In the meantime
// their groups are not found, and /readyz fails.
func TestOnlyAReadyServerMakesAKindUnknown(t *testing.T) {
	t.Parallel()
	found := func(err error) bool { return err == nil }
	for name, test := range map[string]struct {
		readyz int  // the status of /readyz
		knows  bool // whether discovery has the kind from its second request on
		expect func(error) bool
	}{
		"it is starting":                   {readyz: 500, knows: true, expect: apierrors.IsServiceUnavailable},
		"it asks for a retry":              {readyz: 429, knows: true, expect: apierrors.IsTooManyRequests},
		"it became ready":                  {readyz: 200, knows: true, expect: found},
		"it is ready, and lacks the kind":  {readyz: 200, expect: meta.IsNoMatchError},
		"it forbids /readyz, and lacks it": {readyz: 403, expect: meta.IsNoMatchError},
	} {
		for lookup, do := range map[string]func(*clusters.Mapper) error{
			"a kind": func(m *clusters.Mapper) error {
				_, err := m.Resource(t.Context(), schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Sample"})
				return err
			},
			"a kind without a version": func(m *clusters.Mapper) error {
				_, err := m.Resource(t.Context(), schema.GroupVersionKind{Group: "example.com", Kind: "Sample"})
				return err
			},
			"a group": func(m *clusters.Mapper) error {
				served, err := m.Served(t.Context(), "example.com")
				if err == nil && len(served) == 0 {
					return &meta.NoKindMatchError{}
				}
				return err
			},
		} {
			t.Run(name+", asked for "+lookup, func(t *testing.T) {
				t.Parallel()
				var asked atomic.Bool
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					switch known := test.knows && asked.Load(); {
					case r.URL.Path == "/readyz":
						asked.Store(true)
						w.WriteHeader(test.readyz)
					case known && r.URL.Path == "/apis/example.com":
						_, _ = w.Write([]byte(`{"kind":"APIGroup","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}}`))
					case known && r.URL.Path == "/apis/example.com/v1":
						_, _ = w.Write([]byte(`{"kind":"APIResourceList","resources":[{"name":"samples","kind":"Sample","namespaced":true}]}`))
					default:
						w.WriteHeader(http.StatusNotFound)
					}
				}))
				t.Cleanup(server.Close)
				asks, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
				require.NoError(t, err)
				err = do(clusters.NewMapper(asks.RESTClient()).Confirmed())
				require.True(t, test.expect(err), "%v", err)
			})
		}
	}
}
