package sync

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// answers returns a cluster that gives the same answer to every request.
func answers(t *testing.T, status int, body string) clientcmdapi.Cluster {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return clientcmdapi.Cluster{
		Server:                   server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
}

// Five attempts that wait as long as a cluster asks for take minutes. A new Kyma has no status for that time, because the
// workflow writes one only when the activity ends.
func TestANewKymaImmediatelyReportsThatItsClusterIsBusy(t *testing.T) {
	const busy = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"details":{"retryAfterSeconds":30}}`
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{})
	b.Clusters = registryFor(t, answers(t, http.StatusTooManyRequests, busy))
	failed := func() *temporal.ApplicationError {
		_, err := b.SyncRemote(t.Context(), b.in)
		var failed *temporal.ApplicationError
		require.ErrorAs(t, err, &failed)
		f := fault.FromTemporal(err)
		require.Equal(t, fault.Transient, f.Kind)
		require.Equal(t, clusters.ReasonThrottled, f.Reason)
		return failed
	}
	require.True(t, failed().NonRetryable())

	kyma := b.kyma(t)
	kyma.Status.State = shared.StateProcessing
	require.NoError(t, b.control.Status().Update(t.Context(), kyma))
	again := failed()
	require.False(t, again.NonRetryable(), "a Kyma that has a status can wait as long as the cluster asks")
	require.Equal(t, 30*time.Second, again.NextRetryDelay())
}

func TestWhenTheFirstFailureOfANewKymaIsReported(t *testing.T) {
	failure := fault.New(fault.Transient, clusters.ReasonServerFailed, "x")
	asks := fault.New(fault.Transient, clusters.ReasonThrottled, "x")
	asks.RetryAfter = time.Minute
	for name, test := range map[string]struct {
		err   error
		tries int32
		took  time.Duration
		want  bool
	}{
		"a failure that may be over in a second": {err: failure, tries: 1, took: time.Second},
		"the second attempt failed too":          {err: failure, tries: 2, want: true},
		"the attempt took long":                  {err: failure, tries: 1, took: 10 * time.Second, want: true},
		"the cluster asks for a minute":          {err: asks, tries: 1, want: true},
	} {
		require.Equal(t, test.want, reportsAtOnce(test.err, test.tries, test.took), name)
	}
}

func TestAClusterWithUnexpectedAnswersFails(t *testing.T) {
	for name, body := range map[string]string{
		"another kind": `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"secret-words"}}]}`,
		"no kind":      `{"secret-words":1}`,
		"an HTML page": `<html>secret-words</html>`,
	} {
		b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{})
		b.Clusters = registryFor(t, answers(t, http.StatusOK, body))
		_, err := b.SyncRemote(t.Context(), b.in)
		require.Equal(t, fault.Fault{
			Kind: fault.Unreachable, Reason: clusters.ReasonUnreachableServerFailed,
			Message: "identify the cluster of Kyma kcp-system/kyma-sample: the cluster's answer is not the expected one of an API server",
		}, fault.FromTemporal(err), name)
	}
}
