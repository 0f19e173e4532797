package fleet

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/kube"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/ports"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/process"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/progress"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
)

func newFleet(t *testing.T) *Fleet {
	t.Helper()
	folder, err := state.Open(filepath.Join(t.TempDir(), "fleet"))
	require.NoError(t, err)
	f := New(folder, nil, progress.New(io.Discard, time.Now))
	require.NoError(t, f.loadOrCreate("test"))
	return f
}

func takeAPort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", ports.Address(0))
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	address, isTCP := listener.Addr().(*net.TCPAddr)
	require.True(t, isTCP)
	return address.Port
}

func TestAPortLostBeforeItsUseIsReplaced(t *testing.T) {
	f := newFleet(t)
	wanted := []*state.Port{{}}
	var tried []int
	require.NoError(t, f.withPorts("registry", false, wanted, func() error {
		tried = append(tried, wanted[0].Number)
		if len(tried) == 1 {
			// Another program is faster, and the component finds its port taken.
			listener, err := net.Listen("tcp", ports.Address(wanted[0].Number))
			require.NoError(t, err)
			t.Cleanup(func() { _ = listener.Close() })
			return &process.ExitedError{Component: "registry", Status: "exit status 1"}
		}
		return nil
	}))
	require.Len(t, tried, 2)
	require.NotEqual(t, tried[0], tried[1])
}

func TestAnEndThatIsNotAboutPortsIsReportedAtOnce(t *testing.T) {
	f := newFleet(t)
	starts := 0
	broken := &process.ExitedError{Component: "registry", Status: "exit status 1"}
	err := f.withPorts("registry", false, []*state.Port{{}}, func() error { starts++; return broken })
	require.ErrorIs(t, err, broken)
	require.Equal(t, 1, starts)
}

func TestPortsThatOthersRelyOnAreNotExchanged(t *testing.T) {
	taken := takeAPort(t)
	for name, test := range map[string]struct {
		port    state.Port
		settled bool
	}{
		"clients know the port":        {port: state.Port{Number: taken}, settled: true},
		"the user asked for this port": {port: state.Port{Number: taken, Fixed: true}},
	} {
		t.Run(name, func(t *testing.T) {
			err := newFleet(t).withPorts("temporal", test.settled, []*state.Port{&test.port}, func() error {
				return errors.New("must not be started")
			})
			require.ErrorIs(t, err, ports.ErrTaken)
			require.ErrorContains(t, err, "temporal")
			require.Equal(t, taken, test.port.Number)
		})
	}
}

func TestAFixedPortIsTakenOnlyByANewComponent(t *testing.T) {
	for name, test := range map[string]struct {
		before  state.Port
		asked   int
		after   state.Port
		refused string
	}{
		"nothing asked, nothing known":      {},
		"nothing asked keeps what was":      {before: state.Port{Number: 20001}, after: state.Port{Number: 20001}},
		"asked for a new component":         {asked: 7233, after: state.Port{Number: 7233, Fixed: true}},
		"asked again for the same":          {before: state.Port{Number: 7233, Fixed: true}, asked: 7233, after: state.Port{Number: 7233, Fixed: true}},
		"asked for another than it has":     {before: state.Port{Number: 20001}, asked: 7233, after: state.Port{Number: 20001}, refused: "take it down first"},
		"asked for what no port can be":     {asked: 70000, refused: "from 1 to 65535"},
		"asked for less than any port is":   {asked: -1, refused: "from 1 to 65535"},
		"asked for the one that was chosen": {before: state.Port{Number: 20001}, asked: 20001, after: state.Port{Number: 20001, Fixed: true}},
	} {
		t.Run(name, func(t *testing.T) {
			port := test.before
			err := fix("--temporal-port", &port, test.asked)
			if test.refused == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.refused)
			}
			require.Equal(t, test.after, port)
		})
	}
}

func TestRemotesAreAddedAndNeverDroppedByUp(t *testing.T) {
	f := newFleet(t)
	require.NoError(t, f.apply(UpOptions{Remotes: 2}))
	require.Equal(t, []string{"remote-1", "remote-2"}, f.state.Remotes())
	require.NoError(t, f.apply(UpOptions{Remotes: 1}))
	require.Equal(t, []string{"remote-1", "remote-2"}, f.state.Remotes())
	require.NotNil(t, f.state.Cluster(state.ControlPlane))
}

func TestEtcdIsStoppedLast(t *testing.T) {
	require.Less(t, stopPhase("supervisor"), stopPhase("remote-1/kube-apiserver"))
	require.Less(t, stopPhase("remote-1/kube-controller-manager"), stopPhase("remote-1/kube-apiserver"))
	require.Less(t, stopPhase("remote-1/kube-apiserver"), stopPhase("remote-1/etcd"))
	require.Less(t, stopPhase("remote-1/etcd"), stopPhases)
}

func TestNamesThatLeadOutOfTheFolderAreRefused(t *testing.T) {
	for _, name := range []string{"", "..", "a/b", "A", "-a", "a-", "a b", "temporal"} {
		require.Error(t, CheckName(name), "%q", name)
	}
	for _, name := range []string{"a", "remote-1", "42"} {
		require.NoError(t, CheckName(name), "%q", name)
	}
}

func TestVariablesNameEachCluster(t *testing.T) {
	variables := map[string]string{}
	description := Description{
		ControlPlane: ClusterInfo{Name: "control-plane", Kubeconfig: "/c"},
		Remotes:      []ClusterInfo{{Name: "remote-1", Kubeconfig: "/r", AccessKubeconfig: "/a"}, {Name: "other"}},
	}
	for _, variable := range description.Variables() {
		variables[variable.Name] = variable.Value
	}
	require.Equal(t, "/c", variables["KUBECONFIG"])
	require.Equal(t, "/c", variables["FLEET_CONTROL_PLANE_KUBECONFIG"])
	require.Equal(t, "/r", variables["FLEET_REMOTE_1_KUBECONFIG"])
	require.Equal(t, "/a", variables["FLEET_REMOTE_1_ACCESS_KUBECONFIG"])
	require.Equal(t, "remote-1 other", variables["FLEET_REMOTES"])
}

func TestKubeconfigsReferToNoFile(t *testing.T) {
	cluster := kube.Cluster{Cluster: state.Cluster{Name: "remote-1", APIServer: state.Port{Number: 20001}}, Dir: t.TempDir()}
	require.NoError(t, cluster.WriteCertificates(time.Now()))
	require.NoError(t, cluster.WriteKubeconfig())
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig(kube.Admin))
	require.NoError(t, err)
	server, auth := config.Clusters["remote-1"], config.AuthInfos[kube.Admin]
	require.Equal(t, "https://127.0.0.1:20001", server.Server)
	require.NotEmpty(t, server.CertificateAuthorityData)
	require.Empty(t, server.CertificateAuthority)
	require.NotEmpty(t, auth.ClientKeyData)
	require.Empty(t, auth.ClientKey)
	require.Empty(t, auth.ClientCertificate)
}

func TestTheEndOfALogIsShown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, state.WriteFile(path, []byte("one\ntwo\nthree\n")))
	tail, err := LastLines(path, 2)
	require.NoError(t, err)
	require.Equal(t, "two\nthree", tail)
	tail, err = LastLines(path, 9)
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\nthree", tail)
}
