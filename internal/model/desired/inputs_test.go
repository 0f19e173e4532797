package desired_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func accessSecret(version string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: "kyma-sample", Namespace: desiredtest.Namespace, UID: "secret-uid", ResourceVersion: version,
		Labels: map[string]string{shared.LabelKymaName: "kyma-sample"},
	}}
}

// fixture has the inputs of an inputs digest.
type fixture struct {
	kyma     *v1beta2.Kyma
	settings desired.Settings
	template *v1beta2.ModuleTemplate
	meta     *v1beta2.ModuleReleaseMeta
	secret   *corev1.Secret
	others   []client.Object
}

func newFixture() *fixture {
	return &fixture{
		kyma:     desiredtest.Accepted(desiredtest.Kyma("keda"), v1beta2.SyncGenerationDefault, "regular", v1beta2.Module{Name: "keda"}),
		template: desiredtest.Template("keda", "1.0.0"), meta: desiredtest.ReleaseMeta("keda", "regular=1.0.0"),
		secret: accessSecret("7"),
	}
}

func (w *fixture) digest(t *testing.T) string {
	t.Helper()
	cluster := desiredtest.NewCluster("cp", append([]client.Object{w.template, w.meta, w.secret}, w.others...)...)
	inputs := desired.Inputs{Settings: w.settings, Index: desired.NewCached(cluster), Secrets: fleet.Live(cluster)}
	digest, err := inputs.Digest(context.Background(), w.kyma)
	require.NoError(t, err)
	return digest
}

func TestTheInputsDigestChangesWithEachInput(t *testing.T) {
	for name, change := range map[string]func(*fixture){
		"another Kyma of the same name":      func(w *fixture) { w.kyma.UID = "other" },
		"an edited spec":                     func(w *fixture) { w.kyma.Generation++ },
		"a deletion":                         func(w *fixture) { w.kyma.DeletionTimestamp = &metav1.Time{}; *w.kyma.DeletionTimestamp = metav1.Now() },
		"a beta label":                       func(w *fixture) { w.kyma.Labels[shared.LabelBeta] = "true" },
		"skipped reconciliation":             func(w *fixture) { w.kyma.Labels[shared.LabelSkipReconciliation] = "true" },
		"another instance's label":           func(w *fixture) { w.kyma.Labels[shared.LabelManagedBy] = "other" },
		"permission to downgrade":            func(w *fixture) { w.kyma.Annotations[desired.AnnotationAllowDowngrade] = "true" },
		"request to recreate the CR":         func(w *fixture) { w.kyma.Annotations[shared.AnnotationRecreateDefaultCR] = "true" },
		"another channel in the remote Kyma": func(w *fixture) { w.kyma.Status.Remote.Channel = "fast" },
		"another module in the remote Kyma":  func(w *fixture) { w.kyma.Status.Remote.Modules = []v1beta2.Module{{Name: "btp"}} },
		"the remote Kyma was never accepted": func(w *fixture) { w.kyma.Status.Remote.UID = "" },
		"an edited template":                 func(w *fixture) { w.template.Generation++ },
		"a recreated template":               func(w *fixture) { w.template.UID = "new" },
		"a beta template":                    func(w *fixture) { w.template.Labels[shared.LabelBeta] = "true" },
		"a template that is gone":            func(w *fixture) { w.template.Name = "elsewhere"; w.template.Spec.ModuleName = "" },
		"a moved channel":                    func(w *fixture) { w.meta.Generation++ },
		"a rotated Secret":                   func(w *fixture) { w.secret.ResourceVersion = "8" },
		"a Secret that is gone":              func(w *fixture) { w.secret.Labels = nil },
		"another flag":                       func(w *fixture) { w.settings.RestrictedModules = []string{"keda"} },
		"permission to read data":            func(w *fixture) { w.settings.InjectingModules = []string{"other", "keda"} },
	} {
		t.Run(name, func(t *testing.T) {
			before := newFixture().digest(t)
			changed := newFixture()
			change(changed)
			require.NotEqual(t, before, changed.digest(t))
		})
	}
}

func TestTheInputsDigestIgnoresOtherChanges(t *testing.T) {
	for name, change := range map[string]func(*fixture){
		"our finalizer":              func(w *fixture) { w.kyma.Finalizers = []string{shared.FinalizerKyma} },
		"our label on the Kyma":      func(w *fixture) { w.kyma.Labels[shared.LabelManagedBy] = "lifecycle-manager" },
		"no labels at all":           func(w *fixture) { w.kyma.Labels = nil },
		"our label on the template":  func(w *fixture) { w.template.Labels[shared.LabelManagedBy] = "lifecycle-manager" },
		"a status":                   func(w *fixture) { w.kyma.Status.State = shared.StateReady },
		"a resource version":         func(w *fixture) { w.kyma.ResourceVersion = "12" },
		"an unrelated annotation":    func(w *fixture) { w.kyma.Annotations["example.com/x"] = "y" },
		"another module's template":  func(w *fixture) { w.others = append(w.others, desiredtest.Template("btp", "1.0.0")) },
		"another version's template": func(w *fixture) { w.others = append(w.others, desiredtest.Template("keda", "2.0.0")) },
		"a synced copy of the template": func(w *fixture) {
			copied := desiredtest.Template("keda", "1.0.0")
			copied.Namespace, copied.UID = "kyma-system", "copy"
			copied.Annotations[desired.AnnotationSyncedFrom] = "kcp-system/other"
			w.others = append(w.others, copied)
		},
		"the same flags in another order": func(w *fixture) { w.settings = desired.Settings{Mode: desired.ModeControlPlane} },
	} {
		t.Run(name, func(t *testing.T) {
			changed := newFixture()
			change(changed)
			require.Equal(t, newFixture().digest(t), changed.digest(t))
		})
	}
}

func TestTheAccessSecretInTheNamespaceOfTheKymaGoesFirst(t *testing.T) {
	elsewhere := accessSecret("9")
	elsewhere.Namespace = "secrets"
	cluster := desiredtest.NewCluster("cp", elsewhere)
	settings := desired.Settings{AccessSecretNamespace: "secrets"}
	found, err := desired.AccessSecrets(context.Background(), fleet.Live(cluster), settings, desiredtest.Kyma())
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "secrets", found[0].Namespace)

	require.NoError(t, cluster.Create(context.Background(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: "near", Namespace: desiredtest.Namespace, Labels: map[string]string{shared.LabelKymaName: "kyma-sample"},
	}}))
	found, err = desired.AccessSecrets(context.Background(), fleet.Live(cluster), settings, desiredtest.Kyma())
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "near", found[0].Name)
}
