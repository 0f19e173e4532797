package harness

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// NewKyma is a Kyma of the control plane with these modules, which is not created yet.
func NewKyma(name string, modules ...string) *v1beta2.Kyma {
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ControlPlaneNamespace}}
	for _, module := range modules {
		kyma.Spec.Modules = append(kyma.Spec.Modules, v1beta2.Module{Name: module})
	}
	return kyma
}

// NewSynced is a Kyma whose remote Kyma and modules are in a namespace of its own, so that many of them can share
// one remote cluster.
func NewSynced(name string, modules ...string) *v1beta2.Kyma {
	kyma := NewKyma(name, modules...)
	on, off := true, false
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on, Namespace: name, ModuleCatalog: &off}
	return kyma
}

// Create creates a Kyma with access to the remote cluster.
func (s *Environment) Create(kyma *v1beta2.Kyma) {
	s.T.Helper()
	s.Give(kyma.Name)
	require.NoError(s.T, s.ControlPlane.Create(s.T.Context(), kyma))
}

// Give gives the Kyma of this name, which may be created later, access to the remote cluster.
func (s *Environment) Give(kymaName string) {
	s.T.Helper()
	require.NoError(s.T, s.ControlPlane.Create(s.T.Context(), s.AccessOf(NewKyma(kymaName))))
}

// Kyma reads a Kyma from the control plane.
func (s *Environment) Kyma(name string) *v1beta2.Kyma {
	s.T.Helper()
	var kyma v1beta2.Kyma
	require.NoError(s.T, s.ControlPlane.Get(s.T.Context(), client.ObjectKey{Namespace: ControlPlaneNamespace, Name: name}, &kyma))
	return &kyma
}

// Manifests are the Manifests of a Kyma.
func (s *Environment) Manifests(kyma *v1beta2.Kyma) []v1beta2.Manifest {
	s.T.Helper()
	var list v1beta2.ManifestList
	require.NoError(s.T, s.ControlPlane.List(s.T.Context(), &list, client.InNamespace(kyma.Namespace)))
	return slices.DeleteFunc(list.Items, func(m v1beta2.Manifest) bool { return !metav1.IsControlledBy(&m, kyma) })
}

// IsGone reports whether a Kyma no longer exists.
func (s *Environment) IsGone(kyma *v1beta2.Kyma) bool {
	return apierrors.IsNotFound(s.ControlPlane.Get(s.T.Context(), client.ObjectKeyFromObject(kyma), &v1beta2.Kyma{}))
}

// RemoveKyma deletes a Kyma and waits until it is gone; its access Secret stays.
func (s *Environment) RemoveKyma(name string) {
	s.T.Helper()
	kyma := s.Kyma(name)
	require.NoError(s.T, s.ControlPlane.Delete(s.T.Context(), kyma))
	s.Eventually("Kyma "+name+" is gone", 2*time.Minute, func(c *assert.CollectT) {
		assert.True(c, s.IsGone(kyma))
	})
}

// RemoteKyma reads the Kyma in the remote cluster, in the namespace where it is by default.
func (s *Environment) RemoteKyma() *v1beta2.Kyma {
	s.T.Helper()
	var kyma v1beta2.Kyma
	require.NoError(s.T, s.Remote.Get(s.T.Context(), client.ObjectKey{Namespace: RemoteNamespace, Name: "default"}, &kyma))
	return &kyma
}

// RemoteKymas are all Kymas in the remote cluster; none where there is no definition of them.
func (s *Environment) RemoteKymas(t *testing.T) []v1beta2.Kyma {
	t.Helper()
	var kymas v1beta2.KymaList
	err := s.Remote.List(t.Context(), &kymas)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return kymas.Items
}
