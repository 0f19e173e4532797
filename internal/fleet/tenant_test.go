package fleet_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestTenantOfReadsTheLabelFromTheCache(t *testing.T) {
	w := newFixture(t,
		&v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "theirs", Labels: map[string]string{"kyma-project.io/global-account-id": "account-7"}}},
		&v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "nobodys"}},
	)
	for name, tenant := range map[string]string{"theirs": "account-7", "nobodys": "", "unknown": ""} {
		require.Equal(t, tenant, w.TenantOf(t.Context(), types.NamespacedName{Namespace: "ns", Name: name}), name)
	}
	require.Empty(t, w.reads)
}
