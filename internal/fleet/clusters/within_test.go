package clusters

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestLargerRequestsMayTakeLonger(t *testing.T) {
	t.Parallel()
	limits := Limits{}.withDefaults()
	require.Equal(t, 15*time.Second, limits.Within(-1), "unknown size")
	require.Equal(t, 15*time.Second, limits.Within(0))
	require.Equal(t, 30*time.Second, limits.Within(128<<10))
	require.Equal(t, 45*time.Second, limits.Within(1<<20), "the request ends in time for the activity")
}

func TestALargeDefinitionMayTakeLongOnASlowAPIServer(t *testing.T) {
	t.Parallel()
	const usual = 2 * time.Second
	asked := make(chan string, 2)
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- r.URL.Query().Get("timeout")
		select {
		case <-r.Context().Done():
			return
		case <-time.After(usual + usual/2):
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"`+strings.Repeat("x", min(len(body), 3))+`"}}`)
	})
	registry, cp := newRegistry(t, func(o *Options) { o.Limits = Limits{RequestTimeout: usual} })
	cp.set(accessSecret("ns", "a", "a", "1", kubeconfigOf(t, server)))
	cluster, err := registry.ForKyma(t.Context(), "ns", "a")
	require.NoError(t, err)
	apply := func(size int) error {
		definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
		body := []byte(`{"a":"` + strings.Repeat("a", size) + `"}`)
		_, err := cluster.Metadata.Resource(definitions).Patch(t.Context(), "d", types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "test"})
		return err
	}
	err = apply(10)
	require.Error(t, err)
	require.Equal(t, ReasonUnreachableTimeout, fault.Of(Classify(err)).Reason)
	require.NoError(t, apply(512<<10))
	require.Equal(t, "2s", <-asked, "the API server learns the timeout")
	require.Equal(t, "6s", <-asked)
}
