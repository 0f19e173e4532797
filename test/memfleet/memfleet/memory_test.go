package memfleet_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/memfleet"
)

// perCluster is how much memory a cluster may take that has five modules of ten objects each, three definitions of ours, a
// Kyma and a namespace.
const perCluster = 150 * 1024

// TestMemoryPerCluster fills clusters as the product does, and measures what those take that came after the first ones:
// what all share is there then.
func TestMemoryPerCluster(t *testing.T) {
	const first, clusters = 20, 320
	c := newClient(t, memfleet.Options{Clusters: clusters, ReadyAfter: 50 * time.Millisecond, EstablishAfter: time.Millisecond})
	definitions := readDefinitions(t)
	var before uint64
	for cluster := range clusters {
		if cluster == first {
			before = settledHeap(t, c)
		}
		fillCluster(t, c, cluster, definitions)
	}
	took := settledHeap(t, c) - before
	each := took / (clusters - first)
	t.Logf("%d KiB per cluster with %d requests", each/1024, c.fleet.CountersOf(clusters-1).Total)
	assert.Less(t, each, uint64(perCluster))
	runtime.KeepAlive(c.fleet)
}

func fillCluster(t *testing.T, c client, cluster int, definitions [][]byte) {
	t.Helper()
	c.apply(cluster, "/api/v1/namespaces/kyma-system", namespaceBody)
	for _, definition := range definitions {
		answer := c.do(cluster, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", "application/json", string(definition))
		require.Equal(t, http.StatusCreated, answer.Code, answer.Body.String())
	}
	for module := range 5 {
		for n := range 10 {
			path, body := object(module, n, cluster)
			c.apply(cluster, path, body)
		}
	}
	kymas := "/apis/operator.kyma-project.io/v1beta2/namespaces/kyma-system/kymas/default"
	require.Eventually(t, func() bool {
		return c.do(cluster, http.MethodGet, "/apis/operator.kyma-project.io/v1beta2/kymas", "", "application/json", "").Code == http.StatusOK
	}, 10*time.Second, time.Millisecond)
	c.apply(cluster, kymas, fmt.Sprintf(`{"apiVersion":"operator.kyma-project.io/v1beta2","kind":"Kyma","metadata":{"name":"default","namespace":"kyma-system",
"labels":{"operator.kyma-project.io/watched-by":"kyma","operator.kyma-project.io/kyma-name":"kyma-%05d"},"annotations":{"operator.kyma-project.io/owned-by":"kcp-system/kyma-%05d"}},
"spec":{"channel":"regular","modules":[{"name":"module-0"},{"name":"module-1"},{"name":"module-2"},{"name":"module-3"},{"name":"module-4"}]}}`, cluster, cluster))
}

func readDefinitions(t *testing.T) [][]byte {
	t.Helper()
	var all [][]byte
	for _, name := range []string{"kymas", "moduletemplates", "modulereleasemetas"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "crds", "operator.kyma-project.io_"+name+".yaml"))
		require.NoError(t, err)
		encoded, err := yaml.YAMLToJSON(text)
		require.NoError(t, err)
		all = append(all, encoded)
	}
	return all
}

// settledHeap waits until nothing is to happen by itself any more.
func settledHeap(t *testing.T, c client) uint64 {
	t.Helper()
	require.Eventually(t, func() bool { return c.fleet.Waiting() == 0 }, time.Minute, 10*time.Millisecond)
	time.Sleep(100 * time.Millisecond)
	var stats runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
