package harness

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

// Fleet is a fleet that one test at a time plays on, as `fleet env -o json` describes it.
type Fleet struct {
	StateDir     string         `json:"stateDir"`
	ControlPlane FleetCluster   `json:"controlPlane"`
	Remotes      []FleetCluster `json:"remotes"`
	Temporal     struct {
		Address string `json:"address"`
	} `json:"temporal"`
	Registry struct {
		Host string `json:"host"`
	} `json:"registry"`
}

// FleetCluster is one cluster of a fleet, by the paths of its kubeconfigs: its admin's, and the one for Lifecycle Manager.
type FleetCluster struct {
	Kubeconfig       string `json:"kubeconfig"`
	AccessKubeconfig string `json:"accessKubeconfig"`
}

// fleetsVariable lists the state folders of the fleets, where there are more than the one of FLEET_STATE_DIR.
const fleetsVariable = "LM_TEST_FLEETS"

// freeFleets are the fleets that nobody plays on.
var freeFleets = sync.OnceValue(func() chan string {
	folders := filepath.SplitList(strings.TrimSuffix(os.Getenv(fleetsVariable), string(os.PathListSeparator)))
	if len(folders) == 0 {
		folders = []string{os.Getenv("FLEET_STATE_DIR")}
	}
	free := make(chan string, len(folders))
	for _, folder := range folders {
		free <- folder
	}
	return free
})

// takeFleet waits for a free fleet, and gives it back when the test has ended.
func takeFleet(t testing.TB) Fleet {
	t.Helper()
	if test, ok := t.(*testing.T); ok {
		test.Parallel()
	}
	if os.Getenv(fleetsVariable) == "" {
		testfleet.Require(t, "FLEET_STATE_DIR")
	}
	folder := <-freeFleets()
	t.Cleanup(func() { freeFleets() <- folder })
	sideBySide().begin(t)
	described, err := exec.CommandContext(t.Context(), testfleet.Binary(t, "fleet"), "env", "-o", "json", "--state-dir", folder).Output()
	require.NoError(t, err)
	var f Fleet
	require.NoError(t, json.Unmarshal(described, &f))
	require.GreaterOrEqual(t, len(f.Remotes), 3, "bring the fleet up with --remotes 3")
	return f
}
