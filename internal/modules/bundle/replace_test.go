package bundle

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestKindsThatHoldDataAreReplacedOnlyIfTheAnnotationSaysSo(t *testing.T) {
	t.Parallel()
	const replace, policy = "operator.kyma-project.io/replace", "helm.sh/resource-policy"
	kind := func(group, kind string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: kind} }
	for of, want := range map[schema.GroupKind]struct{ withTrue, withData bool }{
		kind("apps", "Deployment"):                               {true, true},
		kind("", "Service"):                                      {true, true},
		kind("", "Secret"):                                       {true, true},
		kind("rbac.authorization.k8s.io", "RoleBinding"):         {true, true},
		kind("apps", "StatefulSet"):                              {false, true},
		kind("", "PersistentVolumeClaim"):                        {false, true},
		kind("", "PersistentVolume"):                             {false, true},
		kind("example.com", "Sample"):                            {false, true},
		kind("", "Namespace"):                                    {false, false},
		kind("apiextensions.k8s.io", "CustomResourceDefinition"): {false, false},
	} {
		with := func(annotations map[string]string) bool {
			return isReplaceable(of, &metav1.ObjectMeta{Annotations: annotations})
		}
		require.Equal(t, want.withTrue, with(map[string]string{replace: "true"}), of)
		require.Equal(t, want.withData, with(map[string]string{replace: "with-data"}), of)
		require.False(t, with(nil), of)
		require.False(t, with(map[string]string{replace: "yes"}), of)
		require.False(t, with(map[string]string{replace: "with-data", policy: " Keep"}), of)
	}
}
