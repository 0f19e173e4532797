package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/atwork"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/preflight"
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

func TestWhoeverWaitsForReadyWaitsWhileNobodyWorks(t *testing.T) {
	ready, stuck := kymaIn(shared.StateReady, ""), kymaIn(shared.StateError, "no such module")
	stuck.WaitsForChange = true
	for _, kyma := range []tree.Kyma{ready, stuck} {
		reads, shown := 0, 0
		w := watch{
			untilReady: true, every: time.Millisecond, settle: 2 * time.Millisecond,
			show: func(fleet tree.Fleet) error { shown += len(fleet.Problems); return nil },
			read: func(context.Context) (fleet tree.Fleet, err error) {
				reads++
				if reads <= 20 {
					fleet.Problems = []tree.Problem{{Message: "nobody leads"}}
				}
				fleet.Kymas = []tree.Kyma{kyma}
				return fleet, nil
			},
		}
		err := w.run(t.Context())
		require.Equal(t, kyma.WaitsForChange, err != nil)
		require.Equal(t, 20, shown, "the states may be old until somebody leads")
	}
}

func TestAWaitThatIsInterruptedDidNotSucceed(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := awaited(interrupted, time.Hour, kymaIn(shared.StateProcessing, ""))
	require.ErrorIs(t, err, errInterrupted)
}

func TestAWatchOfOneKymaGoesOnWithoutItOnceItIsDeleted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var shown []int
	reads := 0
	err := watch{
		every: time.Millisecond,
		show: func(fleet tree.Fleet) error {
			shown = append(shown, len(fleet.Kymas))
			return nil
		},
		read: func(context.Context) (fleet tree.Fleet, err error) {
			reads++
			switch reads {
			case 2:
				fleet.Kymas = []tree.Kyma{kymaIn(shared.StateReady, "")}
				return fleet, nil
			case 4:
				cancel()
			}
			return fleet, apierrors.NewNotFound(schema.GroupResource{Resource: "kymas"}, "demo")
		},
	}.run(ctx)
	require.NoError(t, err)
	require.Equal(t, []int{1, 0}, shown, "before it was there, nothing is shown")
}

func TestAReadErrorEndsAWatch(t *testing.T) {
	broken := errors.New("broken")
	err := watch{every: time.Millisecond, read: func(context.Context) (fleet tree.Fleet, err error) { return fleet, broken }}.run(t.Context())
	require.ErrorIs(t, err, broken)
}

// noon is when something was the matter.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// shownAs is what `status` prints of a fleet.
func shownAs(t *testing.T, output string, fleet tree.Fleet) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, cli.NewScreen(&out, cli.Output(output), func(string) string { return "" }).Once(fleet))
	return out.String()
}

func TestAProblemIsShownBeforeAllElse(t *testing.T) {
	fleet := tree.Fleet{
		Problems: []tree.Problem{{Instance: "lifecycle-manager", Since: noon, Message: "Temporal cannot be used: connection refused"}},
		Kymas:    []tree.Kyma{kymaIn("Ready", "")},
	}
	const line = "no work is done since 2026-11-22T12:00:00Z by lifecycle-manager: Temporal cannot be used: connection refused\n"
	require.Regexp(t, "^"+line+"kcp-system/demo", shownAs(t, outputTree, fleet))
	require.Contains(t, shownAs(t, outputJSON, fleet), `"message": "Temporal cannot be used: connection refused"`)
	fleet.Kymas = nil
	require.Equal(t, line+"no Kyma found\n", shownAs(t, outputTree, fleet))
	require.NotContains(t, shownAs(t, outputJSON, tree.Fleet{}), "problems")
	require.Contains(t, reasonsOf(fleet), "Temporal cannot be used", "who waits in vain is informed")
}

func TestTheTimeOfTheStatusIsTheAPIServers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", noon.Format(http.TimeFormat))
	}))
	defer server.Close()
	clock := &preflight.ServerClock{}
	require.WithinDuration(t, time.Now(), clock.Now(), time.Minute)
	asking := http.Client{Transport: clock.Follow(http.DefaultTransport)}
	response, err := asking.Get(server.URL) //nolint:noctx // of a test
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, noon, clock.Now().UTC())
}

func TestAStatusFailsWhileNobodyWorks(t *testing.T) {
	require.NotContains(t, shownAs(t, outputJSON, tree.Fleet{Problems: []tree.Problem{{Message: "nobody leads"}}}), "since", "nobody knows since when")
	for name, fleet := range map[string]tree.Fleet{
		"without Kymas": {},
		"with Kymas":    {Kymas: []tree.Kyma{kymaIn(shared.StateReady, "")}},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			require.NoError(t, verdict(&said, fleet, nil))
			require.Empty(t, said.String())
			require.NoError(t, verdict(&said, fleet, errors.New("configmaps is forbidden")))
			require.Equal(t, "whether Lifecycle Manager is at work is not known: configmaps is forbidden\n", said.String())
			fleet.Problems = []tree.Problem{{Message: "nobody leads"}}
			require.ErrorIs(t, verdict(&said, fleet, nil), errNoWork)
		})
	}
}

func TestOfAKymaTheProblemsOfItsOwnInstanceAreShown(t *testing.T) {
	scheme, err := cli.NewScheme()
	require.NoError(t, err)
	kyma := func(name string, labels map[string]string) *v1beta2.Kyma {
		return &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: name, Labels: labels}}
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(kyma("demo", nil), kyma("others", map[string]string{shared.LabelManagedBy: "other"})).Build()
	for name, instance := range map[string]string{"demo": "lifecycle-manager", "others": "other"} {
		fleet, err := readFleet(t.Context(), reader, atwork.NewProblems(reader, time.Now), "", name)
		require.NoError(t, err)
		require.Len(t, fleet.Kymas, 1)
		require.Len(t, fleet.Problems, 1, "nobody has ever led it")
		require.Equal(t, instance, fleet.Problems[0].Instance)
	}
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
			config, err := cli.ControlPlane(given, name)
			require.NoError(t, err)
			require.Equal(t, host, config.Host)
		}
		_, err := cli.ControlPlane(given, "third")
		require.ErrorContains(t, err, "third")
	}
}
