package watchers

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

func TestOwnersOfASharedModuleAreKickedWhenItsHolderChanges(t *testing.T) {
	controller := true
	owner := func(name string, age time.Duration, change func(*v1beta2.Manifest)) *v1beta2.Manifest {
		m := &v1beta2.Manifest{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: "kcp-system", UID: types.UID(name), CreationTimestamp: metav1.NewTime(now.Add(-age)),
				Labels:          map[string]string{desired.LabelSharedModule: "keda"},
				OwnerReferences: []metav1.OwnerReference{{Kind: "Kyma", Name: "of-" + name, UID: types.UID("kyma-" + name), Controller: &controller}},
			},
			Spec:   v1beta2.ManifestSpec{Version: "1.0.0"},
			Status: v1beta2.ManifestStatus{State: shared.StateReady, Settled: true, Target: &v1beta2.TargetRecord{Cluster: v1beta2.TargetClusterControlPlane}},
		}
		if change != nil {
			change(m)
		}
		return m
	}
	installed := func(m *v1beta2.Manifest) { m.Status.InstalledRef = "sha256:1" }
	for name, test := range map[string]struct {
		first, second func(*v1beta2.Manifest)
		want          []string
	}{
		"nobody if all show the same state": {first: installed},
		"one that shows another state": {
			first: func(m *v1beta2.Manifest) { installed(m); m.Status.State = shared.StateWarning }, want: []string{"manifest/kcp-system/second/second"},
		},
		"the Kyma of an owner with another version, and that owner": {
			first: func(m *v1beta2.Manifest) { installed(m); m.Spec.Version = "2.0.0" },
			want:  []string{"kyma/kcp-system/of-second/kyma-second", "manifest/kcp-system/second/second"},
		},
		"an owner that has become the holder and does not know it yet": {
			first: func(m *v1beta2.Manifest) {
				installed(m)
				m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: now}, []string{shared.FinalizerManifest}
			},
			want: []string{"manifest/kcp-system/second/second"},
		},
		"one that took over": {
			first: func(m *v1beta2.Manifest) {
				m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: now}, []string{shared.FinalizerManifest}
			},
			second: func(m *v1beta2.Manifest) {
				installed(m)
				m.Status.TakenOverFrom = []string{"kcp-system/first"}
			},
			want: []string{"manifest/kcp-system/second/second"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, kicks, _ := newWatcher(t, owner("first", time.Hour, test.first), owner("second", time.Minute, test.second))
			_, err := w.kickOwners(context.Background(), sharedRequest{Module: "keda"})
			require.NoError(t, err)
			var to []string
			for _, sent := range kicks.sent {
				to = append(to, sent.to)
			}
			require.Equal(t, test.want, to)
			for _, workflow := range kicks.asked {
				require.Equal(t, "kyma/kcp-system/of-second/kyma-second", workflow, "the workflow of its own Kyma, not of the holder's")
			}
		})
	}
}

func TestKymasRefusedAnotherVersionOfASharedModuleAreKickedWhenItChanges(t *testing.T) {
	shows := func(name string, module v1beta2.ModuleStatus) *v1beta2.Kyma {
		return &v1beta2.Kyma{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kcp-system", UID: types.UID(name)},
			Spec:       v1beta2.KymaSpec{Modules: []v1beta2.Module{{Name: module.Name}}},
			Status:     v1beta2.KymaStatus{Modules: []v1beta2.ModuleStatus{module}},
		}
	}
	w, kicks, _ := newWatcher(t)
	known, ok := w.reader.(client.Client)
	require.True(t, ok)
	w.reader = fake.NewClientBuilder().WithScheme(known.Scheme()).
		WithIndex(&v1beta2.Kyma{}, desired.IndexKymaReferences, desired.KymaReferencesIndexer).WithObjects(
		shows("refused", v1beta2.ModuleStatus{Name: "keda", State: shared.StateWarning}),
		shows("has-it", v1beta2.ModuleStatus{Name: "keda", State: shared.StateWarning, Manifest: &v1beta2.TrackedObject{}}),
		shows("content", v1beta2.ModuleStatus{Name: "keda", State: shared.StateReady}),
		shows("of-another-module", v1beta2.ModuleStatus{Name: "serverless", State: shared.StateWarning}),
	).Build()
	_, err := w.kickOwners(context.Background(), sharedRequest{Module: "1234", Released: "keda"})
	require.NoError(t, err)
	require.Len(t, kicks.sent, 1)
	require.Equal(t, "kyma/kcp-system/refused/refused", kicks.sent[0].to)
}
