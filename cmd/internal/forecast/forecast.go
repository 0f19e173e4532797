package forecast

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// Options are what a forecast is made from.
type Options struct {
	Settings desired.Settings
	// Present are the objects of the control plane (Read), Applied those of the files (Decode).
	Present, Applied []client.Object
	// Index makes the indexes that plans read a cache by.
	Index func(context.Context, client.FieldIndexer) error
	// Planner are further options of resolve.NewPlanner: where descriptors come from, windows, signatures, limits.
	Planner resolve.Options
	// SameFailures is rollout.Situation.SameFailures.
	SameFailures int32
	// Render returns the objects that a Manifest brings; nil where nobody asks for them.
	Render func(context.Context, *v1beta2.Manifest) ([]*unstructured.Unstructured, error)
}

// Forecast is what would change.
type Forecast struct {
	// Kymas is how many were planned for, Changed how many of them something would change for.
	Kymas   int     `json:"kymas"`
	Changed int     `json:"changed"`
	Groups  []Group `json:"changes"`
	// Holds are the rollouts that would be held, with the reason: too many Kymas would refuse the version.
	Holds []string `json:"holds,omitempty"`
	// Promotions say what versions wait for that would move on to another channel, as far as that would change.
	Promotions []string `json:"promotions,omitempty"`
	// Problems are Kymas that nothing could be planned for, with the reason.
	Problems []string `json:"problems,omitempty"`
	// Objects are those that change with the modules, where somebody asks for them.
	Objects []ModuleObjects `json:"objects,omitempty"`
}

// Make plans for each Kyma twice.
func Make(ctx context.Context, o Options) (Forecast, error) {
	o.Settings = o.Settings.WithDefaults()
	before, err := newSide(ctx, o, nil)
	if err != nil {
		return Forecast{}, err
	}
	after, err := newSide(ctx, o, o.Applied)
	if err != nil {
		return Forecast{}, err
	}
	made, err := CompleteRollouts(ctx, after.Snapshot, o.Settings)
	if err != nil {
		return Forecast{}, err
	}
	sizes, err := fixBounds(ctx, after.Snapshot, o.Settings, made)
	if err != nil {
		return Forecast{}, err
	}
	var kymas v1beta2.KymaList
	if err := after.Snapshot.List(ctx, &kymas); err != nil {
		return Forecast{}, err
	}
	found, changes, refused := Forecast{}, []Change(nil), newRefusals(made, o.SameFailures)
	objects, err := newModuleChanges(o, after)
	if err != nil {
		return Forecast{}, err
	}
	for i := range kymas.Items {
		kyma := &kymas.Items[i]
		if !isOurs(o.Settings, kyma) {
			continue
		}
		found.Kymas++
		present := &v1beta2.Kyma{}
		if err := before.Snapshot.Get(ctx, client.ObjectKeyFromObject(kyma), present); err != nil {
			present = nil // it would be new
		}
		of, err := Compare(ctx, before, after, present, kyma)
		if err != nil {
			found.Problems = append(found.Problems, fmt.Sprintf("Kyma %s: %v", desired.NameOf(kyma), err))
			continue
		}
		if len(of) > 0 {
			found.Changed++
		}
		for j := range of {
			of[j].place = placeOf(made, kyma, of[j])
			objects.add(ctx, kyma, of[j])
			refused.add(kyma, of[j])
		}
		changes = append(changes, of...)
	}
	found.Groups = Grouped(changes)
	found.Objects = objects.compare(ctx)
	found.Holds = refused.holds(sizes)
	found.Promotions, err = promotions(ctx, before.Snapshot, after.Snapshot, o.Settings)
	return found, err
}

// NewPlanner returns what makes plans by the objects that are present; what files say counts for nothing.
func NewPlanner(ctx context.Context, o Options) (*resolve.Planner, error) {
	o.Settings = o.Settings.WithDefaults()
	side, err := newSide(ctx, o, nil)
	return side.Planner, err
}

// newSide is the catalog with these objects applied.
func newSide(ctx context.Context, o Options, applied []client.Object) (Side, error) {
	s := NewSnapshot()
	if err := o.Index(ctx, s); err != nil {
		return Side{}, fmt.Errorf("make the indexes: %w", err)
	}
	s.Fill(o.Present)
	for _, object := range applied {
		s.Fill([]client.Object{Applied(s.find(object), copied(object))})
	}
	planner, err := newPlanner(o, s)
	return Side{Snapshot: s, Planner: planner}, err
}

func newPlanner(o Options, s *Snapshot) (*resolve.Planner, error) {
	options := o.Planner
	options.Settings, options.Catalog, options.Fleet = o.Settings, s, s
	options.ControlPlane = readOnly{of: s}
	// All that there is, is known: nothing is newer than what was read.
	options.Known = fleet.Over(s, s, func(context.Context, client.Object, string) string { return "9223372036854775807" })
	return resolve.NewPlanner(options)
}

// find is the present object of the same name; nil where there is none.
func (s *Snapshot) find(object client.Object) client.Object {
	return s.objects[kindOf(object)][client.ObjectKeyFromObject(object)]
}

func copied(object client.Object) client.Object {
	again, _ := object.DeepCopyObject().(client.Object)
	return again
}

// placeOf is where a Kyma that gets another version is in the rollout that brings it.
func placeOf(made []*v1beta2.ModuleRollout, kyma *v1beta2.Kyma, c Change) Placed {
	for _, r := range made {
		if r.Spec.ModuleName == c.Module && r.Spec.To == c.To && (c.Kind == Upgraded || c.Kind == Downgraded) {
			return Placed{stages: rollout.Stages(r.Spec.Plan), stage: rollout.PlaceOf(r, rollout.ClusterOf(kyma)).Stage}
		}
	}
	return Placed{}
}

// readOnly is a client that reads a snapshot. Planning writes nothing.
type readOnly struct {
	client.Client
	of client.Reader
}

// Get implements client.Reader.
func (r readOnly) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return r.of.Get(ctx, key, into, options...)
}

// List implements client.Reader.
func (r readOnly) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return r.of.List(ctx, list, options...)
}
