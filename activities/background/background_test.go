package background

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
)

// steps are scripted; they note what they were asked.
type steps struct {
	synced    syncing.Result
	syncErr   error
	resolErr  error
	begin     []kick.Ref
	resolved  []resolve.Input
	installed []kick.Ref
}

func (s *steps) SyncRemote(context.Context, syncing.Input) (syncing.Result, error) {
	return s.synced, s.syncErr
}

func (s *steps) ResolveKyma(_ context.Context, in resolve.Input) (resolve.Result, error) {
	s.resolved = append(s.resolved, in)
	return resolve.Result{Outcome: resolve.OutcomeDone, InputsDigest: "d", Begin: s.begin}, s.resolErr
}

func (s *steps) InstallModules(_ context.Context, in install.ModulesInput) ([]install.Installed, error) {
	s.installed = append(s.installed, in.Manifests...)
	return []install.Installed{{Ref: in.Manifests[0], Later: true}}, nil
}

func run(t *testing.T, s *steps, in Input) (Result, error) {
	t.Helper()
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	joined := New(s, s, s)
	env.RegisterActivity(joined.ReconcileInBackground)
	value, err := env.ExecuteActivity(joined.ReconcileInBackground, in)
	var result Result
	if err == nil {
		require.NoError(t, value.Get(&result))
	}
	return result, err
}

func TestWhatWasImportedFromTheClusterIsResolvedToo(t *testing.T) {
	kicked := desired.Seen{Kind: "ModuleReleaseMeta", Namespace: "ns", Name: "m", ResourceVersion: "7"}
	imported := desired.Seen{Kind: "ModuleTemplate", Namespace: "ns", Name: "t", ResourceVersion: "8"}
	ref := kick.Ref{Namespace: "ns", Name: "demo", UID: "u"}
	s := &steps{synced: syncing.Result{Outcome: syncing.OutcomeSynced, Imported: []desired.Seen{imported}}}
	result, err := run(t, s, Input{Ref: ref, Seen: []desired.Seen{kicked}})
	require.NoError(t, err)
	require.Equal(t, s.synced, result.Sync)
	require.False(t, result.Began.IsZero(), "by it the workflow knows which kicks it answers")
	require.Equal(t, "d", result.Resolved.InputsDigest)
	require.Equal(t, []resolve.Input{{Ref: ref, Seen: []desired.Seen{kicked, imported}, Background: true}}, s.resolved)
}

func TestWhatWasPlannedIsInstalled(t *testing.T) {
	manifest := kick.Ref{Namespace: "ns", Name: "demo-template", UID: "m"}
	s := &steps{synced: syncing.Result{Outcome: syncing.OutcomeSynced}, begin: []kick.Ref{manifest}}
	result, err := run(t, s, Input{})
	require.NoError(t, err)
	require.Equal(t, []kick.Ref{manifest}, s.installed)
	require.Equal(t, []install.Installed{{Ref: manifest, Later: true}}, result.Installed)
}

func TestNothingIsResolvedForAKymaThatGoesOrWhoseClusterWasNotRead(t *testing.T) {
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

func TestAResolutionThatFailsLeavesWhatWasSynchronized(t *testing.T) {
	s := &steps{synced: syncing.Result{Outcome: syncing.OutcomeSynced, Writes: 3}, resolErr: errors.New("conflict")}
	result, err := run(t, s, Input{})
	require.NoError(t, err, "the error is that of the synchronization; the resolution is tried by itself")
	require.Equal(t, 3, result.Sync.Writes)
	require.Nil(t, result.Resolved)
}
