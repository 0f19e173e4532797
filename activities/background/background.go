// Package background joins several steps into one activity.
//
// ReconcileInBackground reconciles a Kyma when nobody waits for the result, for example after a change of the catalog
// that affects the whole fleet. It runs as one activity from a task queue, so that urgent work can overtake it. Steps
// within a workflow task cannot be overtaken. ReportModules writes the states of several modules together with the status
// of their Kyma. CleanUpAndRelease is the last step of a removal.
package background

import (
	"context"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// RemoteSteps are the steps in a Kyma's remote cluster. *sync.Activities implements them.
type RemoteSteps interface {
	SyncRemote(ctx context.Context, in syncing.Input) (syncing.Result, error)
	// CleanupRemote removes our objects from the remote cluster.
	CleanupRemote(ctx context.Context, in syncing.CleanupInput) (syncing.Result, error)
}

// Resolver is the step in the control plane. *resolve.Activities implements it.
type Resolver interface {
	ResolveKyma(ctx context.Context, in resolve.Input) (resolve.Result, error)
}

// Installer installs modules and writes the status of their Manifests. *install.Activities implements it.
type Installer interface {
	InstallModules(ctx context.Context, in install.ModulesInput) ([]install.Installed, error)
	ReportManifest(ctx context.Context, in manifests.ReportInput) (manifests.ReportResult, error)
}

// StatusSteps are the steps that write the status of a Kyma. *status.Activities implements them.
type StatusSteps interface {
	ReportKyma(ctx context.Context, in status.ReportInput) (status.ReportResult, error)
	// ReleaseKyma removes the finalizer of the Kyma.
	ReleaseKyma(ctx context.Context, in status.ReleaseInput) (status.ReportResult, error)
}

// Activities holds the joined steps.
type Activities struct {
	remote    RemoteSteps
	resolver  Resolver
	installer Installer
	statuses  StatusSteps
}

// New returns Activities that join these steps.
func New(remote RemoteSteps, resolver Resolver, installer Installer, statuses StatusSteps) *Activities {
	return &Activities{remote: remote, resolver: resolver, installer: installer, statuses: statuses}
}

// Input names the Kyma to reconcile.
type Input struct {
	Ref kick.Ref `json:"ref"`
	// Seen are the newest versions that kicks named.
	Seen []desired.Seen `json:"seen,omitempty"`
	// Since has the meaning of resolve.Input.Since.
	Since time.Time `json:"since,omitzero"`
	// ManifestGone has the meaning of status.ReportInput.ManifestGone.
	ManifestGone bool `json:"manifestGone,omitempty"`
	// Busy are Manifests that are being worked on elsewhere. They are not installed here.
	Busy []kick.Ref `json:"busy,omitempty"`
}

// Result is the result of all steps.
type Result struct {
	// Began is when the Temporal server gave the activity to a worker. The activity covers all kicks that arrived
	// earlier.
	Began time.Time      `json:"began,omitzero"`
	Sync  syncing.Result `json:"sync"`
	// Resolved is nil if the step was not taken or failed. The workflow then takes this step on its own.
	Resolved *resolve.Result `json:"resolved,omitempty"`
	// Installed are the results for the Manifests in resolve.Result.Begin.
	Installed []install.Installed `json:"installed,omitempty"`
	// Reported is the status as written. It is nil if the step was not taken or failed.
	Reported *status.ReportResult `json:"reported,omitempty"`
}

// ReconcileInBackground synchronizes the remote cluster of a Kyma, writes the Manifests that the Kyma asks for, and
// installs what changed. It writes the Kyma's status if no module has to be waited for. It returns an error only if the
// synchronization failed.
func (a *Activities) ReconcileInBackground(ctx context.Context, in Input) (Result, error) {
	result := Result{Began: activity.GetInfo(ctx).StartedTime}
	synced, err := a.remote.SyncRemote(ctx, syncing.Input{Ref: in.Ref, Seen: in.Seen, Background: true})
	result.Sync = synced
	if err != nil || synced.Outcome == syncing.OutcomeGone || synced.Outcome == syncing.OutcomeDeleting {
		return result, err
	}
	seen := append(slices.Clone(in.Seen), synced.Imported...)
	seen = WithKyma(seen, in.Ref, synced.Kyma)
	resolved, err := a.resolver.ResolveKyma(ctx, resolve.Input{Ref: in.Ref, Seen: seen, Background: true, Since: in.Since})
	if err != nil {
		activity.GetLogger(ctx).Debug("modules could not be resolved; the workflow repeats the step on its own", logkey.Error, err)
		return result, nil
	}
	result.Resolved = &resolved
	idle := slices.DeleteFunc(slices.Clone(resolved.Begin), func(ref kick.Ref) bool { return slices.Contains(in.Busy, ref) })
	if len(idle) > 0 {
		result.Installed, err = a.installer.InstallModules(ctx, install.ModulesInput{Manifests: idle, Since: in.Since})
	}
	if err == nil && resolved.Outcome == resolve.OutcomeDone && resolved.Fault.IsZero() && Settled(resolved, result.Installed) {
		result.Reported = a.report(ctx, in, synced, resolved, result.Installed)
	}
	return result, err
}

// Settled reports whether every module that a reconcile changed is in a final state, so that nothing has to be waited
// for.
func Settled(resolved resolve.Result, installed []install.Installed) bool {
	return len(installed) == len(resolved.Begin) && len(installed) >= len(resolved.Created)+len(resolved.Updated) && !slices.ContainsFunc(installed, func(one install.Installed) bool {
		return one.Later || !one.Result.Judged
	})
}

// report writes the Kyma's status. It returns nil if that failed; the workflow then takes this step on its own.
func (a *Activities) report(ctx context.Context, in Input, synced syncing.Result, resolved resolve.Result, installed []install.Installed) *status.ReportResult {
	report := ReportInput(in.Ref, synced)
	report.Seen = WithKyma(slices.Concat(in.Seen, resolved.Wrote), in.Ref, resolved.Kyma)
	for _, one := range installed {
		if k := one.Result.Kick; k != nil {
			report.Seen = append(report.Seen, seen(*k))
		}
	}
	report.Deleted, report.ManifestGone, report.InputsDigest = len(resolved.Deleted) > 0, in.ManifestGone, resolved.InputsDigest
	report.Push = synced.Outcome == syncing.OutcomeSynced
	reported, err := a.statuses.ReportKyma(ctx, report)
	if err != nil {
		activity.GetLogger(ctx).Debug("the status could not be written; the workflow repeats the step on its own", logkey.Error, err)
		return nil
	}
	return &reported
}

// WithKyma adds the Kyma's version after a step, if the step returned one, to the versions that the next step must see.
func WithKyma(seen []desired.Seen, kyma kick.Ref, version string) []desired.Seen {
	if version == "" {
		return seen
	}
	return append(seen, desired.Seen{Kind: shared.KindKyma, Namespace: kyma.Namespace, Name: kyma.Name, ResourceVersion: version})
}

// ReportInput returns the input of a report after a synchronization.
func ReportInput(ref kick.Ref, synced syncing.Result) status.ReportInput {
	return status.ReportInput{
		Ref: ref, Faults: synced.Faults, Synced: synced.Outcome == syncing.OutcomeSynced, CatalogOff: synced.CatalogOff,
		Refused: synced.Refused, Imported: synced.Imported,
	}
}

// CleanUpResult is the result of both steps.
type CleanUpResult struct {
	Cleaned syncing.Result `json:"cleaned"`
	// Released is nil if this step failed. The workflow then takes it on its own.
	Released *status.ReportResult `json:"released,omitempty"`
}

// CleanUpAndRelease removes our objects from the remote cluster of a Kyma under deletion, and then the Kyma's finalizer.
// It returns an error only if the clean-up failed.
func (a *Activities) CleanUpAndRelease(ctx context.Context, in syncing.CleanupInput) (CleanUpResult, error) {
	cleaned, err := a.remote.CleanupRemote(ctx, in)
	result := CleanUpResult{Cleaned: cleaned}
	if err != nil {
		return result, err
	}
	released, err := a.statuses.ReleaseKyma(ctx, status.ReleaseInput{Ref: in.Ref, Seen: in.Seen})
	if err != nil {
		activity.GetLogger(ctx).Debug("the Kyma could not be released; the workflow repeats the step on its own", logkey.Error, err)
		return result, nil
	}
	result.Released = &released
	return result, nil
}
