// Package background joins the steps of a reconcile of a Kyma that nobody waits for, such as one after a change of the
// catalog that concerns the whole fleet. One activity of a queue can be overtaken, where steps within a workflow task
// cannot. ReconcileInBackground is the one activity.
package background

import (
	"context"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/logkey"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
)

// Synchronizer is the step in a Kyma's remote cluster; *sync.Activities is one.
type Synchronizer interface {
	SyncRemote(ctx context.Context, in syncing.Input) (syncing.Result, error)
}

// Resolver is the step in the control plane; *resolve.Activities is one.
type Resolver interface {
	ResolveKyma(ctx context.Context, in resolve.Input) (resolve.Result, error)
}

// Installer is the step that installs modules; *install.Activities is one.
type Installer interface {
	InstallModules(ctx context.Context, in install.ModulesInput) ([]install.Installed, error)
}

// Activities are the joined steps.
type Activities struct {
	synchronizer Synchronizer
	resolver     Resolver
	installer    Installer
}

// New joins the steps.
func New(synchronizer Synchronizer, resolver Resolver, installer Installer) *Activities {
	return &Activities{synchronizer: synchronizer, resolver: resolver, installer: installer}
}

// Input names the Kyma to reconcile.
type Input struct {
	Ref kick.Ref `json:"ref"`
	// Seen are the newest versions that kicks named.
	Seen []desired.Seen `json:"seen,omitempty"`
	// Since is that of resolve.Input.
	Since time.Time `json:"since,omitzero"`
}

// Result is what the steps found and did.
type Result struct {
	// Began is when the server gave the activity to a worker: what came in before is answered by it.
	Began time.Time      `json:"began,omitzero"`
	Sync  syncing.Result `json:"sync"`
	// Resolved is nil where that step was not taken or failed: it is then to be taken by itself.
	Resolved *resolve.Result `json:"resolved,omitempty"`
	// Installed is what was done for the Manifests of resolve.Result.Begin.
	Installed []install.Installed `json:"installed,omitempty"`
}

// ReconcileInBackground synchronizes the remote cluster of a Kyma, writes the Manifests that the Kyma asks for, and installs
// what changed. Its error is that of the synchronization.
func (a *Activities) ReconcileInBackground(ctx context.Context, in Input) (Result, error) {
	result := Result{Began: activity.GetInfo(ctx).StartedTime}
	synced, err := a.synchronizer.SyncRemote(ctx, syncing.Input{Ref: in.Ref, Seen: in.Seen, Background: true})
	result.Sync = synced
	if err != nil || synced.Outcome == syncing.OutcomeGone || synced.Outcome == syncing.OutcomeDeleting {
		return result, err
	}
	seen := append(slices.Clone(in.Seen), synced.Imported...)
	resolved, err := a.resolver.ResolveKyma(ctx, resolve.Input{Ref: in.Ref, Seen: seen, Background: true, Since: in.Since})
	if err != nil {
		activity.GetLogger(ctx).Debug("modules could not be resolved, the step is taken by itself", logkey.Error, err)
		return result, nil
	}
	result.Resolved = &resolved
	if len(resolved.Begin) > 0 {
		result.Installed, err = a.installer.InstallModules(ctx, install.ModulesInput{Manifests: resolved.Begin, Since: in.Since})
	}
	return result, err
}
