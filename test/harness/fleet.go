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

// fleets are those of this test run, once the first test has asked for one.
var fleets struct {
	sync.Mutex
	*fleetPool
}

func allFleets(t testing.TB) *fleetPool {
	t.Helper()
	fleets.Lock()
	defer fleets.Unlock()
	if fleets.fleetPool != nil {
		return fleets.fleetPool
	}
	folders := filepath.SplitList(strings.TrimSuffix(os.Getenv(fleetsVariable), string(os.PathListSeparator)))
	if len(folders) == 0 {
		folders = []string{testfleet.Require(t, "FLEET_STATE_DIR")}
	}
	all := make([]Fleet, len(folders))
	for i, folder := range folders {
		described, err := exec.CommandContext(t.Context(), testfleet.Binary(t, "fleet"), "env", "-o", "json", "--state-dir", folder).Output()
		require.NoError(t, err, "the fleet in %s", folder)
		require.NoError(t, json.Unmarshal(described, &all[i]))
	}
	fleets.fleetPool = newFleetPool(all...)
	return fleets.fleetPool
}

// takeFleet waits for a free fleet with so many remote clusters, and gives it back when the test has ended.
func takeFleet(t testing.TB, remotes int) Fleet {
	t.Helper()
	if test, ok := t.(*testing.T); ok {
		test.Parallel()
	}
	pool := allFleets(t)
	require.GreaterOrEqual(t, pool.largest, remotes, "bring a fleet up with --remotes %d", remotes)
	whole := pool.take(remotes)
	t.Cleanup(func() { pool.giveBack(whole) })
	sideBySide().begin(t)
	part := whole
	part.Remotes = whole.Remotes[:remotes]
	return part
}
