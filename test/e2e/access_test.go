package e2e

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	corev1 "k8s.io/api/core/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/harness/proxy"
)

// The status names the reason if the access to a cluster is missing or has too few rights. No output has a kubeconfig.
func TestMissingAccessIsNamedAndNoKubeconfigIsInTheOutput(t *testing.T) {
	metrics := process.FreeAddress(t)
	s := harness.NewEnvironment(t, "--metrics-bind-address", metrics, "--log-level", "debug")
	s.PushMinimal("fine")
	s.Push("test/modules/sample/1.0.0")
	s.Push("test/modules/sample/1.1.0")
	s.Instance.Start()
	t.Run("a cluster needs no more than the documented rights, and the status names what is missing", func(t *testing.T) {
		documentedRightsSuffice(t, s)
	})
	t.Run("each way of being unreachable has its reason, and no kubeconfig is in the output", func(t *testing.T) {
		unreachableHasItsReason(t, s, metrics)
	})
}

// Each way in which a cluster can be unreachable has its own reason, and nothing of any kubeconfig is in any output,
// though every cluster sends back what it was sent.
func unreachableHasItsReason(t *testing.T, s *harness.Environment, metrics string) {
	t.Helper()
	answers := func(code int) (string, []byte) {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"message":"you sent %s"}`, code, r.Header.Get("Authorization"))
		}))
		t.Cleanup(server.Close)
		return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	}
	silent := proxy.NewTCP(t, "")
	silent.Set(proxy.Silent)
	unauthorized, authority := answers(http.StatusUnauthorized)
	forbidden, _ := answers(http.StatusForbidden)
	failing, _ := answers(http.StatusServiceUnavailable)
	// Such answers become errors as well, with their text.
	redirecting, _ := answers(http.StatusMultipleChoices)
	succeeding, _ := answers(http.StatusOK)
	wrongName := strings.Replace(unauthorized, "127.0.0.1", "localhost", 1)
	of := map[string]struct {
		kubeconfig []byte
		reason     string
	}{
		"refused":      {harness.Kubeconfig(t, "https://"+process.FreeAddress(t), authority, nil), "UnreachableNetwork"},
		"silent":       {harness.Kubeconfig(t, "https://"+silent.Address(), authority, nil), "UnreachableTimeout"},
		"misnamed":     {harness.Kubeconfig(t, wrongName, authority, nil), "UnreachableTLS"},
		"unauthorized": {harness.Kubeconfig(t, unauthorized, authority, nil), "UnreachableUnauthorized"},
		"password": {harness.Kubeconfig(t, unauthorized, authority, func(c *clientcmdapi.Config) {
			c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Username: "admin", Password: harness.Planted + "-password"}
		}), "UnreachableUnauthorized"},
		"forbidden": {harness.Kubeconfig(t, forbidden, authority, nil), "UnreachableForbidden"},
		"failing":   {harness.Kubeconfig(t, failing, authority, nil), "UnreachableServerFailed"},
		"exec": {harness.Kubeconfig(t, unauthorized, authority, func(c *clientcmdapi.Config) {
			c.AuthInfos["u"].Exec = &clientcmdapi.ExecConfig{
				Command: "/bin/sh", Args: []string{harness.Planted}, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: "Never",
			}
		}), "KubeconfigRejected"},
		"authority":  {harness.Kubeconfig(t, unauthorized, []byte(harness.Planted), nil), "KubeconfigRejected"},
		"unreadable": {[]byte("clusters: " + harness.Planted), "KubeconfigRejected"},
	}
	for name, each := range of {
		s.GiveAccess(name, each.kubeconfig)
		require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewSynced(name, "fine")))
	}
	odd := map[string]string{"redirecting": redirecting, "succeeding": succeeding}
	for name, server := range odd {
		s.GiveAccess(name, harness.Kubeconfig(t, server, authority, nil))
		require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewSynced(name, "fine")))
	}
	s.Eventually("each Kyma has its reason", 3*time.Minute, func(c *assert.CollectT) {
		for name, each := range of {
			status := s.Kyma(name).Status
			assert.Equal(c, shared.StateError, status.State, name)
			if assert.NotNil(c, status.Remote, name) {
				assert.Equal(c, each.reason, status.Remote.Reason, name)
				assert.NotNil(c, status.Remote.Since, name)
			}
		}
		for name := range odd {
			status := s.Kyma(name).Status
			if assert.NotNil(c, status.LastOperation, name) {
				assert.Contains(c, status.LastOperation.Operation, "you sent", name)
			}
		}
	})
	requirePlantedNowhere(t, s, metrics)

	s.SaysError("exec", "the kubeconfig is refused: exec is set")
	require.Empty(t, s.Manifests(s.Kyma("exec")), "nothing is decided before the remote side was read")
	s.GiveAccess("exec", s.RemoteAccess(t))
	s.BecomesReady("exec", "fine@1.0.0")
}

// requirePlantedNowhere searches everything that the process outputs for planted secrets.
func requirePlantedNowhere(t *testing.T, s *harness.Environment, metrics string) {
	t.Helper()
	places := map[string]string{}
	log, err := os.ReadFile(s.Instance.Log)
	require.NoError(t, err)
	places["the log"] = string(log)
	response, err := http.Get("http://" + metrics + "/metrics") //nolint:noctx // loopback
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	scraped, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	places["the metrics"] = string(scraped)
	for kind, list := range map[string]client.ObjectList{
		"Events": &corev1.EventList{}, "Kymas": &v1beta2.KymaList{}, "Manifests": &v1beta2.ManifestList{},
	} {
		require.NoError(t, s.ControlPlane.List(t.Context(), list))
		content, err := json.Marshal(list)
		require.NoError(t, err)
		places[kind] = string(content)
	}
	workflows, err := s.Temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: s.Namespace})
	require.NoError(t, err)
	require.NotEmpty(t, workflows.GetExecutions())
	for _, execution := range workflows.GetExecutions() {
		id := execution.GetExecution().GetWorkflowId()
		places["the history of "+id] = harness.Decoded(s.History(id))
	}
	require.Contains(t, places["the log"], "refused", "the log must be the one of this test")
	for place, text := range places {
		require.NotEmpty(t, text, place)
		require.NotContains(t, text, harness.Planted, place)
	}
}
