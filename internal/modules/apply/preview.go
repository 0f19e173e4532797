package apply

import (
	"cmp"
	"context"
	"slices"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

// Previewer renders Manifests without a cluster.
type Previewer struct {
	Artifacts *artifacts.Store
	// RemoteNamespace is the namespace of objects that name none. A Manifest's annotation overrides it.
	RemoteNamespace string
}

// Preview returns the objects that a Manifest would install, without asking a cluster. Charts see the version and
// APIs that Helm assumes. Objects of built-in kinds that name no namespace get the remote namespace.
func (p Previewer) Preview(ctx context.Context, m *v1beta2.Manifest) ([]*unstructured.Unstructured, error) {
	remoteNamespace := cmp.Or(m.Annotations[desired.AnnotationRemoteNamespace], p.RemoteNamespace)
	request, err := p.Artifacts.Prepare(ctx, sourceOf(m, remoteNamespace), assumedCluster{})
	if err != nil {
		return nil, err
	}
	rendered, err := request.Render(ctx)
	if err != nil {
		return nil, err
	}
	objects, err := bundle.Adapted(rendered, adaptationOf(m, remoteNamespace))
	if err != nil {
		return nil, err
	}
	for _, u := range objects {
		kind, known := kinds.BuiltIn(u.GroupVersionKind().GroupKind())
		switch {
		case known && !kind.Namespaced:
			u.SetNamespace("")
		case known && u.GetNamespace() == "":
			u.SetNamespace(remoteNamespace)
		}
	}
	return objects, nil
}

// assumedCluster answers charts as Helm does without a cluster.
type assumedCluster struct{}

var _ artifacts.Cluster = assumedCluster{}

// Version implements artifacts.Cluster.
func (assumedCluster) Version(context.Context) (*version.Info, error) {
	return &version.Info{GitVersion: chartutil.DefaultCapabilities.KubeVersion.Version}, nil
}

// Serves implements artifacts.Cluster.
func (assumedCluster) Serves(_ context.Context, api string) (bool, error) {
	return chartutil.DefaultCapabilities.APIVersions.Has(api), nil
}

// APIVersions implements artifacts.Cluster.
func (assumedCluster) APIVersions(context.Context) (served, silent []string, err error) {
	return slices.Clone(chartutil.DefaultCapabilities.APIVersions), nil, nil
}
