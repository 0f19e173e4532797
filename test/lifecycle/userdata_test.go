package lifecycle

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// othersCRD defines a second kind, as a module of which the default custom resource's kind is not the only one, or that
// has no default custom resource at all.
func othersCRD() string {
	return strings.NewReplacer("Sample", "Other", "samples", "others", "sample", "other").Replace(crdYAML)
}

// make creates an object of a kind that the module defines, as its user does.
func (s *environment) make(kind, name string, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	s.Helper()
	u := s.sample(name)
	u.SetKind(kind)
	if change != nil {
		change(u)
	}
	require.NoError(s, s.remote.Create(context.Background(), u))
	return u
}

// removedSoon waits until the module is removed.
func (s *environment) removedSoon() {
	s.Helper()
	require.Eventually(s, func() bool { return s.remove(readiness.Observed{}).Outcome == manifests.OutcomeRemoved }, time.Minute, pollEvery)
}

func TestUsersObjectsOfAnyKindThatAModuleDefinesBlockItsRemoval(t *testing.T) {
	ctx := context.Background()
	s := newEnvironment(t, moduleYAML+othersCRD(), nil)
	s.installReady()
	mine := s.make("Other", "mine", nil)
	s.delete()

	result := s.remove(readiness.Observed{})
	require.Equal(t, manifests.OutcomeWaiting, result.Outcome)
	require.Equal(t, shared.StateDeleting, result.Observed.State)
	require.Equal(t, readiness.ReasonBlockedByModuleCRs, result.Observed.Reason)
	require.Equal(t, "waiting for module crs deletion", result.Observed.Message)
	require.Contains(t, result.Observed.Hint, "Other "+s.id+"-remote/mine")
	require.NotNil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
	require.NotNil(t, s.get("ID.example.com/v1", "Other", "ID-remote", "mine"))
	events, _ := s.recorded.take()
	require.Len(t, events, 2, events)
	for i, about := range []string{"Warning *v1beta2.Manifest UserDataBlocksRemoval: ", "Warning *v1beta2.Kyma UserDataBlocksRemoval: "} {
		require.True(t, strings.HasPrefix(events[i], about), events[i])
		require.Contains(t, events[i], "Other "+s.id+"-remote/mine")
		require.Contains(t, events[i], "operator.kyma-project.io/delete-user-data")
	}
	s.remove(result.Observed)
	events, _ = s.recorded.take()
	require.Empty(t, events, "the same is told once")

	s.report(result.Observed, false)
	m := s.read()
	require.Equal(t, shared.StateDeleting, m.Status.State)
	require.Equal(t, "waiting for module crs deletion", m.Status.LastOperation.Operation)
	said := ""
	for _, c := range m.Status.Conditions {
		said += c.Message + "\n"
	}
	require.Contains(t, said, "Other "+s.id+"-remote/mine")
	_, err := s.activities.Uninstall.WaitRemoval(ctx, uninstall.RemoveInput{Ref: s.ref(), Reported: result.Observed})
	require.Equal(t, fault.Pending, fault.Of(err).Kind)

	require.NoError(t, s.remote.Delete(ctx, mine))
	s.removedSoon()
	require.Nil(t, s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "others.ID.example.com"))
}

func TestOnlyTheKindsThatATemplateNamesBlockARemovalWhereItNamesAny(t *testing.T) {
	s := newEnvironment(t, moduleYAML+othersCRD(), func(m *v1beta2.Manifest) {
		m.Annotations = map[string]string{desired.AnnotationAssociatedKinds: desired.KindsText([]v1beta2.GroupVersionKind{
			{Group: m.Namespace + ".example.com", Version: "v1", Kind: "Sample"}, {Version: "v1", Kind: "Secret"},
		})}
	})
	s.installReady()
	s.make("Other", "cache", nil)
	mine := s.make("Sample", "mine", nil)
	s.delete()
	result := s.remove(readiness.Observed{})
	require.Equal(t, readiness.ReasonBlockedByModuleCRs, result.Observed.Reason)
	require.Contains(t, result.Observed.Hint, "1 custom resource would be lost with the module: Sample "+s.id+"-remote/mine.")
	require.NoError(t, s.remote.Delete(context.Background(), mine))
	s.removedSoon()
}

func TestTheModulesOwnObjectsDoNotBlockItsRemoval(t *testing.T) {
	testfleet.NeedsRealRemote(t, "making the ConfigMap kube-root-ca.crt in each namespace")
	s := newEnvironment(t, moduleYAML+othersCRD()+"apiVersion: ID.example.com/v1\nkind: Other\nmetadata: {name: shipped}\n---\n", withDefaultCR)
	s.installReady()
	ownedBy := func(owner *unstructured.Unstructured, controls bool) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			u.SetOwnerReferences([]metav1.OwnerReference{{
				APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), Controller: &controls,
			}})
		}
	}
	s.make("Other", "of-the-default-one", ownedBy(s.get("ID.example.com/v1", "Sample", "ID-remote", "default"), false))
	s.make("Other", "of-the-operator", ownedBy(s.get("apps/v1", "Deployment", "ID-remote", "operator"), false))
	s.make("Other", "controlled", ownedBy(s.get("v1", "ConfigMap", "ID-remote", "kube-root-ca.crt"), true))
	mine := s.make("Other", "mine", ownedBy(s.get("v1", "ConfigMap", "ID-remote", "kube-root-ca.crt"), false))
	s.delete()
	result := s.remove(readiness.Observed{})
	require.Equal(t, readiness.ReasonBlockedByModuleCRs, result.Observed.Reason)
	require.Contains(t, result.Observed.Hint, "1 custom resource would be lost with the module: Other "+s.id+"-remote/mine.")
	require.NoError(t, s.remote.Delete(context.Background(), mine))
	s.removedSoon()
}

func TestTheOwnerOfAModuleMayAllowThatItsUsersDataIsDeleted(t *testing.T) {
	for name, allow := range map[string]func(*environment){
		"at the Manifest": func(s *environment) {
			s.update(func(m *v1beta2.Manifest) {
				metav1.SetMetaDataAnnotation(&m.ObjectMeta, shared.AnnotationDeleteUserData, "true")
			})
		},
		"at the Kyma":                       func(s *environment) { s.annotateKyma("keda, sample") },
		"at the Kyma in the remote cluster": func(s *environment) { s.annotateRemoteKyma("sample") },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			s := newSeparateEnvironment(t, moduleYAML, withDefaultCR)
			s.installReady()
			s.make("Sample", "mine", func(u *unstructured.Unstructured) { u.SetFinalizers([]string{"example.com/operator"}) })
			s.delete()
			s.annotateKyma("keda,samples,true")
			require.Equal(t, readiness.ReasonBlockedByModuleCRs, s.remove(readiness.Observed{}).Observed.Reason, "other modules are meant")

			allow(s)
			s.recorded.take()
			result := s.remove(readiness.Observed{})
			require.Equal(t, readiness.ReasonWaitingForModuleCR, result.Observed.Reason, result.Observed.Hint)
			require.Equal(t, "waiting for module crs deletion", result.Observed.Message)
			require.Contains(t, result.Observed.Hint, "Sample "+s.id+"-remote/mine")
			require.NotNil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"), "the operator runs while they go")
			events, _ := s.recorded.take()
			require.Len(t, events, 1)
			require.Contains(t, events[0], "Normal *v1beta2.Kyma UserDataDeleted: ")

			released := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			require.NoError(t, s.remote.Patch(ctx, s.sample("mine"), released))
			s.removedSoon()
			require.Nil(t, s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com"))
		})
	}
}

func (s *environment) kyma() *v1beta2.Kyma {
	s.Helper()
	kyma := &v1beta2.Kyma{}
	require.NoError(s, s.control.Get(context.Background(), types.NamespacedName{Namespace: s.id, Name: "kyma"}, kyma))
	return kyma
}

func (s *environment) annotateKyma(value string) {
	s.Helper()
	kyma := s.kyma()
	metav1.SetMetaDataAnnotation(&kyma.ObjectMeta, shared.AnnotationDeleteUserData, value)
	require.NoError(s, s.control.Update(context.Background(), kyma))
}

// annotateRemoteKyma creates the Kyma's copy in the remote cluster, with an annotation.
func (s *environment) annotateRemoteKyma(value string) {
	s.Helper()
	ctx := context.Background()
	s.installDefinitionsIn(s.remote)
	remote := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.id + "-remote", Name: "default", Annotations: map[string]string{shared.AnnotationDeleteUserData: value},
	}}
	require.NoError(s, s.remote.Create(ctx, remote))
	kyma := s.kyma()
	kyma.Status.Remote = &v1beta2.RemoteStatus{
		Name: remote.Name, Namespace: remote.Namespace, UID: string(remote.UID), Generation: v1beta2.SyncGenerationDefault,
	}
	require.NoError(s, s.control.Status().Update(ctx, kyma))
}

// convertedCRD is a definition with a conversion webhook that nobody serves, from the version in which it is stored to
// the preferred one.
func convertedCRD() string {
	converted := strings.Replace(crdYAML, "  versions:\n", `  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {url: "https://127.0.0.1:1/convert"}
  versions:
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, 1)
	return converted
}

func TestARemovalEndsAlthoughTheModulesConversionWebhookIsDown(t *testing.T) {
	s := newSeparateEnvironment(t, convertedCRD()+operatorYAML, withDefaultCR)
	s.installReady()
	mine := s.make("Sample", "mine", nil)
	s.delete()
	result := s.remove(readiness.Observed{})
	require.Equal(t, readiness.ReasonBlockedByModuleCRs, result.Observed.Reason)
	require.Contains(t, result.Observed.Hint, "Sample "+s.id+"-remote/mine", "what is stored can be read")
	require.NoError(t, s.remote.Delete(context.Background(), mine))
	s.removedSoon()
	require.Nil(t, s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com"))
}

// storeInV2 makes the definition store what is written from now on as v2. Existing objects stay stored as v1, and would
// be converted by a webhook that nobody serves.
func (s *environment) storeInV2() {
	definition := s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com")
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	require.NoError(s, err)
	v1, ok := versions[0].(map[string]any)
	require.True(s, ok)
	v2 := maps.Clone(v1)
	v1["storage"], v2["name"] = false, "v2"
	require.NoError(s, unstructured.SetNestedSlice(definition.Object, []any{v1, v2}, "spec", "versions"))
	require.NoError(s, unstructured.SetNestedMap(definition.Object, map[string]any{
		"strategy": "Webhook",
		"webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": "https://127.0.0.1:1/convert"},
		},
	}, "spec", "conversion"))
	s.Cleanup(func() { _ = s.switchConversionOff() }) // else no namespace of the cluster could be deleted any more
	require.NoError(s, s.remote.Update(context.Background(), definition))
	sample := schema.GroupVersionKind{Group: s.id + ".example.com", Version: "v2", Kind: "SampleList"}
	require.Eventually(s, func() bool {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(sample)
		err := s.remote.List(context.Background(), list)
		return apierrors.IsInternalError(err) || apierrors.IsTooManyRequests(err)
	}, 30*time.Second, 200*time.Millisecond, "the API server has to convert")
}

// switchConversionOff makes objects readable as they are stored.
func (s *environment) switchConversionOff() error {
	definition := &unstructured.Unstructured{}
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.SetKind("CustomResourceDefinition")
	definition.SetName("samples." + s.id + ".example.com")
	off := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`))
	return s.remote.Patch(context.Background(), definition, off)
}

func TestARemovalReadsWhatIsStoredInAnOldVersionAndReportsThatTheConversionWebhookIsDown(t *testing.T) {
	testfleet.NeedsRealRemote(t, "telling that the conversion webhook is dead")
	ctx := context.Background()
	s := newSeparateEnvironment(t, moduleYAML, nil)
	s.installReady()
	s.make("Sample", "mine", nil)
	s.storeInV2()
	s.delete()
	result := s.remove(readiness.Observed{})
	require.Equal(t, readiness.ReasonBlockedByModuleCRs, result.Observed.Reason, result.Observed.Message)
	require.Contains(t, result.Observed.Hint, "Sample "+s.id+"-remote/mine", "what is stored can be read")

	s.update(func(m *v1beta2.Manifest) {
		m.Annotations = map[string]string{"operator.kyma-project.io/delete-user-data": "true"}
	})
	_, err := s.activities.Uninstall.RemoveManifest(ctx, uninstall.RemoveInput{Ref: s.ref()})
	require.Equal(t, clusters.ReasonConversionFailed, fault.Of(err).Reason)

	require.NoError(t, s.switchConversionOff())
	s.removedSoon()
	require.Nil(t, s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com"))
}
