package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// venue is a fleet that one test at a time plays on, as `fleet env -o json` describes it.
type venue struct {
	StateDir     string         `json:"stateDir"`
	ControlPlane venueCluster   `json:"controlPlane"`
	Remotes      []venueCluster `json:"remotes"`
	Temporal     struct {
		Address string `json:"address"`
	} `json:"temporal"`
	Registry struct {
		Host string `json:"host"`
	} `json:"registry"`
}

type venueCluster struct {
	Kubeconfig       string `json:"kubeconfig"`
	AccessKubeconfig string `json:"accessKubeconfig"`
}

// venuesVariable lists the state folders of the fleets, where there are more than the one of FLEET_STATE_DIR.
const venuesVariable = "LM_TEST_FLEETS"

// venues are the fleets that nobody plays on.
var venues = sync.OnceValue(func() chan string {
	folders := filepath.SplitList(strings.TrimSuffix(os.Getenv(venuesVariable), string(os.PathListSeparator)))
	if len(folders) == 0 {
		folders = []string{os.Getenv("FLEET_STATE_DIR")}
	}
	free := make(chan string, len(folders))
	for _, folder := range folders {
		free <- folder
	}
	return free
})

// takeVenue waits for a free fleet, and gives it back when the test has ended.
func takeVenue(t testing.TB) venue {
	t.Helper()
	if test, ok := t.(*testing.T); ok {
		test.Parallel()
	}
	if os.Getenv(venuesVariable) == "" {
		testfleet.Require(t, "FLEET_STATE_DIR")
	}
	folder := <-venues()
	t.Cleanup(func() { venues() <- folder })
	sideBySide().begin(t)
	described, err := exec.CommandContext(ctx(t), testfleet.Binary(t, "fleet"), "env", "-o", "json", "--state-dir", folder).Output()
	require.NoError(t, err)
	var v venue
	require.NoError(t, json.Unmarshal(described, &v))
	require.GreaterOrEqual(t, len(v.Remotes), 3, "bring the fleet up with --remotes 3")
	return v
}

// environment is what the programs on this stage get, so that they find its fleet.
func (s *stage) environment() []string {
	return append(os.Environ(),
		"FLEET_STATE_DIR="+s.venue.StateDir, "TEMPORAL_ADDRESS="+s.venue.Temporal.Address, "TEMPORAL_NAMESPACE="+s.namespace)
}
