package desired_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

// goingManifest is a Manifest of keda. Its removal waits for its default custom resource.
func goingManifest() v1beta2.Manifest {
	now := metav1.Now()
	m := v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
		Name: "kyma-sample-keda", Namespace: desiredtest.Namespace, DeletionTimestamp: &now,
		Labels: map[string]string{shared.LabelChannel: "regular", shared.LabelModuleName: "keda"},
	}}
	m.Status.DefaultCR = &v1beta2.DefaultCRRecord{APIVersion: "a/v1", Kind: "Keda", Name: "default", UID: "cr"}
	return m
}

func TestTheDigestOfDelistedModulesChangesOnlyWithTheirCatalog(t *testing.T) {
	kyma := desiredtest.Accepted(desiredtest.Kyma(), v1beta2.SyncGenerationDefault, "regular")
	digest := func(kyma *v1beta2.Kyma, m v1beta2.Manifest, catalog ...client.Object) string {
		t.Helper()
		cluster := desiredtest.NewCluster("cp", catalog...)
		inputs := desired.Inputs{Index: desired.NewCached(cluster), Secrets: fleet.Live(cluster)}
		found, err := inputs.Delisted(context.Background(), kyma, []v1beta2.Manifest{m})
		require.NoError(t, err)
		return found
	}
	old, newer := desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	newer.Generation++
	before := digest(kyma, goingManifest(), old)
	require.NotEmpty(t, before)
	require.Equal(t, before, digest(kyma, goingManifest(), old))
	require.NotEqual(t, before, digest(kyma, goingManifest(), newer))
	require.Equal(t, before, digest(kyma, goingManifest(), old, desiredtest.ChannelTemplate("btp", "regular", "1.0.0")))

	listed := desiredtest.Accepted(desiredtest.Kyma("keda"), v1beta2.SyncGenerationDefault, "regular", v1beta2.Module{Name: "keda"})
	require.Empty(t, digest(listed, goingManifest(), old), "a listed module is part of the Kyma's inputs")
	for name, change := range map[string]func(*v1beta2.Manifest){
		"that stays":                        func(m *v1beta2.Manifest) { m.DeletionTimestamp = nil },
		"without a default custom resource": func(m *v1beta2.Manifest) { m.Status.DefaultCR = nil },
		"with a pinned version":             func(m *v1beta2.Manifest) { delete(m.Labels, shared.LabelChannel) },
	} {
		t.Run("ignores a Manifest "+name, func(t *testing.T) {
			m := goingManifest()
			change(&m)
			require.Empty(t, digest(kyma, m, old))
		})
	}
}
