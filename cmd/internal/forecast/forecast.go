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

// Options are the inputs of a forecast.
type Options struct {
	Settings desired.Settings
	// Present are the objects of the control plane (Read), and Applied those of the files (Decode).
	Present, Applied []client.Object
	// Index registers the indexes that plans need in a cache.
	Index func(context.Context, client.FieldIndexer) error
	// Planner holds further options of resolve.NewPlanner: descriptors, windows, signatures, limits.
	Planner resolve.Options
	// SameFailures is rollout.Situation.SameFailures.
	SameFailures int32
	// Render returns the objects of a Manifest; nil if objects are not compared.
	Render func(context.Context, *v1beta2.Manifest) ([]*unstructured.Unstructured, error)
}

// Forecast is what would change.
type Forecast struct {
	// Kymas is the number of planned Kymas, and Changed how many of them would change.
	Kymas   int     `json:"kymas"`
	Changed int     `json:"changed"`
	Groups  []Group `json:"changes"`
	// Holds lists the rollouts that would be held, because too many Kymas would refuse the version.
	Holds []string `json:"holds,omitempty"`
	// Promotions describes what versions wait for before they move to another channel, as far as that would change.
	Promotions []string `json:"promotions,omitempty"`
	// Problems lists the Kymas that could not be planned, with the reason.
	Problems []string `json:"problems,omitempty"`
	// Objects lists the changes of modules' objects, if requested.
	Objects []ModuleObjects `json:"objects,omitempty"`
}

// Make plans for each Kyma with and without the applied objects, and returns the differences.
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
			present = nil // a new Kyma
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

// NewPlanner returns a planner for the present objects. It ignores applied objects.
func NewPlanner(ctx context.Context, o Options) (*resolve.Planner, error) {
	o.Settings = o.Settings.WithDefaults()
	side, err := newSide(ctx, o, nil)
	return side.Planner, err
}

// newSide returns the side with these objects applied.
func newSide(ctx context.Context, o Options, applied []client.Object) (Side, error) {
	s := NewSnapshot()
	if err := o.Index(ctx, s); err != nil {
		return Side{}, fmt.Errorf("register the indexes: %w", err)
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
	// Everything is known: no object is newer than the ones that were read.
	options.Known = fleet.Over(s, s, func(context.Context, client.Object, string) string { return "9223372036854775807" })
	return resolve.NewPlanner(options)
}

// find returns the present object of the same name; nil if there is none.
func (s *Snapshot) find(object client.Object) client.Object {
	return s.objects[kindOf(object)][client.ObjectKeyFromObject(object)]
}

func copied(object client.Object) client.Object {
	again, _ := object.DeepCopyObject().(client.Object)
	return again
}

// placeOf returns the place of a Kyma in the rollout that brings it another version.
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
