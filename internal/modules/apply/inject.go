package apply

import (
	"context"
	"fmt"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/injection"
)

// inject gives the plan's Secrets that ask for it the data of the control plane's Secrets with the same names, if the
// Kyma's plan permits that. It changes only this plan: the cached bundle never holds this data.
func (a *Applier) inject(ctx context.Context, job *Installation) error {
	if job.Manifest.Annotations[shared.AnnotationInjects] != shared.ValueTrue {
		return nil
	}
	for stage := range job.Plan.Stages {
		if err := a.injectInto(ctx, job, job.Plan.Stages[stage]); err != nil {
			return err
		}
	}
	if err := a.injectInto(ctx, job, job.Plan.Before); err != nil {
		return err
	}
	return a.injectInto(ctx, job, job.Plan.After)
}

func (a *Applier) injectInto(ctx context.Context, job *Installation, placed []bundle.Placed) error {
	for i := range placed {
		p := &placed[i]
		if !p.Object.AsksForData {
			continue
		}
		if job.Cluster.IsControlPlane() && p.Name == injection.Key(p.Name.Name) {
			return injection.ItselfRefused(p.Name.Name)
		}
		data, version, err := a.steps.Options.Injection.Read(ctx, p.Name.Name, job.Manifest.ModuleName())
		if err != nil {
			return err
		}
		if p.Object, err = p.Object.Injected(data, version); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}
