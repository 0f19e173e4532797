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
	// modulesAtOnce is how many modules of a Kyma one InstallModules installs at a time.
	modulesAtOnce = 4
	// quickAtOnce is how many modules this process installs at a time while workflow tasks wait for them. With fewer
	// places, a Kyma with several modules more often waits too long for its places. With more places, installations do
	// not finish in time.
	quickAtOnce = 16
	// quickLimit is how long InstallModules may wait for a place and work on a module before it stops starting new
	// objects.
	quickLimit = 2 * time.Second
	// quickTimeout is when InstallModules cancels everything that still hangs, so that the results of the other modules
	// count. Its local activity times out after 4 s.
	quickTimeout = 3500 * time.Millisecond
)

// ModulesInput names Manifests of a Kyma to install or upgrade.
type ModulesInput struct {
	Manifests []kick.Ref `json:"manifests"`
	// Since has the meaning of ApplyInput.Since.
	Since time.Time `json:"since,omitzero"`
}

// Installed is the result of InstallModules for one Manifest.
type Installed struct {
	Ref kick.Ref `json:"ref"`
	// Later is true if the Manifest needs ApplyManifest, because nothing was done or the result is unknown.
	Later  bool        `json:"later,omitempty"`
	Result ApplyResult `json:"result,omitzero"`
}

// InstallModules does what ApplyManifest does, for several Manifests that can probably be installed within seconds. It
// leaves slower work to ApplyManifest, such as hooks and layers that are not in the cache. If this process is too busy,
// it leaves all Manifests to ApplyManifest. It returns a result for each Manifest and never fails, so that no module
// delays another.
func (a *Activities) InstallModules(ctx context.Context, in ModulesInput) ([]Installed, error) {
	all := lists.Map(in.Manifests, func(ref kick.Ref) Installed { return Installed{Ref: ref, Later: true} })
	ctx, cancel := context.WithTimeout(ctx, quickTimeout)
	defer cancel()
	until := time.Now().Add(quickLimit)
	waiting, stop := context.WithDeadline(ctx, until)
	defer stop()
	// Take all places at once, so that one report can say that all modules are ready.
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
			return nil // ApplyManifest runs into the error again and reports it.
		})
	}
	_ = group.Wait()
	return all, nil
}
