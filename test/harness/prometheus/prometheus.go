// Package prometheus runs a real Prometheus beside a test, which scrapes an instance and evaluates alerts.
package prometheus

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/harness/process"
)

// Job is the label `job` of all that is scraped.
const Job = "lifecycle-manager"

// Server is a Prometheus that runs.
type Server struct {
	v1.API

	address string
}

// Start starts a Prometheus that scrapes the metrics at an address every second, and evaluates the alerts of a file as
// often. It listens on loopback, keeps its data in the test's temporary folder, and is stopped at the end of the test.
// PROMETHEUS says where the program is.
func Start(t testing.TB, target, alerts string) Server {
	t.Helper()
	program := os.Getenv("PROMETHEUS")
	require.NotEmpty(t, program, "PROMETHEUS is not set: test/run says where it is")
	folder, address := t.TempDir(), process.FreeAddress(t)
	config, err := json.Marshal(map[string]any{ // which is YAML as well
		"global":     map[string]string{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files": []string{alerts},
		"scrape_configs": []any{map[string]any{
			"job_name": Job, "static_configs": []any{map[string]any{"targets": []string{target}}},
		}},
	})
	require.NoError(t, err)
	path := filepath.Join(folder, "prometheus.yml")
	require.NoError(t, os.WriteFile(path, config, 0o600))
	log, err := os.Create(filepath.Join(folder, "prometheus.log"))
	require.NoError(t, err)
	defer func() { _ = log.Close() }()

	running := process.Start(t, log, os.Environ(), program,
		"--config.file="+path, "--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address)
	t.Cleanup(func() { running.Stop(syscall.SIGTERM) })
	require.Eventually(t, func() bool { return isReady(address) || !running.Running() }, time.Minute, 100*time.Millisecond)
	if !running.Running() {
		content, _ := os.ReadFile(log.Name())
		t.Fatalf("Prometheus ended by itself:\n%s", content)
	}
	client, err := api.NewClient(api.Config{Address: "http://" + address})
	require.NoError(t, err)
	return Server{API: v1.NewAPI(client), address: address}
}

// URL is where its API begins.
func (s Server) URL() string { return "http://" + s.address }

func isReady(address string) bool {
	response, err := http.Get(fmt.Sprintf("http://%s/-/ready", address)) //nolint:noctx // a probe of a test
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusOK
}
