package worker

import (
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/drift"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/removal"
)

// ManifestOptions configures AssembleManifests.
type ManifestOptions struct {
	Steps   manifests.Options
	Apply   apply.Options
	Install install.Options
	Purge   purge.Options
}

// ManifestActivities holds the activities for Manifests and their parts.
type ManifestActivities struct {
	Steps     *manifests.Steps
	Drift     *drift.Prober
	Applier   *apply.Applier
	Removals  *removal.Removals
	Install   *install.Activities
	Uninstall *uninstall.Activities
	Purge     *purge.Activities
}

// AssembleManifests creates the activities for Manifests. It makes no requests.
func AssembleManifests(o ManifestOptions) (*ManifestActivities, error) {
	a := &ManifestActivities{}
	var err error
	if a.Steps, err = manifests.New(o.Steps); err != nil {
		return nil, err
	}
	if a.Applier, err = apply.New(a.Steps, o.Apply); err != nil {
		return nil, err
	}
	a.Drift = drift.New(a.Steps)
	a.Removals = removal.New(a.Steps, a.Applier)
	a.Install = install.New(a.Steps, a.Applier, a.Removals, o.Install)
	a.Uninstall = uninstall.New(a.Steps, a.Applier, a.Removals, a.Install)
	a.Purge = purge.New(a.Steps, a.Applier, a.Removals, o.Purge)
	return a, err
}
