package removal

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// pagedCluster returns a cluster that answers LISTs of paths with this suffix with these pages, and all other LISTs
// with none.
func pagedCluster(t *testing.T, path string, pages ...[]metav1.PartialObjectMetadata) *Remover {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/apis/example.com":
			_, _ = w.Write([]byte(`{"kind":"APIGroup","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}}`))
			return
		case "/apis/example.com/v1":
			_, _ = w.Write([]byte(`{"kind":"APIResourceList","resources":[{"name":"samples","kind":"Sample","namespaced":true}]}`))
			return
		}
		list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
		if strings.HasSuffix(r.URL.Path, path) {
			at := len(r.URL.Query().Get("continue"))
			list.Items = pages[at]
			if at+1 < len(pages) {
				list.Continue = strings.Repeat("+", at+1)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	client, err := metadata.NewForConfig(config)
	require.NoError(t, err)
	served, err := discovery.NewDiscoveryClientForConfig(config)
	require.NoError(t, err)
	return &Remover{
		Target: objects.Target{
			Cluster: &clusters.Cluster{Metadata: client, Mapper: clusters.NewMapper(served.RESTClient())},
			Mapper:  kinds.Mapper{Cluster: samplesMapper{}}, Owner: inventory.Owner{Name: "m", Mark: "ns/m"},
		},
		Gone: map[string]bool{},
	}
}

type samplesMapper struct{}

func (samplesMapper) Resource(_ context.Context, gvk schema.GroupVersionKind) (kinds.Resource, error) {
	return kinds.Resource{GroupVersionResource: schema.GroupVersionResource{Group: gvk.Group, Version: "v1", Resource: "samples"}, Namespaced: true}, nil
}

func ownedSample(name, owner string) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Sample"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid", Annotations: map[string]string{shared.AnnotationOwnedBy: owner}},
	}
}

func TestACustomResourceOnALaterPageBlocksTheRemoval(t *testing.T) {
	t.Parallel()
	r := pagedCluster(t, "/samples", []metav1.PartialObjectMetadata{ownedSample("ours", "ns/m")}, []metav1.PartialObjectMetadata{ownedSample("theirs", "")})
	m := &v1beta2.Manifest{}
	m.Status.DefaultCR = &v1beta2.DefaultCRRecord{APIVersion: "example.com/v1", Kind: "Sample", Namespace: "ns", Name: "default", UID: "other"}
	seen, err := r.findCRs(t.Context(), m)
	require.NoError(t, err)
	require.Len(t, seen.others, 1)
	require.Equal(t, "Sample ns/theirs", seen.others[0].String())
}

func TestANamespaceIsReadToTheEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pages [][]metav1.PartialObjectMetadata
		kept  bool
	}{
		"all of it is the module's":            {pages: [][]metav1.PartialObjectMetadata{{ownedSample("a", "ns/m")}}},
		"somebody else's exists":               {pages: [][]metav1.PartialObjectMetadata{{ownedSample("a", "ns/m"), ownedSample("b", "")}}, kept: true},
		"all of several pages is the module's": {pages: [][]metav1.PartialObjectMetadata{{ownedSample("a", "ns/m")}, {ownedSample("b", "ns/m")}}},
		"somebody else's is on a later page":   {pages: [][]metav1.PartialObjectMetadata{{ownedSample("a", "ns/m")}, {ownedSample("b", "")}}, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := pagedCluster(t, "/services", test.pages...)
			r.namespaceKinds.once.Do(func() {
				r.namespaceKinds.kinds = []namespaceKind{{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "services"}, kind: "Service"}}
			})
			why, err := r.usedByOthers(t.Context(), "ns")
			require.NoError(t, err)
			require.Equal(t, test.kept, why != "", why)
		})
	}
}
