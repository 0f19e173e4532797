package background

import (
	"cmp"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// steps is a scripted fake of all steps. It records its inputs.
type steps struct {
	synced    syncing.Result
	syncErr   error
	resolErr  error
	begin     []kick.Ref
	outcome   resolve.Outcome
	judged    map[kick.Ref]bool
	resolved  []resolve.Input
	installed []kick.Ref
	reported  []status.ReportInput
	reportErr error
	released  []status.ReleaseInput
}

func (s *steps) SyncRemote(context.Context, syncing.Input) (syncing.Result, error) {
	return s.synced, s.syncErr
}

func (s *steps) ResolveKyma(_ context.Context, in resolve.Input) (resolve.Result, error) {
	s.resolved = append(s.resolved, in)
	return resolve.Result{
		Outcome: cmp.Or(s.outcome, resolve.OutcomeDone), InputsDigest: "d", Begin: s.begin,
		Wrote: []desired.Seen{{Kind: "Manifest", Name: "m", ResourceVersion: "9"}}, Deleted: []string{"former"},
	}, s.resolErr
}

func (s *steps) CleanupRemote(context.Context, syncing.CleanupInput) (syncing.Result, error) {
	return syncing.Result{Outcome: syncing.OutcomeClean}, s.syncErr
}

func (s *steps) ReleaseKyma(_ context.Context, in status.ReleaseInput) (status.ReportResult, error) {
	s.released = append(s.released, in)
	return status.ReportResult{Outcome: status.OutcomeReleased}, s.reportErr
}

func (s *steps) ReportManifest(_ context.Context, in manifests.ReportInput) (manifests.ReportResult, error) {
	switch in.Ref.Name {
	case "conflict":
		return manifests.ReportResult{}, fault.New(fault.Transient, "Conflict", "again")
	case "gone":
		return manifests.ReportResult{Outcome: manifests.OutcomeGone}, nil
	}
	return manifests.ReportResult{Outcome: manifests.OutcomeApplied, Changed: true, News: manifests.News{
		Kick: &kick.Kick{Kind: "Manifest", Name: in.Ref.Name, ResourceVersion: "10"},
	}}, nil
}

func (s *steps) InstallModules(_ context.Context, in install.ModulesInput) ([]install.Installed, error) {
	s.installed = append(s.installed, in.Manifests...)
	var all []install.Installed
	for _, ref := range in.Manifests {
		all = append(all, install.Installed{Ref: ref, Later: !s.judged[ref], Result: install.ApplyResult{
			Judged: s.judged[ref], News: manifests.News{Kick: &kick.Kick{Kind: "Manifest", Name: ref.Name, ResourceVersion: "10"}},
		}})
	}
	return all, nil
}

func (s *steps) ReportKyma(_ context.Context, in status.ReportInput) (status.ReportResult, error) {
	s.reported = append(s.reported, in)
	return status.ReportResult{Outcome: status.OutcomeReported}, s.reportErr
}

func run(t *testing.T, s *steps, in Input) (Result, error) {
	t.Helper()
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	joined := New(s, s, s, s)
	env.RegisterActivity(joined.ReconcileInBackground)
	value, err := env.ExecuteActivity(joined.ReconcileInBackground, in)
	var result Result
	if err == nil {
		require.NoError(t, value.Get(&result))
	}
	return result, err
}

func TestImportsFromTheClusterAreResolvedToo(t *testing.T) {
	kicked := desired.Seen{Kind: "ModuleReleaseMeta", Namespace: "ns", Name: "m", ResourceVersion: "7"}
	imported := desired.Seen{Kind: "ModuleTemplate", Namespace: "ns", Name: "t", ResourceVersion: "8"}
	ref := kick.Ref{Namespace: "ns", Name: "demo", UID: "u"}
	s := &steps{synced: syncing.Result{Outcome: syncing.OutcomeSynced, Imported: []desired.Seen{imported}}}
	result, err := run(t, s, Input{Ref: ref, Seen: []desired.Seen{kicked}})
	require.NoError(t, err)
	require.Equal(t, s.synced, result.Sync)
	require.False(t, result.Began.IsZero(), "the workflow needs the time to know which kicks the activity covers")
	require.Equal(t, "d", result.Resolved.InputsDigest)
	require.Equal(t, []resolve.Input{{Ref: ref, Seen: []desired.Seen{kicked, imported}, Background: true}}, s.resolved)
}

func TestPlannedManifestsAreInstalled(t *testing.T) {
	manifest := kick.Ref{Namespace: "ns", Name: "demo-template", UID: "m"}
	s := &steps{synced: syncing.Result{Outcome: syncing.OutcomeSynced}, begin: []kick.Ref{manifest}}
	result, err := run(t, s, Input{})
	require.NoError(t, err)
	require.Equal(t, []kick.Ref{manifest}, s.installed)
	require.Len(t, result.Installed, 1)
	require.True(t, result.Installed[0].Later)
	require.Empty(t, s.reported, "the module has to be waited for")
}

func TestTheStatusIsWrittenIfNoModuleHasToBeWaitedFor(t *testing.T) {
	first, second := kick.Ref{Name: "first"}, kick.Ref{Name: "second"}
	both := map[kick.Ref]bool{first: true, second: true}
	kicked := desired.Seen{Kind: "ModuleTemplate", Name: "t", ResourceVersion: "7"}
	faults := fault.Parts{}.With(fault.PartDefinitions, fault.Fault{Kind: fault.Transient, Reason: "R"})
	for name, test := range map[string]struct {
		steps steps
		busy  []kick.Ref
		want  bool
	}{
		"nothing changed":                {steps: steps{}, want: true},
		"all are ready":                  {steps: steps{begin: []kick.Ref{first, second}, judged: both}, want: true},
		"one is not ready":               {steps: steps{begin: []kick.Ref{first, second}, judged: map[kick.Ref]bool{first: true}}},
		"one is busy elsewhere":          {steps: steps{begin: []kick.Ref{first, second}, judged: both}, busy: []kick.Ref{second}},
		"the Kyma is skipped":            {steps: steps{outcome: resolve.OutcomeSkipped}},
		"the resolution failed":          {steps: steps{resolErr: errors.New("conflict")}},
		"the status cannot be written":   {steps: steps{reportErr: errors.New("conflict")}},
		"the synchronization has faults": {steps: steps{synced: syncing.Result{Outcome: syncing.OutcomeSynced, Faults: faults}}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &test.steps
			s.synced.Outcome = syncing.OutcomeSynced
			result, err := run(t, s, Input{Seen: []desired.Seen{kicked}, ManifestGone: true, Busy: test.busy})
			require.NoError(t, err)
			for _, ref := range test.busy {
				require.NotContains(t, s.installed, ref)
			}
			require.Equal(t, test.want, result.Reported != nil)
			if test.want {
				require.Len(t, s.reported, 1)
				in := s.reported[0]
				require.Equal(t, []any{true, true, "d", true, s.synced.Faults}, []any{in.Deleted, in.ManifestGone, in.InputsDigest, in.Push, in.Faults})
				require.Equal(t, []desired.Seen{kicked, {Kind: "Manifest", Name: "m", ResourceVersion: "9"}}, in.Seen[:2])
				require.Len(t, in.Seen, 2+len(s.begin), "the cache must also have the installed Manifests")
			}
		})
	}
}

func TestNothingIsResolvedForADeletedKymaOrAnUnreadCluster(t *testing.T) {
	for _, outcome := range []syncing.Outcome{syncing.OutcomeGone, syncing.OutcomeDeleting} {
		s := &steps{synced: syncing.Result{Outcome: outcome}}
		result, err := run(t, s, Input{})
		require.NoError(t, err)
		require.Equal(t, outcome, result.Sync.Outcome)
		require.Nil(t, result.Resolved)
		require.Empty(t, s.resolved)
	}
	s := &steps{syncErr: errors.New("refused")}
	_, err := run(t, s, Input{})
	require.ErrorContains(t, err, "refused")
	require.Empty(t, s.resolved)
}

func TestAFailedResolutionKeepsTheResultOfTheSynchronization(t *testing.T) {
	s := &steps{synced: syncing.Result{Outcome: syncing.OutcomeSynced, Writes: 3}, resolErr: errors.New("conflict")}
	result, err := run(t, s, Input{})
	require.NoError(t, err, "only a failed synchronization is an error; the workflow retries the resolution")
	require.Equal(t, 3, result.Sync.Writes)
	require.Nil(t, result.Resolved)
}

func TestAKymasStatusShowsTheModulesReportedWithIt(t *testing.T) {
	s := &steps{}
	in := ReportModulesInput{Kyma: status.ReportInput{Seen: []desired.Seen{{Kind: "Manifest", Name: "before", ResourceVersion: "9"}}}}
	for _, name := range []string{"first", "conflict", "second"} {
		in.Modules = append(in.Modules, manifests.ReportInput{Ref: kick.Ref{Name: name}})
	}
	result, err := New(s, s, s, s).ReportModules(context.Background(), in)
	require.NoError(t, err)
	require.Equal(t, status.OutcomeReported, result.Kyma.Outcome)
	require.Len(t, result.Modules, 3)
	require.True(t, result.Modules[0].Changed)
	require.Equal(t, "Conflict", result.Modules[1].Fault.Reason, "a failed write does not delay other modules")
	require.Len(t, s.reported, 1)
	require.Equal(t, []desired.Seen{
		{Kind: "Manifest", Name: "before", ResourceVersion: "9"}, {Kind: "Manifest", Name: "first", ResourceVersion: "10"},
		{Kind: "Manifest", Name: "second", ResourceVersion: "10"},
	}, s.reported[0].Seen, "the cache must have the versions just written")
	require.False(t, s.reported[0].ManifestGone)

	_, err = New(s, s, s, s).ReportModules(context.Background(), ReportModulesInput{Modules: []manifests.ReportInput{{Ref: kick.Ref{Name: "gone"}}}})
	require.NoError(t, err)
	require.True(t, s.reported[1].ManifestGone)
}

func TestAKymaIsReleasedOnceItsClusterIsClean(t *testing.T) {
	ref := kick.Ref{Namespace: "ns", Name: "demo", UID: "u"}
	seen := []desired.Seen{{Kind: "Manifest", ResourceVersion: "9"}}
	cleanUp := func(s *steps) (CleanUpResult, error) {
		env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
		joined := New(s, s, s, s)
		env.RegisterActivity(joined.CleanUpAndRelease)
		value, err := env.ExecuteActivity(joined.CleanUpAndRelease, syncing.CleanupInput{Ref: ref, Seen: seen})
		var result CleanUpResult
		if err == nil {
			require.NoError(t, value.Get(&result))
		}
		return result, err
	}
	s := &steps{}
	result, err := cleanUp(s)
	require.NoError(t, err)
	require.Equal(t, status.OutcomeReleased, result.Released.Outcome)
	require.Equal(t, []status.ReleaseInput{{Ref: ref, Seen: seen}}, s.released)

	s = &steps{syncErr: errors.New("refused")}
	_, err = cleanUp(s)
	require.ErrorContains(t, err, "refused")
	require.Empty(t, s.released)

	s = &steps{reportErr: errors.New("conflict")}
	result, err = cleanUp(s)
	require.NoError(t, err)
	require.Equal(t, syncing.OutcomeClean, result.Cleaned.Outcome)
	require.Nil(t, result.Released, "the workflow takes the step on its own")
}
