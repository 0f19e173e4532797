package removal

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// RemoveModuleCRs deletes the default custom resource that we created, and those of users where their owner allowed
// that, and says what remains that the removal has to wait for.
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

// BlockingCRs finds the custom resources that a removal has to wait for. Where another Kyma has a kind as well, that
// stays with all its custom resources, and blocks nothing.
func (a *Removals) BlockingCRs(ctx context.Context, r *Remover, m *v1beta2.Manifest) (BlockingCRs, error) {
	seen, err := r.findCRs(ctx, m)
	if err != nil || seen.own == nil && len(seen.others) == 0 {
		return seen, clusters.Classify(err)
	}
	used, err := a.usage(ctx, r, m)
	if err != nil {
		return seen, err
	}
	if seen.others, err = used.withoutUsed(ctx, r, seen.others); err != nil {
		return seen, clusters.Classify(err)
	}
	if seen.others, err = withoutKept(ctx, r, seen.others); err != nil {
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

// withoutKept returns those of the custom resources whose definition goes with the module.
func withoutKept(ctx context.Context, r *Remover, crs []foundCR) ([]foundCR, error) {
	stays := map[schema.GroupKind]bool{}
	var lost []foundCR
	for _, cr := range crs {
		if _, known := stays[cr.kind]; !known {
			var err error
			if stays[cr.kind], err = r.definitionStays(ctx, cr.resource); err != nil {
				return nil, err
			}
		}
		if !stays[cr.kind] {
			lost = append(lost, cr)
		}
	}
	return lost, nil
}

// withoutUsed returns those of the custom resources whose kind nobody else uses.
func (u *usage) withoutUsed(ctx context.Context, r *Remover, crs []foundCR) ([]foundCR, error) {
	uses := map[schema.GroupKind]bool{}
	var unused []foundCR
	for _, cr := range crs {
		used, known := uses[cr.kind]
		if !known {
			var err error
			if used, err = u.usesKind(ctx, r, cr.kind); err != nil {
				return nil, err
			}
			uses[cr.kind] = used
		}
		if !used {
			unused = append(unused, cr)
		}
	}
	return unused, nil
}
