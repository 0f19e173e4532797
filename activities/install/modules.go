package install

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

const (
	// modulesAtOnce is how many modules of a Kyma one InstallModules installs at the same time.
	modulesAtOnce = 4
	// quickAtOnce is how many modules this process installs at the same time while workflow tasks wait for them. With fewer places,
	// several modules of a Kyma get none in time more often, and with more they are not done in time.
	quickAtOnce = 16
	// quickLimit is how long InstallModules may have waited for a place, and worked on a module, when the last object is begun.
	quickLimit = 2 * time.Second
	// quickTimeout is when InstallModules gives up what still hangs, so that the results of other modules count: its local
	// activity ends after 4 s.
	quickTimeout = 3500 * time.Millisecond
)

// ModulesInput names Manifests of a Kyma to install or upgrade.
type ModulesInput struct {
	Manifests []kick.Ref `json:"manifests"`
	// Since is that of ApplyInput.
	Since time.Time `json:"since,omitzero"`
}

// Installed is what InstallModules did for one Manifest.
type Installed struct {
	Ref kick.Ref `json:"ref"`
	// Later is true if the Manifest needs ApplyManifest: nothing was done, or it is not known what.
	Later  bool        `json:"later,omitempty"`
	Result ApplyResult `json:"result,omitzero"`
}

// InstallModules is ApplyManifest for several Manifests that can probably be installed within some seconds. It leaves to
// ApplyManifest what takes longer, such as hooks and layers that are not in the cache, and all of them where this process does too
// much already. It has a result for each Manifest and never fails, so that no module holds up another.
func (a *Activities) InstallModules(ctx context.Context, in ModulesInput) ([]Installed, error) {
	all := lists.Map(in.Manifests, func(ref kick.Ref) Installed { return Installed{Ref: ref, Later: true} })
	ctx, cancel := context.WithTimeout(ctx, quickTimeout)
	defer cancel()
	until := time.Now().Add(quickLimit)
	waiting, stop := context.WithDeadline(ctx, until)
	defer stop()
	// All at once: one report then says that all are ready.
	places := min(modulesAtOnce, len(all))
	if a.quick.Acquire(waiting, int64(places)) != nil {
		return all, nil
	}
	defer a.quick.Release(int64(places))
	var group errgroup.Group
	group.SetLimit(places)
	for i, ref := range in.Manifests {
		group.Go(func() error {
			if time.Now().After(until) {
				return nil
			}
			if result, err := a.apply(apply.Quickly(ctx), ref, until); err == nil {
				all[i].Later, all[i].Result = result.Outcome == manifests.OutcomeLater, result
			}
			return nil // ApplyManifest finds the error again, and reports it.
		})
	}
	_ = group.Wait()
	return all, nil
}
