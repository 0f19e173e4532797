package forecast

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/objectdiff"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

// ModuleObjects lists the objects that differ between two versions of a module. One version is empty if the module is
// added or removed.
type ModuleObjects struct {
	Module  string              `json:"module"`
	From    string              `json:"from,omitempty"`
	To      string              `json:"to,omitempty"`
	Changes []objectdiff.Change `json:"changes,omitempty"`
	// Problem is why the objects could not be compared.
	Problem string `json:"problem,omitempty"`
}

// move is a change of a module's version. Its objects are compared once for all Kymas.
type move struct{ module, from, to string }

// manifests are the Manifests of the first Kyma; nil if it has none.
type manifests struct {
	before, after *v1beta2.Manifest
	// problem is why the Manifests are not known.
	problem error
}

// moduleChanges collects the Manifests whose objects are compared.
type moduleChanges struct {
	render func(context.Context, *v1beta2.Manifest) ([]*unstructured.Unstructured, error)
	// anytime plans as if no upgrade waited for a maintenance window.
	anytime Side
	found   map[move]manifests
}

func newModuleChanges(o Options, after Side) (*moduleChanges, error) {
	m := &moduleChanges{render: o.Render, found: map[move]manifests{}}
	if m.render == nil {
		return m, nil
	}
	o.Planner.Windows = nil
	planner, err := newPlanner(o, after.Snapshot)
	m.anytime = Side{Snapshot: after.Snapshot, Planner: planner}
	return m, err
}

// add requests a comparison of the objects that a change moves. Refused, deferred and guarded changes move nothing. A
// change that waits for a maintenance window will move the module later.
func (m *moduleChanges) add(ctx context.Context, kyma *v1beta2.Kyma, c Change) {
	if m.render == nil {
		return
	}
	key, of := move{c.Module, c.From, c.To}, manifests{before: c.before, after: c.after}
	switch c.Kind {
	case Refused, Guarded, Deferred:
		return
	case Removed:
		of.after = nil
	case Waits:
		key.to = c.wanted
	case Added, Upgraded, Downgraded, Accepted, Changed:
	}
	if _, known := m.found[key]; known {
		return
	}
	if c.Kind == Waits {
		all, err := m.anytime.verdicts(ctx, kyma)
		of.after, of.problem = all[c.Module].manifest, err
	}
	m.found[key] = of
}

// compare renders and compares the collected Manifests.
func (m *moduleChanges) compare(ctx context.Context) []ModuleObjects {
	order := slices.SortedFunc(maps.Keys(m.found), func(a, b move) int {
		return cmp.Or(cmp.Compare(a.module, b.module), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	var all []ModuleObjects
	for _, key := range order {
		of := ModuleObjects{Module: key.module, From: key.from, To: key.to}
		changes, err := m.compareOne(ctx, m.found[key])
		if err != nil {
			of.Problem = hint.With(err.Error(), hint.Of(err))
		}
		of.Changes = changes
		all = append(all, of)
	}
	return all
}

func (m *moduleChanges) compareOne(ctx context.Context, of manifests) ([]objectdiff.Change, error) {
	if of.problem != nil {
		return nil, of.problem
	}
	before, err := m.objects(ctx, of.before)
	if err != nil {
		return nil, err
	}
	after, err := m.objects(ctx, of.after)
	if err != nil {
		return nil, err
	}
	return objectdiff.Compare(before, after)
}

func (m *moduleChanges) objects(ctx context.Context, manifest *v1beta2.Manifest) ([]*unstructured.Unstructured, error) {
	if manifest == nil {
		return nil, nil
	}
	objects, err := m.render(ctx, manifest)
	if err != nil {
		return nil, fmt.Errorf("version %s: %w", manifest.Spec.Version, err)
	}
	return objects, nil
}

// writeObjects writes a section for each change of a module.
func writeObjects(to io.Writer, all []ModuleObjects) error {
	for _, of := range all {
		title := fmt.Sprintf("%s %s -> %s", of.Module, orDash(of.From), orDash(of.To))
		if of.Problem != "" {
			if _, err := fmt.Fprintf(to, "\n%s: the objects could not be compared: %s\n", title, of.Problem); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintf(to, "\n%s: %s\n", title, objectdiff.Summary(of.Changes)); err != nil {
			return err
		}
		if err := objectdiff.WriteText(to, of.Changes); err != nil {
			return err
		}
	}
	return nil
}
