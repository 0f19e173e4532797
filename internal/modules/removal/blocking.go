package removal

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

// RemoveModuleCRs deletes the default custom resource that we created and, if their owner allowed that, users' custom
// resources. It returns what the removal still has to wait for; nil if nothing remains.
func (a *Removals) RemoveModuleCRs(ctx context.Context, r *Remover, m *v1beta2.Manifest) (*readiness.Observed, error) {
	for waited := time.Duration(0); ; waited += PatiencePause {
		seen, err := a.BlockingCRs(ctx, r, m)
		if err != nil {
			return nil, err
		}
		if err := a.deleteCRs(ctx, r, m, seen); err != nil {
			return nil, err
		}
		if seen.own == nil && !seen.allowed || waited >= Patience {
			if seen.usersBlock() {
				recordDataBlocks(a.steps.Recorder, m, seen)
			}
			return seen.Waiting(), nil
		}
		if err := objects.Sleep(ctx, PatiencePause); err != nil {
			return nil, err
		}
	}
}

// BlockingCRs returns the custom resources that a removal has to wait for. If another Kyma has objects of a kind as
// well, the kind stays with all its custom resources and blocks nothing.
func (a *Removals) BlockingCRs(ctx context.Context, r *Remover, m *v1beta2.Manifest) (BlockingCRs, error) {
	seen, err := r.findCRs(ctx, m)
	if err != nil || seen.own == nil && len(seen.others) == 0 {
		return seen, clusters.Classify(err)
	}
	used, err := a.usage(ctx, r, m)
	if err != nil {
		return seen, err
	}
	if seen.others, err = lost(seen.others, func(cr foundCR) (bool, error) { return used.usesKind(ctx, r, cr.kind) }); err != nil {
		return seen, clusters.Classify(err)
	}
	if seen.others, err = lost(seen.others, func(cr foundCR) (bool, error) { return r.definitionStays(ctx, cr.resource) }); err != nil {
		return seen, clusters.Classify(err)
	}
	if seen.own != nil {
		id, err := v1beta2.InventoryID(seen.own.kind, types.NamespacedName{Namespace: seen.own.meta.Namespace, Name: seen.own.meta.Name})
		if err == nil && used.ByID[id] != nil {
			seen.own = nil
		}
	}
	if len(seen.others) > 0 && r.allowed == nil {
		allowed, err := a.lossAllowed(ctx, r, m)
		if err != nil {
			return seen, err
		}
		r.allowed = &allowed
	}
	seen.allowed = len(seen.others) > 0 && *r.allowed
	return seen, nil
}

// lost returns the custom resources of kinds that do not stay. It calls stays once per kind.
func lost(crs []foundCR, stays func(foundCR) (bool, error)) ([]foundCR, error) {
	known := map[schema.GroupKind]bool{}
	var going []foundCR
	for _, cr := range crs {
		if _, asked := known[cr.kind]; !asked {
			var err error
			if known[cr.kind], err = stays(cr); err != nil {
				return nil, err
			}
		}
		if !known[cr.kind] {
			going = append(going, cr)
		}
	}
	return going, nil
}
