package desired_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

func TestTheHolderOfASharedModule(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	owner := func(name string, age int, change func(*v1beta2.Manifest)) v1beta2.Manifest {
		m := v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "kcp-system", CreationTimestamp: metav1.NewTime(start.Add(-time.Duration(age) * time.Minute)),
			Labels: map[string]string{desired.LabelSharedModule: desired.SharedModule("kyma-project.io/module/keda")},
		}}
		m.Status.Target = &v1beta2.TargetRecord{Cluster: v1beta2.TargetClusterControlPlane}
		if change != nil {
			change(&m)
		}
		return m
	}
	installed := func(m *v1beta2.Manifest) { m.Status.InstalledRef = "sha256:1" }
	for name, test := range map[string]struct {
		owners []v1beta2.Manifest
		want   string
	}{
		"nobody":                         {},
		"the oldest":                     {owners: []v1beta2.Manifest{owner("a", 1, nil), owner("b", 2, nil)}, want: "b"},
		"of equal age the first by name": {owners: []v1beta2.Manifest{owner("b", 1, nil), owner("a", 1, nil)}, want: "a"},
		"one that has installed it":      {owners: []v1beta2.Manifest{owner("a", 9, nil), owner("b", 1, installed)}, want: "b"},
		"of two that installed it the oldest": {
			owners: []v1beta2.Manifest{owner("a", 1, installed), owner("b", 2, installed)}, want: "b",
		},
		"none that is being deleted": {owners: []v1beta2.Manifest{owner("a", 9, func(m *v1beta2.Manifest) {
			m.DeletionTimestamp = &metav1.Time{Time: start}
		}), owner("b", 1, nil)}, want: "b"},
		"none that is unmanaged": {owners: []v1beta2.Manifest{owner("a", 9, func(m *v1beta2.Manifest) {
			m.Annotations = map[string]string{shared.AnnotationIsUnmanaged: "true"}
		}), owner("b", 1, nil)}, want: "b"},
		"none for a remote cluster": {owners: []v1beta2.Manifest{owner("a", 9, func(m *v1beta2.Manifest) { m.Spec.Remote, m.Status.Target = true, nil }), owner("b", 1, nil)}, want: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			holder := desired.Holder(test.owners)
			if test.want == "" {
				require.Nil(t, holder)
				return
			}
			require.Equal(t, test.want, holder.Name)
		})
	}
}
