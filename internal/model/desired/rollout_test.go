package desired_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func TestChangesThatConcernManyKymas(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*fixture)
		many   bool
	}{
		"nothing changed":    {func(*fixture) {}, false},
		"a moved channel":    {func(w *fixture) { w.meta.Generation++ }, true},
		"an edited template": {func(w *fixture) { w.template.Generation++ }, true},
		"a new mandatory module": {func(w *fixture) {
			meta := desiredtest.ReleaseMeta("warden")
			meta.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: "1.0.0"}
			w.others = append(w.others, meta, desiredtest.Template("warden", "1.0.0"))
		}, true},
		"a removed mandatory module": {func(w *fixture) {
			meta := desiredtest.ReleaseMeta("warden", "regular=1.0.0")
			meta.Finalizers = []string{shared.FinalizerMandatoryModule}
			w.others = append(w.others, meta)
		}, true},
		"another flag":             {func(w *fixture) { w.settings.RestrictedModules = []string{"keda"} }, true},
		"an edited Kyma":           {func(w *fixture) { w.kyma.Generation++ }, false},
		"an edited remote Kyma":    {func(w *fixture) { w.kyma.Status.Remote.Modules = []v1beta2.Module{{Name: "btp"}} }, false},
		"a label of the Kyma":      {func(w *fixture) { w.kyma.Labels[shared.LabelBeta] = "true" }, false},
		"a rotated access Secret":  {func(w *fixture) { w.secret.ResourceVersion = "8" }, false},
		"a Kyma and a channel too": {func(w *fixture) { w.kyma.Generation++; w.meta.Generation++ }, false},
	} {
		t.Run(name, func(t *testing.T) {
			before, changed := newFixture().digest(t), newFixture()
			tc.change(changed)
			require.Equal(t, tc.many, desired.OnlySharedChanged(before, changed.digest(t)))
		})
	}
	require.False(t, desired.OnlySharedChanged("of an earlier release", newFixture().digest(t)), "an unknown change does not wait")
}

func TestAnImagePullSecretConcernsManyKymas(t *testing.T) {
	kyma := newFixture().kyma
	digest := func(version string) string {
		pull := desired.SecretVersion{Namespace: shared.NamespaceControlPlane, Name: "pull", ResourceVersion: version}
		return desired.InputsDigest(kyma, desired.Settings{ImagePullSecret: "pull"}, nil, []desired.SecretVersion{pull}, "", "")
	}
	require.True(t, desired.OnlySharedChanged(digest("1"), digest("2")))
}
