package sync

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// A cluster that never answers holds the slot of its activity for one timeout, however it fails to answer: the first
// request ends the activity, and Temporal does not retry it. The activities behind it in the queue can then run. This
// test would hang if the activity did.
func TestABlackHoledClusterFreesItsSlot(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		at   func(t *testing.T) clientcmdapi.Cluster
	}{
		{"it accepts connections and sends nothing", acceptsOnly},
		{"it accepts requests and never answers", func(t *testing.T) clientcmdapi.Cluster { return hangs(t, "") }},
		{"it starts an answer and never ends it", func(t *testing.T) clientcmdapi.Cluster { return hangs(t, `{"kind":`) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{})
			b.Clusters = registryFor(t, test.at(t))

			_, err := b.SyncRemote(t.Context(), b.in)
			var failed *temporal.ApplicationError
			require.ErrorAs(t, err, &failed)
			require.True(t, failed.NonRetryable(), "the workflow backs off, without holding a slot")
			f := fault.FromTemporal(err)
			require.Equal(t, fault.Unreachable, f.Kind)
			require.Equal(t, clusters.ReasonUnreachableTimeout, f.Reason)

			// Like the sweep, which has few slots.
			_, _, err = b.Probe(t.Context(), b.kyma(t), false)
			require.Equal(t, clusters.ReasonUnreachableTimeout, fault.Of(err).Reason)
		})
	}
}

// registryFor returns a registry with short timeouts, and a control plane with one access Secret.
func registryFor(t *testing.T, cluster clientcmdapi.Cluster) *clusters.Registry {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "c"
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.Clusters["c"] = &cluster
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "token"}
	kubeconfig, err := clientcmd.Write(*config)
	require.NoError(t, err)
	secrets := corev1.SecretList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"},
		Items: []corev1.Secret{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "access", UID: "uid", ResourceVersion: "1"},
			Data:       map[string][]byte{shared.AccessSecretKey: kubeconfig},
		}},
	}
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(secrets)
	}))
	t.Cleanup(control.Close)
	registry, err := clusters.New(clusters.Options{
		ControlPlane: &rest.Config{Host: control.URL}, Scheme: desiredtest.Scheme(),
		Limits: clusters.Limits{DialTimeout: 200 * time.Millisecond, RequestTimeout: 200 * time.Millisecond},
	})
	require.NoError(t, err)
	return registry
}

// acceptsOnly returns a cluster that accepts connections and does nothing else.
func acceptsOnly(t *testing.T) clientcmdapi.Cluster {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var open []net.Conn
		for {
			connection, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				break
			}
			if err == nil {
				open = append(open, connection)
			}
		}
		for _, each := range open {
			_ = each.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return clientcmdapi.Cluster{Server: "https://" + listener.Addr().String()}
}

// hangs returns a cluster that accepts requests, answers with this beginning, and then hangs.
func hangs(t *testing.T, begin string) clientcmdapi.Cluster {
	t.Helper()
	leave := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if begin != "" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(begin))
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-leave:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		close(leave)
		server.Close()
	})
	return clientcmdapi.Cluster{
		Server:                   server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
}
