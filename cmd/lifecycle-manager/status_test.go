package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/connection"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/tree"
)

func kymaIn(state shared.State, message string) tree.Kyma {
	return tree.Kyma{Namespace: "kcp-system", Name: "demo", State: state, Message: message, Age: time.Second}
}

// awaited runs `status --until-ready` on what is read one after the other; the last stays.
func awaited(ctx context.Context, settle time.Duration, reads ...tree.Kyma) (shown int, err error) {
	at := 0
	err = watch{
		untilReady: true, every: time.Millisecond, settle: settle,
		show: func(tree.Fleet) error { shown++; return nil },
		read: func(context.Context) (tree.Fleet, error) {
			k := reads[min(at, len(reads)-1)]
			at++
			return tree.Fleet{Kymas: []tree.Kyma{k}}, nil
		},
	}.run(ctx)
	return shown, err
}

func TestWhoeverWaitsForReadyIsToldAsSoonAsOnlyAChangeCanHelp(t *testing.T) {
	stuck := kymaIn(shared.StateError, "access secret not found")
	stuck.WaitsForChange = true
	_, err := awaited(t.Context(), time.Millisecond, kymaIn(shared.StateProcessing, ""), stuck)
	require.ErrorIs(t, err, errNeedsChange)
	require.ErrorContains(t, err, "Kyma kcp-system/demo is Error (access secret not found)")

	// The change may have been made just before: Lifecycle Manager gets time to see it.
	_, err = awaited(t.Context(), time.Hour, stuck, stuck, kymaIn(shared.StateProcessing, ""), kymaIn(shared.StateReady, ""))
	require.NoError(t, err)
}

func TestWhoeverWaitsForReadyIsToldWhatIsNotAtTheEndOfTheTime(t *testing.T) {
	over, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := awaited(over, time.Hour, kymaIn(shared.StateProcessing, "waiting for a module"))
	require.ErrorIs(t, err, errNotReady)
	require.ErrorContains(t, err, "waiting for a module")
}

func TestAWaitThatIsInterruptedDidNotSucceed(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := awaited(interrupted, time.Hour, kymaIn(shared.StateProcessing, ""))
	require.ErrorIs(t, err, errInterrupted)
}

func TestAReadErrorEndsAWatch(t *testing.T) {
	broken := errors.New("broken")
	err := watch{every: time.Millisecond, read: func(context.Context) (fleet tree.Fleet, err error) { return fleet, broken }}.run(t.Context())
	require.ErrorIs(t, err, broken)
}

const twoContexts = `apiVersion: v1
kind: Config
current-context: first
contexts:
- {name: first, context: {cluster: first, user: me}}
- {name: second, context: {cluster: second, user: me}}
clusters:
- {name: first, cluster: {server: "https://first.example.com"}}
- {name: second, cluster: {server: "https://second.example.com"}}
users:
- {name: me, user: {token: t}}
`

func TestAContextChoosesTheControlPlane(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(path, []byte(twoContexts), 0o600))
	for _, given := range []string{path, ""} {
		t.Setenv("KUBECONFIG", path)
		for name, host := range map[string]string{"": "https://first.example.com", "second": "https://second.example.com"} {
			config, err := connection.ControlPlane(given, name)
			require.NoError(t, err)
			require.Equal(t, host, config.Host)
		}
		_, err := connection.ControlPlane(given, "third")
		require.ErrorContains(t, err, "third")
	}
}
