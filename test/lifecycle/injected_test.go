package lifecycle

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/injection"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

const injectedYAML = `
apiVersion: v1
kind: Secret
metadata: {name: ID-pull, annotations: {operator.kyma-project.io/inject-data-from-kcp: "true"}}
type: Opaque
stringData: {dummy: dummy, password: dummy}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: beside}
data: {a: b}
`

func mayInject(m *v1beta2.Manifest) {
	m.Annotations = map[string]string{shared.AnnotationInjects: "true"}
}

func TestTheDataOfASecretInTheControlPlaneReachesTheModulesSecret(t *testing.T) {
	s := newEnvironment(t, injectedYAML, mayInject)
	name := s.id + "-pull"
	data := func() map[string][]byte {
		found := &corev1.Secret{}
		require.NoError(t, s.remote.Get(context.Background(), types.NamespacedName{Namespace: s.id + "-remote", Name: name}, found))
		return found.Data
	}
	refused := func(message string) {
		t.Helper()
		_, err := s.activities.Install.ApplyManifest(context.Background(), install.ApplyInput{Ref: s.ref()})
		require.Equal(t, fault.Rejected, fault.Of(err).Kind)
		require.Equal(t, injection.ReasonNotInjected, fault.Of(err).Reason)
		require.ErrorContains(t, err, message)
	}

	refused("failed to fetch kcp secret")
	err := s.remote.Get(context.Background(), types.NamespacedName{Namespace: s.id + "-remote", Name: "beside"}, &corev1.ConfigMap{})
	require.True(t, apierrors.IsNotFound(err), "nothing is applied")

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kcp-system"}}
	if err := s.control.Create(context.Background(), namespace); !apierrors.IsAlreadyExists(err) {
		require.NoError(t, err)
	}
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kcp-system"}, Data: map[string][]byte{"password": []byte("hidden1")}}
	s.create(source)
	t.Cleanup(func() { _ = s.control.Delete(context.Background(), source) })
	refused("is missing the required operator.kyma-project.io/module-name label")

	source.Labels = map[string]string{shared.LabelModuleName: "sample"}
	require.NoError(t, s.control.Update(context.Background(), source))
	s.installReady()
	require.Equal(t, map[string][]byte{"password": []byte("hidden1")}, data(), "stringData is dropped, and the layer's data too")
	differs, _ := s.probe()
	require.False(t, differs)

	t.Log("changed data is taken over by the next pass, without an edit of anybody being blamed")
	source.Data = map[string][]byte{"password": []byte("hidden2"), "more": []byte("hidden3")}
	require.NoError(t, s.control.Update(context.Background(), source))
	s.later += time.Minute
	how, requests := s.differs()
	require.Equal(t, "a Secret of the control plane changed", how)
	require.Empty(t, writes(requests))
	s.recorded.take()
	s.apply()
	require.Equal(t, source.Data, data())
	_, corrected := s.recorded.take()
	require.Zero(t, corrected)
	differs, _ = s.probe()
	require.False(t, differs)

	t.Log("somebody's copy of the Secret, with all that it has, is not the module's")
	live := &corev1.Secret{}
	require.NoError(t, s.remote.Get(context.Background(), types.NamespacedName{Namespace: s.id + "-remote", Name: name}, live))
	copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: s.id + "-copy", Namespace: live.Namespace, Labels: live.Labels, Annotations: live.Annotations}}
	require.NoError(t, s.remote.Create(context.Background(), copied))
	differs, _ = s.probe()
	require.False(t, differs)
	require.NoError(t, s.remote.Delete(context.Background(), copied))

	t.Log("a Secret that is for another module now is an Error, and what is installed stays")
	source.Labels = map[string]string{shared.LabelModuleName: "other"}
	require.NoError(t, s.control.Update(context.Background(), source))
	s.later += time.Minute
	differs, _ = s.probe()
	require.True(t, differs)
	refused("secret=" + name + " expected=sample actual=other")
	require.Equal(t, source.Data, data())

	t.Log("a module that may not ask for it has what its layer says")
	s.update(func(m *v1beta2.Manifest) { m.Annotations = nil })
	s.installReady()
	require.Equal(t, map[string][]byte{"dummy": []byte("dummy"), "password": []byte("dummy")}, data())
	differs, _ = s.probe()
	require.False(t, differs)
}
