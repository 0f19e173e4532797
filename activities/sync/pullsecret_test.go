package sync

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/catalog"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/modules/pullsecret"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// planted must appear only in Secrets.
const planted = `{"auths":{"registry.example.com":{"auth":"cGxhbnRlZA=="}}}`

func pullSecret(content string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "pull", Namespace: "kcp-system", Annotations: map[string]string{catalog.LastApplied: content}},
		Type:       corev1.SecretTypeDockerConfigJson,
		Data:       map[string][]byte{corev1.DockerConfigJsonKey: []byte(content)},
	}
}

func pulling(t *testing.T, kyma *v1beta2.Kyma) *bench {
	t.Helper()
	b := newBench(t, kyma, desired.Settings{AllowControlPlaneModules: true})
	require.NoError(t, b.control.Create(context.Background(), pullSecret(planted)))
	b.configure(t, "pull")
	b.forget()
	return b
}

// configure restarts the instance with this image pull Secret.
func (b *bench) configure(t *testing.T, name string) {
	t.Helper()
	definitions, err := crds.Get(crds.Kymas, crds.ModuleTemplates, crds.ModuleReleaseMetas)
	require.NoError(t, err)
	options := Options{
		Settings: desired.Settings{ImagePullSecret: name, AllowControlPlaneModules: true}, ControlPlane: b.control, Catalog: b.control, Clusters: b,
		Definitions: definitions, Version: "1.0.0",
	}
	if name != "" {
		options.PullSecret, err = pullsecret.New(b.control, name, nil)
		require.NoError(t, err)
	}
	b.Activities, err = New(options)
	require.NoError(t, err)
}

func (b *bench) copyOf(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	err := b.remote.Get(context.Background(), types.NamespacedName{Namespace: "kyma-system", Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return secret
}

func TestTheCopyOfTheImagePullSecretHasOnlyItsTypeAndData(t *testing.T) {
	b := pulling(t, desiredtest.Kyma("keda"))
	result := b.sync(t)
	require.True(t, result.Faults[fault.PartPullSecret].IsZero(), "%v", result.Faults[fault.PartPullSecret])
	copied := b.copyOf(t, "pull")
	require.Equal(t, corev1.SecretTypeDockerConfigJson, copied.Type)
	require.JSONEq(t, planted, string(copied.Data[corev1.DockerConfigJsonKey]))
	require.Equal(t, map[string]string{shared.LabelManagedBy: "kyma", shared.LabelPurpose: "image-pull-secret"}, copied.Labels)
	require.Equal(t, map[string]string{desired.AnnotationSyncedFrom: "kcp-system/kyma-sample"}, copied.Annotations)

	b.forget()
	require.Equal(t, Result{Outcome: OutcomeSynced, Cluster: "remote-uid"}, b.sync(t))
	require.Empty(t, b.remote.Writes(), "a steady synchronization writes nothing")
	require.Empty(t, b.control.Writes())

	for what, object := range map[string]any{"the result": result, "the Kyma": b.kyma(t)} {
		encoded, err := json.Marshal(object)
		require.NoError(t, err)
		require.NotContains(t, string(encoded), "cGxhbnRlZA", what)
		require.NotContains(t, string(encoded), pullsecret.Digest(pullSecret(planted)), what)
	}
}

func TestTheImagePullSecretFollowsOnlyTheOriginal(t *testing.T) {
	ctx := context.Background()
	for name, change := range map[string]func(*testing.T, *bench) string{
		"a rotated original is copied again": func(t *testing.T, b *bench) string {
			source := &corev1.Secret{}
			require.NoError(t, b.control.Get(ctx, types.NamespacedName{Namespace: "kcp-system", Name: "pull"}, source))
			source.Data[corev1.DockerConfigJsonKey] = []byte(`{"auths":{}}`)
			require.NoError(t, b.control.Update(ctx, source))
			return `{"auths":{}}`
		},
		"an edit in the remote cluster is reverted": func(t *testing.T, b *bench) string {
			copied := b.copyOf(t, "pull")
			copied.Data[corev1.DockerConfigJsonKey] = []byte(`{}`)
			require.NoError(t, b.remote.Update(ctx, copied))
			return planted
		},
		"a deleted copy is restored": func(t *testing.T, b *bench) string {
			require.NoError(t, b.remote.Delete(ctx, b.copyOf(t, "pull")))
			return planted
		},
		"a Secret of another type is replaced": func(t *testing.T, b *bench) string {
			copied := b.copyOf(t, "pull")
			require.NoError(t, b.remote.Delete(ctx, copied))
			require.NoError(t, b.remote.Create(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: "pull", Namespace: "kyma-system"}, Type: corev1.SecretTypeOpaque,
			}))
			return planted
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := pulling(t, desiredtest.Kyma("keda"))
			b.sync(t)
			want := change(t, b)
			require.True(t, b.sync(t).Faults[fault.PartPullSecret].IsZero())
			require.Equal(t, want, string(b.copyOf(t, "pull").Data[corev1.DockerConfigJsonKey]))
			require.Equal(t, corev1.SecretTypeDockerConfigJson, b.copyOf(t, "pull").Type)
			require.True(t, desired.IsSyncedCopy(b.copyOf(t, "pull")))
		})
	}
}

func TestTheSweepFindsAnEditedImagePullSecret(t *testing.T) {
	ctx := context.Background()
	b := pulling(t, desiredtest.Kyma("keda"))
	b.sync(t)
	copied := b.remoteKyma(t)
	copied.Status = desired.RemoteStatus(b.kyma(t))
	require.NoError(t, b.remote.Status().Update(ctx, copied))
	changed, why, err := b.Probe(ctx, b.kyma(t), false)
	require.NoError(t, err)
	require.False(t, changed, why)

	secret := b.copyOf(t, "pull")
	secret.Data["more"] = []byte("x")
	require.NoError(t, b.remote.Update(ctx, secret))
	changed, why, err = b.Probe(ctx, b.kyma(t), false)
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, "image pull Secret of the remote cluster differs", why)
}

func TestAMissingImagePullSecretDeletesNothing(t *testing.T) {
	ctx := context.Background()
	b := pulling(t, desiredtest.Kyma("keda"))
	b.sync(t)
	require.NoError(t, b.control.Delete(ctx, pullSecret("")))
	result := b.sync(t)
	require.Equal(t, OutcomeSynced, result.Outcome)
	require.Equal(t, pullsecret.ReasonNotFound, result.Faults[fault.PartPullSecret].Reason)
	require.Equal(t, fault.Rejected, result.Faults[fault.PartPullSecret].Kind, "there is no retry: creating the Secret kicks the Kyma")
	require.Contains(t, result.Faults[fault.PartPullSecret].Message, "kcp-system/pull")
	require.NotNil(t, b.copyOf(t, "pull"))
}

func TestASecretOfTheClustersOwnerIsNotOverwritten(t *testing.T) {
	ctx := context.Background()
	on := true
	kyma := desiredtest.Kyma()
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on, Namespace: "theirs"}
	b := pulling(t, kyma)
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "pull", Namespace: "theirs"}, Data: map[string][]byte{"a": []byte("b")}}
	require.NoError(t, b.remote.Create(ctx, theirs))
	result := b.sync(t)
	require.Equal(t, ReasonPullSecret, result.Faults[fault.PartPullSecret].Reason)
	require.Contains(t, result.Faults[fault.PartPullSecret].Message, "somebody else")
	require.NoError(t, b.remote.Get(ctx, types.NamespacedName{Namespace: "theirs", Name: "pull"}, theirs))
	require.Equal(t, map[string][]byte{"a": []byte("b")}, theirs.Data)
}

func TestARemoteClustersErrorsAboutTheContentAreNotRepeated(t *testing.T) {
	b := pulling(t, desiredtest.Kyma())
	b.remote.Fail = func(verb, object string) error {
		if verb == "create" && object == "Secret pull" {
			return apierrors.NewBadRequest("cannot use " + planted)
		}
		return nil
	}
	result := b.sync(t)
	require.Equal(t, ReasonPullSecret, result.Faults[fault.PartPullSecret].Reason)
	require.NotContains(t, result.Faults[fault.PartPullSecret].Message, "cGxhbnRlZA")
}

func TestTheImagePullSecretIsDeletedWithTheFlagAndWithTheKyma(t *testing.T) {
	ctx := context.Background()
	b := pulling(t, desiredtest.Kyma())
	b.sync(t)
	require.Equal(t, "pull", b.kyma(t).Status.Remote.ImagePullSecret)

	second := pullSecret(planted)
	second.Name, second.ResourceVersion = "second", ""
	require.NoError(t, b.control.Create(ctx, second))
	b.configure(t, "second")
	b.sync(t)
	require.Nil(t, b.copyOf(t, "pull"), "the flag names another Secret")
	require.NotNil(t, b.copyOf(t, "second"))

	require.NoError(t, b.control.Delete(ctx, b.kyma(t)))
	b.cleanup(t)
	require.Nil(t, b.copyOf(t, "second"))

	b = pulling(t, desiredtest.Kyma())
	b.sync(t)
	b.configure(t, "")
	b.sync(t)
	require.Nil(t, b.copyOf(t, "pull"), "the flag names no Secret")
	require.Empty(t, b.kyma(t).Status.Remote.ImagePullSecret)
}

func TestTheImagePullSecretStaysForAnotherKymaInTheSameNamespace(t *testing.T) {
	ctx := context.Background()
	b := pulling(t, desiredtest.Kyma())
	b.sync(t)
	require.NoError(t, b.remote.Create(ctx, &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{
		Name: "neighbour", Namespace: "kyma-system", Annotations: map[string]string{desired.AnnotationSyncedFrom: "kcp-system/neighbour"},
	}}))
	require.NoError(t, b.control.Delete(ctx, b.kyma(t)))
	b.cleanup(t)
	require.Equal(t, "kcp-system/neighbour", b.copyOf(t, "pull").Annotations[desired.AnnotationSyncedFrom])
}

func TestTheOriginalImagePullSecretIsNeverTouched(t *testing.T) {
	ctx := context.Background()
	on := true
	kyma := desiredtest.Kyma()
	kyma.Name, kyma.Namespace = "elsewhere", "kymas"
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on, Namespace: "kcp-system", Strategy: v1beta2.SyncStrategyLocalClient}
	b := pulling(t, kyma)
	b.sync(t)
	original := &corev1.Secret{}
	read := func() {
		require.NoError(t, b.control.Get(ctx, types.NamespacedName{Namespace: "kcp-system", Name: "pull"}, original))
	}
	read()
	require.Empty(t, original.Labels)
	require.NoError(t, b.control.Delete(ctx, b.kyma(t)))
	b.cleanup(t)
	read()
	require.JSONEq(t, planted, string(original.Data[corev1.DockerConfigJsonKey]))
}
