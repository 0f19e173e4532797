// Package controllers contains the controllers that write to catalog objects, Watchers and RemovalBudgets in the
// control plane. Kicks of workflows are sent by package watchers. Only the leader runs these controllers. Add is the
// entry point.
//
//	mandatory.go     keeps a finalizer on objects that make a module mandatory, until the module is removed everywhere
//	approvals.go     removes the removal guard's marks once their change is over, and records approvals
//	removalbudget.go maintains the status of the RemovalBudget
//	channels.go      shows the channels of release metas in a kubectl column
//	rollouts.go      creates a ModuleRollout when a release meta gives a channel another version and a policy matches
//	policies.go      reports in the status of a policy how many channels it decides about
//	watchers.go      lets Watchers be deleted if events are disabled
//	patch.go         the patch that all controllers write with
//
// Each controller reconciles one object from what it reads, so a missed or duplicate event costs only time. No
// controller writes objects of other instances.
package controllers

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Add registers all controllers with a manager. They start when this process becomes the leader. analysed is true if a
// Prometheus is configured for rollouts. budget may be nil; then there is no RemovalBudget.
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

// controllers holds the state that all controllers share.
type controllers struct {
	settings desired.Settings
	reader   client.Reader
	live     client.Reader
	writer   client.Writer
	status   client.SubResourceWriter
	// analysed is true if a Prometheus is configured for rollouts.
	analysed bool
	budget   RemovalBudget
}
