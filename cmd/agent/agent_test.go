package main_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/certificates"
	"github.com/kyma-project/lifecycle-manager/test/agenttest"
)

// build builds the program once.
var build = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "agent-*")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "agent")
	output, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-s -w -X main.version=1.2.3 -X main.commit=abc", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the agent: %w: %s", err, output)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := build(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// process is a running agent.
type process struct {
	t       testing.TB
	cmd     *exec.Cmd
	address string
	ca      *agenttest.Authority
	logs    *bytes.Buffer
	ended   chan error
}

// start starts an agent like a Deployment for agents of the earlier generation: configured by the environment, with
// all default ports, on an address of its own.
func start(t testing.TB, ca *agenttest.Authority, mount *agenttest.Mount, listener string, environment ...string) *process {
	t.Helper()
	path, err := build()
	require.NoError(t, err)
	p := &process{t: t, ca: ca, logs: &bytes.Buffer{}, ended: make(chan error, 1)}
	p.address = fmt.Sprintf("127.%d.%d.%d", 100+rand.IntN(100), rand.IntN(256), 1+rand.IntN(250))
	files := certificates.In(mount.Folder)
	p.cmd = exec.CommandContext(t.Context(), path)
	p.cmd.Stderr = p.logs
	p.cmd.Env = append([]string{
		"KCP_ADDR=" + listener, "KCP_CONTRACT=v2", "WEBHOOK_PORT=8443", "METRICS_PORT=2112", "TLS_CERT=" + files.Certificate, "TLS_KEY=" + files.Key,
		"CA_CERT=" + files.Authorities, "TLS_CALLBACK=true", "POD_NAME=skr-webhook-1", "BIND_ADDRESS=" + p.address,
	}, environment...)
	require.NoError(t, p.cmd.Start())
	go func() { p.ended <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	require.Eventually(t, func() bool { return p.status(8081, "/readyz") == http.StatusOK }, time.Minute, 20*time.Millisecond)
	return p
}

// get sends a request without TLS.
func (p *process) get(port int, path string) (int, string) {
	p.t.Helper()
	response, err := http.Get(fmt.Sprintf("http://%s:%d%s", p.address, port, path))
	if err != nil {
		return 0, ""
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	return response.StatusCode, string(body)
}

func (p *process) status(port int, path string) int {
	status, _ := p.get(port, path)
	return status
}

// client sends requests like an API server, on one connection.
func (p *process) client() *http.Client {
	return &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: p.ca.Pool(), ServerName: "127.0.0.1"}}}
}

// update sends the review of a changed object.
func (p *process) update(client *http.Client, name, secret string) {
	p.t.Helper()
	object := func(channel string) runtime.RawExtension {
		return runtime.RawExtension{Raw: fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"kyma-system"},"spec":{"channel":%q}}`, name, channel)}
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "uid", Kind: metav1.GroupVersionKind{Group: "operator.kyma-project.io", Version: "v1beta2", Kind: "Kyma"}, Name: name, Namespace: "kyma-system",
			Operation: admissionv1.Update, OldObject: object("before"), Object: object(secret),
		},
	})
	require.NoError(p.t, err)
	response, err := client.Post(fmt.Sprintf("https://%s:8443/validate/lifecycle-manager", p.address), "application/json", bytes.NewReader(body))
	require.NoError(p.t, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(p.t, http.StatusOK, response.StatusCode)
	var answer admissionv1.AdmissionReview
	require.NoError(p.t, json.NewDecoder(response.Body).Decode(&answer))
	require.Equal(p.t, &admissionv1.AdmissionResponse{UID: "uid", Allowed: true}, answer.Response)
}

// stop stops the agent like the kubelet does.
func (p *process) stop() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-p.ended:
		require.NoError(p.t, err, p.logs.String())
	case <-time.After(time.Minute):
		require.Fail(p.t, "the agent does not stop")
	}
}

// listen starts a listener that returns each event with the common name of its client certificate.
func listen(t testing.TB, ca *agenttest.Authority) (address string, events chan string) {
	t.Helper()
	events = make(chan string)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case events <- fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, r.TLS.PeerCertificates[0].Subject.CommonName, body):
		case <-r.Context().Done():
		}
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{ca.Pair("listener")}, ClientCAs: ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), events
}

func receive(t testing.TB, events chan string) string {
	t.Helper()
	select {
	case event := <-events:
		return event
	case <-time.After(time.Minute):
		require.Fail(t, "no event arrives")
		return ""
	}
}

func body(name string) string {
	return fmt.Sprintf(`{"watched":{"Namespace":"kyma-system","Name":%q},"watchedGvk":{"group":"operator.kyma-project.io","version":"v1beta2","kind":"Kyma"}}`, name)
}

func TestTheProgramReportsChangesWithTheCurrentCertificate(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	mount := agenttest.MountCertificate(t, ca, "runtime-1")
	address, events := listen(t, ca)
	p := start(t, ca, mount, address)

	p.update(p.client(), "default", "a-secret-channel")
	require.Equal(t, "POST /v2/lifecycle-manager/event runtime-1 "+body("default"), receive(t, events))

	mount.Renew(ca, "runtime-2")
	require.Eventually(t, func() bool {
		conn, err := tls.Dial("tcp", p.address+":8443", &tls.Config{RootCAs: ca.Pool(), ServerName: "127.0.0.1"})
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		return conn.ConnectionState().PeerCertificates[0].Subject.CommonName == "runtime-2"
	}, time.Minute, 20*time.Millisecond)
	p.update(p.client(), "other", "a-secret-channel")
	require.Equal(t, "POST /v2/lifecycle-manager/event runtime-2 "+body("other"), receive(t, events))

	require.Equal(t, http.StatusOK, p.status(8081, "/healthz"))
	require.Eventually(t, func() bool {
		_, metrics := p.get(2112, "/metrics")
		return strings.Contains(metrics, `watcher_events_total{result="sent"} 2`)
	}, time.Minute, 20*time.Millisecond)
	_, metrics := p.get(2112, "/metrics")
	for _, name := range []string{
		"watcher_admission_request_total 2", "watcher_admission_request_error_total 0", "watcher_kcp_requests_total 2", `watcher_failed_kcp_total{error_reason="failed-request"} 0`,
		"watcher_request_duration ", "watcher_fips_mode ", "watcher_queue_length 0", `watcher_events_total{result="queued"} 2`, "watcher_certificate_not_after_timestamp_seconds ",
		"watcher_certificate_errors_total 0", `watcher_build_info{version="1.2.3"} 1`, "process_resident_memory_bytes ",
	} {
		require.Contains(t, metrics, "\n"+name)
	}
	require.NotRegexp(t, `# HELP \S+ [^A-Za-z]`, metrics, "scripts could take a number behind the name for the value")
	p.stop()
	require.NotContains(t, p.logs.String(), "a-secret-channel", "contents of objects are not logged")
	for line := range strings.Lines(p.logs.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
}

func TestAListenerThatHangsDelaysNoAnswer(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	address, events := listen(t, ca)
	p := start(t, ca, agenttest.MountCertificate(t, ca, "runtime"), address)
	client := p.client()
	const objects = 50
	for i := range objects {
		// The listener never answers, so every request to it hangs.
		for range 3 {
			p.update(client, fmt.Sprint("kyma-", i), "x")
		}
	}
	seen := map[string]bool{}
	for len(seen) < objects {
		seen[receive(t, events)] = true
	}
}

func TestQueuedEventsAreSentBeforeTheProgramStops(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	address, events := listen(t, ca)
	p := start(t, ca, agenttest.MountCertificate(t, ca, "runtime"), address, "STOP_TIMEOUT=50s")
	client := p.client()
	for i := range 20 {
		p.update(client, fmt.Sprint("kyma-", i), "x")
	}
	client.CloseIdleConnections()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool { return p.status(8081, "/readyz") == 0 }, time.Minute, 20*time.Millisecond)
	for range 20 {
		receive(t, events)
	}
	require.NoError(t, <-p.ended, p.logs.String())
}

func TestTheProgramStopsInTimeWithoutTheListener(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	p := start(t, ca, agenttest.MountCertificate(t, ca, "runtime"), "127.0.0.1:1", "STOP_TIMEOUT=100ms")
	p.update(p.client(), "default", "x")
	p.stop()
	require.Contains(t, p.logs.String(), `"msg":"stopped","total":1`)
}

func TestTheProgramPrintsItsVersionAndMissingFlags(t *testing.T) {
	path, err := build()
	require.NoError(t, err)
	out, err := exec.Command(path, "--version").CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "agent 1.2.3 (commit abc)\n", string(out))

	missing := exec.Command(path)
	missing.Env = []string{}
	out, err = missing.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, "error: --listener-address (or KCP_ADDR) is missing: set it to host:port of the listener in the control plane\n", string(out))
}

// BenchmarkMemory prints the peak memory of the process with a full queue, while the listener is down and reviews of
// the largest objects arrive on several connections.
func BenchmarkMemory(b *testing.B) {
	ca := agenttest.NewAuthority(b, "ca")
	// On a busy machine, eight requests of this size may take longer than API servers wait. The memory is the same.
	p := start(b, ca, agenttest.MountCertificate(b, ca, "runtime"), "127.0.0.1:1", "WEBHOOK_TIMEOUT=1m")
	client := p.client()
	for i := range 10500 {
		p.update(client, fmt.Sprintf("%0100d", i), "x")
	}
	large := strings.Repeat("x", 3<<19-1000)
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			client := p.client()
			for range 50 {
				p.update(client, "large", large)
			}
		})
	}
	asking.Wait()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	require.NoError(b, err)
	for line := range strings.Lines(string(status)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			b.ReportMetric(kib/1024, "MiB")
		}
	}
	_, metrics := p.get(2112, "/metrics")
	require.Contains(b, metrics, "\nwatcher_queue_length 10000\n")
	p.stop()
}
