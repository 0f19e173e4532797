package apply

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestNoModuleOfTheControlPlaneOverwritesTheSecretWhoseDataItAsksFor(t *testing.T) {
	manifest := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{shared.AnnotationInjects: "true"}}}
	job := &Installation{Target: objects.Target{Manifest: manifest, Cluster: &clusters.Cluster{Name: "control plane"}}}
	job.Plan.Stages[0] = []bundle.Placed{{Object: &bundle.Object{AsksForData: true}, Name: types.NamespacedName{Namespace: "kcp-system", Name: "pull"}}}
	err := (&Applier{}).inject(t.Context(), job)
	require.EqualError(t, err, "inject-data-from-kcp transform failed: the Secret of the module would overwrite Secret kcp-system/pull, whose data it asks for")
	require.Equal(t, "give the Secret of the module another namespace", fault.Of(err).Hint)

	manifest.Annotations = nil
	require.NoError(t, (&Applier{}).inject(t.Context(), job), "its plan does not permit injection")
}
