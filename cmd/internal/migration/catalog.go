package migration

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/forecast"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/injection"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// catalog holds the inputs for the first plan of a Kyma after its takeover.
type catalog struct {
	settings desired.Settings
	planner  *resolve.Planner
	render   func(context.Context, *v1beta2.Manifest) ([]*unstructured.Unstructured, error)
	secrets  *injection.Source
}

// readCatalog reads the fleet and the catalog like an instance with these flags.
func readCatalog(ctx context.Context, says io.Writer, program forecast.Program) (*catalog, error) {
	live, namespaces, o, err := program.Connect(ctx, says, "", true)
	if err != nil {
		return nil, err
	}
	o.Present, err = forecast.Read(ctx, live, namespaces)
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("%w: first apply the definitions of this build: lifecycle-manager crds | kubectl apply --server-side -f -", err)
	}
	if err != nil {
		return nil, err
	}
	planner, err := forecast.NewPlanner(ctx, o)
	if err != nil {
		return nil, err
	}
	return &catalog{settings: o.Settings.WithDefaults(), planner: planner, render: o.Render, secrets: injection.New(live, nil)}, nil
}

// prospectsOf returns what the first plan will do with a Kyma's modules. It returns nothing for a Kyma that is being
// deleted, that was already taken over, or that belongs to another instance.
func (m *migration) prospectsOf(ctx context.Context, kyma *v1beta2.Kyma, known fleet.Manifests) (prospects, error) {
	if !kyma.DeletionTimestamp.IsZero() || !isUpstreams(kyma, known.Own) || !m.catalog.settings.Ours(kyma.Labels) {
		return prospects{}, nil
	}
	cluster, err := m.clusters.Reach(ctx, kyma.Namespace, kyma.Name)
	if err != nil {
		return prospects{}, err
	}
	synchronized, err := sync.Preview(ctx, kyma, m.catalog.settings, cluster.Client)
	if err != nil {
		return prospects{}, err
	}
	view, err := m.catalog.planner.View(ctx, synchronized, known.Own, known.Foreign, nil)
	if err != nil {
		return prospects{}, fmt.Errorf("plan with the catalog: %w", err)
	}
	all := newProspects(&view)
	for _, p := range all.inOrder() {
		if p.planned == nil {
			continue
		}
		secrets, err := m.catalog.injected(ctx, p.planned)
		if err != nil {
			p.fault = fault.Of(err)
		}
		if len(secrets) > 0 {
			p.text += "; gets the data of " + strings.Join(secrets, " and ")
		}
	}
	return all, nil
}

// injected returns the Secrets of the control plane that provide data for a module. A rejected fault is why none of the
// module's objects can be applied.
func (c *catalog) injected(ctx context.Context, manifest *v1beta2.Manifest) ([]string, error) {
	if manifest.Annotations[shared.AnnotationInjects] != shared.ValueTrue {
		return nil, nil
	}
	objects, err := c.render(ctx, manifest)
	if err != nil {
		return nil, err
	}
	var secrets []string
	for _, u := range objects {
		if _, asks := bundle.InjectedVersion(u.GroupVersionKind().GroupKind(), u.GetAnnotations()); !asks {
			continue
		}
		if _, _, err := c.secrets.Read(ctx, u.GetName(), manifest.ModuleName()); err != nil {
			return nil, err
		}
		secrets = append(secrets, "Secret "+injection.Key(u.GetName()).String())
	}
	slices.Sort(secrets)
	return slices.Compact(secrets), nil
}
