package resolve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// After a loss of Temporal's database, a restore or a hand-over, only the Manifests show work that no reconcile caused.
func TestUnfinishedWorkIsFoundInTheManifests(t *testing.T) {
	for name, c := range map[string]struct {
		change                       func(*v1beta2.Manifest)
		named                        []string
		begin, unsettled, isRemoving bool
	}{
		"settled":                       {change: func(*v1beta2.Manifest) {}},
		"settled, another named":        {change: func(*v1beta2.Manifest) {}, named: []string{"other"}},
		"settled and named":             {change: func(*v1beta2.Manifest) {}, named: []string{"keda"}, begin: true},
		"its status was removed":        {change: func(m *v1beta2.Manifest) { m.Status = v1beta2.ManifestStatus{} }, begin: true},
		"its inputs were never applied": {change: func(m *v1beta2.Manifest) { m.Status.InputsDigest = "earlier" }, begin: true},
		"it is not ready":               {change: func(m *v1beta2.Manifest) { m.Status.Settled = false }, unsettled: true},
		"it is being deleted":           {change: func(m *v1beta2.Manifest) { m.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, isRemoving: true},
		"only others keep it from its end": {change: func(m *v1beta2.Manifest) {
			m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: time.Now()}, []string{"example.com/a"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
				Name: "demo-keda", Namespace: "kcp-system", UID: types.UID("uid"), Finalizers: []string{shared.FinalizerManifest},
				Labels: map[string]string{shared.LabelModuleName: "keda"},
			}}
			m.Status.Settled, m.Status.InputsDigest = true, manifests.InputsDigest(m)
			c.change(m)
			view := View{Plans: planning.Plans{Modules: []planning.ModulePlan{{Existing: m}}}}
			var result Result
			view.noteUnsettled(&result, c.named)
			refs := func(ok bool) []kick.Ref {
				if ok {
					return []kick.Ref{kick.RefOf(m)}
				}
				return nil
			}
			require.Equal(t, Result{Begin: refs(c.begin), Unsettled: refs(c.unsettled), Removing: refs(c.isRemoving)}, result)
		})
	}
}
