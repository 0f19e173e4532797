package e2e

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// planted is in every credential that the tests hand out, and must come out nowhere.
const planted = "PLANTED-9f2c61d0b7"

// access is a kubeconfig with a planted token.
func access(t testing.TB, server string, authority []byte, change func(*clientcmdapi.Config)) []byte {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "c"
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: planted + "-token"}
	if change != nil {
		change(config)
	}
	raw, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return raw
}

// giveAccess creates the access Secret of a Kyma, or changes it.
func (s *stage) giveAccess(kyma string, kubeconfig []byte) {
	s.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: kyma + "-access", Namespace: controlPlaneNamespace}}
	giving := func() {
		secret.Labels, secret.Data = map[string]string{shared.LabelKymaName: kyma}, map[string][]byte{"config": kubeconfig}
	}
	err := s.controlPlane.Get(ctx(s.t), client.ObjectKeyFromObject(secret), secret)
	if apierrors.IsNotFound(err) {
		giving()
		require.NoError(s.t, s.controlPlane.Create(ctx(s.t), secret))
		return
	}
	require.NoError(s.t, err)
	editObject(s.t, s.controlPlane, secret, giving)
}

// Each way in which a cluster cannot be reached is said with its own reason, and nothing of any
// kubeconfig comes out anywhere, though every cluster sends back what it was sent.
func TestEachWayOfBeingUnreachableIsSaidAndNothingOfAKubeconfigIs(t *testing.T) {
	metrics := freeAddress(t)
	s := newStage(t, "--metrics-bind-address", metrics, "--log-level", "debug")
	s.pushTiny("fine")
	s.instance.start()

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
	silent := newCable(t, "")
	silent.set(cableSilent)
	unauthorized, authority := answers(http.StatusUnauthorized)
	forbidden, _ := answers(http.StatusForbidden)
	failing, _ := answers(http.StatusServiceUnavailable)
	// Such answers are made errors of as well, with what they say.
	redirecting, _ := answers(http.StatusMultipleChoices)
	succeeding, _ := answers(http.StatusOK)
	wrongName := strings.Replace(unauthorized, "127.0.0.1", "localhost", 1)
	of := map[string]struct {
		kubeconfig []byte
		reason     string
	}{
		"refused":      {access(t, "https://"+freeAddress(t), authority, nil), "UnreachableNetwork"},
		"silent":       {access(t, "https://"+silent.listener.Addr().String(), authority, nil), "UnreachableTimeout"},
		"misnamed":     {access(t, wrongName, authority, nil), "UnreachableTLS"},
		"unauthorized": {access(t, unauthorized, authority, nil), "UnreachableUnauthorized"},
		"password": {access(t, unauthorized, authority, func(c *clientcmdapi.Config) {
			c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Username: "admin", Password: planted + "-password"}
		}), "UnreachableUnauthorized"},
		"forbidden": {access(t, forbidden, authority, nil), "UnreachableForbidden"},
		"failing":   {access(t, failing, authority, nil), "UnreachableServerFailed"},
		"exec": {access(t, unauthorized, authority, func(c *clientcmdapi.Config) {
			c.AuthInfos["u"].Exec = &clientcmdapi.ExecConfig{
				Command: "/bin/sh", Args: []string{planted}, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: "Never",
			}
		}), "KubeconfigRejected"},
		"authority":  {access(t, unauthorized, []byte(planted), nil), "KubeconfigRejected"},
		"unreadable": {[]byte("clusters: " + planted), "KubeconfigRejected"},
	}
	for name, each := range of {
		s.giveAccess(name, each.kubeconfig)
		require.NoError(t, s.controlPlane.Create(t.Context(), newSynced(name, "fine")))
	}
	odd := map[string]string{"redirecting": redirecting, "succeeding": succeeding}
	for name, server := range odd {
		s.giveAccess(name, access(t, server, authority, nil))
		require.NoError(t, s.controlPlane.Create(t.Context(), newSynced(name, "fine")))
	}
	s.eventually("each Kyma says why", 3*time.Minute, func(c *assert.CollectT) {
		for name, each := range of {
			status := s.kyma(name).Status
			assert.Equal(c, shared.StateError, status.State, name)
			if assert.NotNil(c, status.Remote, name) {
				assert.Equal(c, each.reason, status.Remote.Reason, name)
				assert.NotNil(c, status.Remote.Since, name)
			}
		}
		for name := range odd {
			status := s.kyma(name).Status
			if assert.NotNil(c, status.LastOperation, name) {
				assert.Contains(c, status.LastOperation.Operation, "you sent", name)
			}
		}
	})
	s.requirePlantedNowhere(t, metrics)
	// Without access they could only be let go of after the grace period.
	for name := range of {
		s.giveAccess(name, s.remoteAccess(t))
	}
	for name := range odd {
		s.giveAccess(name, s.remoteAccess(t))
	}
}

// requirePlantedNowhere looks for planted secrets in everything that leaves the process.
func (s *stage) requirePlantedNowhere(t *testing.T, metrics string) {
	t.Helper()
	places := map[string]string{}
	log, err := os.ReadFile(s.instance.log)
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
		require.NoError(t, s.controlPlane.List(t.Context(), list))
		content, err := json.Marshal(list)
		require.NoError(t, err)
		places[kind] = string(content)
	}
	workflows, err := s.temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: s.namespace})
	require.NoError(t, err)
	require.NotEmpty(t, workflows.GetExecutions())
	for _, execution := range workflows.GetExecutions() {
		id := execution.GetExecution().GetWorkflowId()
		places["the history of "+id] = decoded(s.history(id))
	}
	require.Contains(t, places["the log"], "refused", "what is looked for must be what was written")
	for place, text := range places {
		require.NotEmpty(t, text, place)
		require.NotContains(t, text, planted, place)
	}
}

func (s *stage) remoteAccess(t *testing.T) []byte {
	t.Helper()
	kubeconfig, err := os.ReadFile(s.remote.access)
	require.NoError(t, err)
	return kubeconfig
}

// through is the remote cluster's access by way of a cable.
func (s *stage) through(t *testing.T) (*cable, []byte) {
	t.Helper()
	config, err := clientcmd.Load(s.remoteAccess(t))
	require.NoError(t, err)
	server := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	address, err := url.Parse(server.Server)
	require.NoError(t, err)
	c := newCable(t, address.Host)
	server.Server = "https://" + c.listener.Addr().String()
	raw, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return c, raw
}
