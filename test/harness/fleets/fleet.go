// Package fleets gives each test a fleet of its own ([Take]), and lets as many tests run at the same time as there are
// fleets and the machine can keep up with. A fleet is a control plane, remote clusters, a Temporal server and a registry
// on this machine (test/fleet).
package fleets

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

// Fleet is a fleet that one test at a time uses, as `fleet env -o json` describes it.
type Fleet struct {
	StateDir string `json:"stateDir"`
	// Kubectl is the path of a kubectl of the clusters' version.
	Kubectl      string    `json:"kubectl"`
	ControlPlane Cluster   `json:"controlPlane"`
	Remotes      []Cluster `json:"remotes"`
	Temporal     struct {
		Address string `json:"address"`
	} `json:"temporal"`
	Registry struct {
		Host string `json:"host"`
	} `json:"registry"`
}

// Cluster is one cluster of a fleet, by the paths of its kubeconfigs: its admin's, and the one for Lifecycle Manager.
type Cluster struct {
	Kubeconfig       string `json:"kubeconfig"`
	AccessKubeconfig string `json:"accessKubeconfig"`
}

// fleetsVariable lists the state folders of the fleets, where there are more than the one of FLEET_STATE_DIR.
const fleetsVariable = "LM_TEST_FLEETS"

// shared are the fleets of this test run, once the first test has asked for one.
var shared struct {
	sync.Mutex
	*pool
}

func allFleets(t testing.TB) *pool {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.pool != nil {
		return shared.pool
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
	shared.pool = newPool(all...)
	return shared.pool
}

// idling are the names of the tests that mostly wait.
var idling sync.Map

// Idles says that a test takes a minute or more, and mostly waits. Such tests begin early, since one that begins last keeps
// the whole run waiting, but few at a time, since together they would leave the machine idle. Call it before [Take].
func Idles(t testing.TB) { idling.Store(t.Name(), true) }

// Take waits for a free fleet with so many remote clusters, and gives it back when the test has ended.
func Take(t testing.TB, remotes int) Fleet {
	t.Helper()
	if test, ok := t.(*testing.T); ok {
		test.Parallel()
	}
	all := allFleets(t)
	require.GreaterOrEqual(t, all.largest, remotes, "bring a fleet up with --remotes %d", remotes)
	_, idles := idling.Load(t.Name())
	whole := all.take(remotes, idles)
	t.Cleanup(func() { all.giveBack(whole, idles) })
	sideBySide().begin(t)
	part := whole
	part.Remotes = whole.Remotes[:remotes]
	return part
}
