package kinds

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// served is a cluster that serves each kind in one version.
type served map[schema.GroupKind]string

func (s served) Resource(_ context.Context, gvk schema.GroupVersionKind) (Resource, error) {
	version, known := s[gvk.GroupKind()]
	if !known || gvk.Version != "" && gvk.Version != version {
		return Resource{}, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	return Resource{GroupVersionResource: gvk.GroupKind().WithVersion(version).GroupVersion().WithResource("bumps")}, nil
}

func TestARecordedKindIsFoundInTheVersionThatIsServedNow(t *testing.T) {
	bump := schema.GroupKind{Group: "example.com", Kind: "Bump"}
	mapper := Mapper{Cluster: served{bump: "v1beta1"}}
	for _, version := range []string{"v1alpha1", "v1beta1", ""} {
		found, err := mapper.Served(t.Context(), bump.WithVersion(version))
		require.NoError(t, err)
		require.Equal(t, "v1beta1", found.Version)
	}
	_, err := mapper.Served(t.Context(), schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Other"})
	require.True(t, meta.IsNoMatchError(err))
}
