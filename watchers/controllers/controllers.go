// Package controllers writes what the catalog and Watchers in the control plane need besides kicks. Only the leader runs it; Add is
// the entry point.
//
//	mandatory.go  keeps what makes a module mandatory, by a finalizer, until the module is removed everywhere
//	approvals.go  takes the marks of a removal guard off when the change that they were about is over, and notes approvals
//	removalbudget.go keeps the status of the RemovalBudget
//	channels.go   shows the channels of release metas in a column of kubectl
//	rollouts.go   makes a rollout when a release meta gives a channel another version, where a policy is for it
//	policies.go   says in the status of a policy what it decides about
//	watchers.go   lets Watchers be deleted where there are no events
//	patch.go      how all of them write
//
// Each controller reconciles one object from what it reads, so that an event that is missed or doubled costs time only.
// Objects of other instances are never written. What kicks workflows is in package watchers.
package controllers

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Add registers all controllers with a manager. They start when this process becomes the leader. Analysed is true where a
// Prometheus is configured for rollouts. Budget may be nil: then there is no RemovalBudget.
func Add(mgr manager.Manager, settings desired.Settings, analysed bool, budget RemovalBudget) error {
	c := &controllers{settings: settings.WithDefaults(), reader: mgr.GetCache(), live: mgr.GetAPIReader(), writer: mgr.GetClient(), status: mgr.GetClient().Status()}
	c.analysed, c.budget = analysed, budget
	for _, add := range []func(manager.Manager) error{c.addMandatory, c.addApprovals, c.addChannels, c.addWatchers, c.addRollouts, c.addRemovalBudget} {
		if err := add(mgr); err != nil {
			return fmt.Errorf("add controller: %w", err)
		}
	}
	return nil
}

// controllers is what all controllers share.
type controllers struct {
	settings desired.Settings
	reader   client.Reader
	live     client.Reader
	writer   client.Writer
	status   client.SubResourceWriter
	// analysed is true where a Prometheus is configured for rollouts.
	analysed bool
	budget   RemovalBudget
}
