package bundle

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// Phases of a hook: before or after the objects of its chart are applied.
const (
	PhasePre  = "before"
	PhasePost = "after"
)

// hook is a hook of a chart, encoded like the other objects (https://helm.sh/docs/topics/charts_hooks/).
type hook struct {
	Object
	// Phase is PhasePre or PhasePost.
	Phase            string
	install, upgrade bool
	DeleteOnSuccess  bool
}

func encodeHooks(hooks []render.Hook) ([]hook, int64, error) {
	var all []hook
	size := int64(0)
	for _, h := range hooks {
		next := hook{Phase: PhasePost, install: h.Install, upgrade: h.Upgrade, DeleteOnSuccess: h.DeleteOnSuccess}
		if h.Before {
			next.Phase = PhasePre
		}
		run := map[string]string{shared.AnnotationHookRun: inventory.RunPlaceholder + "-" + next.Phase}
		h.Object.SetAnnotations(labels.Merge(h.Object.GetAnnotations(), run))
		var err error
		if next.Object, err = encode(h.Object); err != nil {
			return nil, 0, err
		}
		all = append(all, next)
		size += next.Body.size()
	}
	return all, size, nil
}

// planHooks places the hooks. A hook that does not run this time is part of the plan only if it has run before. Such
// a hook stays in the inventory until the module no longer has it.
func (p *Plan) planHooks(
	ctx context.Context, m *v1beta2.Manifest, b *Bundle, k kinds.Mapper, into placement, seen map[string]bool,
) error {
	installs := m.Status.InstalledVersion == "" && m.Status.InstalledRef == ""
	upgrades := !installs && (m.Status.InstalledRef != inventory.LayersRef(m) || m.Status.InstalledVersion != m.Spec.Version)
	before := lists.By(m.Status.Inventory, func(e v1beta2.InventoryEntry) string { return e.ID })
	planned := map[string]bool{}
	for i := range b.hooks {
		h := &b.hooks[i]
		at, err := into.place(ctx, &h.Object, k)
		if p.refuses(at) {
			continue
		}
		runs := h.install && installs || h.upgrade && upgrades
		if meta.IsNoMatchError(err) {
			if runs && !h.Optional {
				p.Unknown = append(p.Unknown, at)
			}
			continue
		}
		if err != nil {
			return err
		}
		at.Hook = h
		known, ran := before[at.Entry.ID]
		switch {
		case seen[at.Entry.ID]:
			return fault.New(fault.Rejected, render.ReasonInvalidManifest, "%s is in the module twice, once as a hook", at)
		case !runs && !ran:
			continue
		}
		if !planned[at.Entry.ID] {
			planned[at.Entry.ID] = true
			p.Entries = append(p.Entries, at.Entry)
		}
		if !runs || ranFor(known.Ran, m, h.Phase) {
			continue
		}
		if h.Phase == PhasePre {
			p.Before = append(p.Before, at)
		} else {
			p.After = append(p.After, at)
		}
	}
	return nil
}

// ranFor reports whether a hook has run for the layers of a Manifest, according to its inventory entry.
func ranFor(ran string, m *v1beta2.Manifest, phase string) bool {
	ref := inventory.LayersRef(m)
	return ran == inventory.HookRan(ref, phase) || ran == inventory.HookRan(ref, PhasePost)
}
