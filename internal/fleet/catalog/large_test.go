package catalog

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

// largeCatalog returns this many templates, ten versions to a module. A Kyma may see all of them.
func largeCatalog(templates int) []client.Object {
	var all []client.Object
	for i := range templates {
		template := desiredtest.Template(fmt.Sprintf("module-%d", i/10), fmt.Sprintf("1.%d.0", i%10))
		template.ResourceVersion = "1"
		all = append(all, template)
	}
	return all
}

// With a cache smaller than the catalog, each object is evicted before its next turn. All objects would be encoded for
// each Kyma, in each reconcile and each pass of the sweep.
func TestALargeCatalogIsEncodedOnceForAllKymas(t *testing.T) {
	d := newDigests()
	all := largeCatalog(6000)
	first := make([]string, len(all))
	for i, object := range all {
		var err error
		first[i], err = d.of(object)
		require.NoError(t, err)
		// The content of a known version must not be read again.
		object.SetLabels(map[string]string{"changed": "true"})
	}
	encoded := 0
	for i, object := range all {
		again, err := d.of(object)
		require.NoError(t, err)
		if again != first[i] {
			encoded++
		}
	}
	require.Zero(t, encoded)
}

// copied returns a remote catalog without differences.
func copied(tb testing.TB, wanted []Object) Lists {
	tb.Helper()
	there := Lists{}
	for _, object := range wanted {
		body, err := object.body(1)
		require.NoError(tb, err)
		found := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: object.name, Namespace: object.namespace, Generation: 1, Labels: body.GetLabels(), Annotations: body.GetAnnotations(),
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: shared.FieldManagerCatalog, Operation: metav1.ManagedFieldsOperationApply}},
		}}
		there[object.kind] = append(there[object.kind], found)
	}
	return there
}

// heap returns the bytes in use after a garbage collection.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// BenchmarkCatalog measures the computation of one reconcile of a remote catalog without differences, by the number of
// templates that the Kyma may see. Requests to the cluster are not included. Encode measures the digest of one new
// template.
func BenchmarkCatalog(b *testing.B) {
	for _, templates := range []int{500, 5000} {
		b.Run(fmt.Sprintf("templates=%d", templates), func(b *testing.B) {
			before := heap()
			held := fleettest.NewCache(b, desiredtest.Scheme(), largeCatalog(templates)...)
			held.Hold(b, &v1beta2.ModuleTemplate{}, &v1beta2.ModuleReleaseMeta{})
			held.Run(b)
			each := float64(heap()-before) / float64(templates)
			c := New(desired.Settings{}.WithDefaults(), held, held, time.Now)
			kyma := desiredtest.Kyma()
			s := desired.Sync{Enabled: true, Catalog: true, Namespace: "kyma-system", Name: "default"}
			wanted, err := c.Wanted(b.Context(), kyma, s, false)
			require.NoError(b, err)
			require.Len(b, wanted, templates)
			there := copied(b, wanted)
			b.ReportAllocs()
			for b.Loop() {
				wanted, err := c.Wanted(b.Context(), kyma, s, false)
				require.NoError(b, err)
				diff := Diff(wanted, there, Owner{Mark: desired.SyncedFrom(kyma)})
				require.True(b, diff.IsEmpty())
			}
			b.ReportMetric(each, "B-held/template")
		})
	}
	b.Run("encode", func(b *testing.B) {
		template := desiredtest.Template("module", "1.0.0")
		b.ReportAllocs()
		for b.Loop() {
			_, err := contentDigest(template)
			require.NoError(b, err)
		}
	})
}
