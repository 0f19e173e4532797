//go:build unix

package render

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// probeArgument makes this test's own program confine itself like a renderer and report what it can still do.
const probeArgument = "probe-confinement"

// probe attempts forbidden operations, by name, and returns their errors. An empty error means that the operation
// succeeded.
func probe(address, folder string) map[string]string {
	told := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	dial := func(network, address string) error {
		connection, err := net.DialTimeout(network, address, time.Second)
		if err == nil {
			_ = connection.Close()
		}
		return err
	}
	_, _, pair := syscall.RawSyscall(syscall.SYS_SOCKET, syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	_, listErr := os.ReadDir("/")
	_, readErr := os.ReadFile(filepath.Join(folder, "secret"))
	_, statErr := os.Stat(filepath.Join(folder, "secret"))
	_, startErr := os.StartProcess("/bin/sh", []string{"sh"}, &os.ProcAttr{})
	came := map[string]string{
		"connect by TCP":     told(dial("tcp", address)),
		"send by UDP":        told(dial("udp", address)),
		"open a socket":      "",
		"list a folder":      told(listErr),
		"read a file":        told(readErr),
		"write a file":       told(os.WriteFile(filepath.Join(folder, "new"), []byte("x"), 0o600)),
		"start a program":    told(startErr),
		"stat a file":        told(statErr),
		"remove a file":      told(os.Remove(filepath.Join(folder, "secret"))),
		"end its parent":     told(syscall.Kill(os.Getppid(), 0)),
		"get its files back": told(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 100, Max: 100})),
	}
	if pair != 0 {
		came["open a socket"] = pair.Error()
	}
	for _, variable := range os.Environ() {
		came["environment"] += variable
	}
	return came
}

func runProbe(out io.Writer, address, folder string) error {
	if err := confine(Limits{}.WithDefaults()); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(probe(address, folder))
}

func TestARendererHasNoEnvironmentNetworkOrFiles(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "secret"), []byte("s3cret"), 0o600))
	program, err := os.Executable()
	require.NoError(t, err)

	command := exec.CommandContext(t.Context(), program, probeArgument, listener.Addr().String(), folder)
	command.Env = []string{"KUBERNETES_SERVICE_HOST=10.0.0.1"}
	output, err := command.Output()
	require.NoError(t, err)
	var came map[string]string
	require.NoError(t, json.Unmarshal(output, &came))
	require.NotContains(t, came, "environment")

	refused := []string{"connect by TCP", "send by UDP", "open a socket", "list a folder", "read a file", "write a file", "start a program"}
	if runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		refused = append(refused, "stat a file", "remove a file", "end its parent", "get its files back")
	}
	for _, what := range refused {
		require.NotEmpty(t, came[what], "a renderer could %s", what)
	}
	require.FileExists(t, filepath.Join(folder, "secret"))
	require.NoFileExists(t, filepath.Join(folder, "new"))
}

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == probeArgument {
		if err := runProbe(os.Stdout, os.Args[2], os.Args[3]); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
