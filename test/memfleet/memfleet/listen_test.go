package memfleet_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/memfleet"
)

// listen serves a fleet, and returns how to reach its clusters.
func listen(t *testing.T, c client) (*memfleet.Listener, func(cluster int) *rest.Config) {
	t.Helper()
	listener, err := c.fleet.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		assert.NoError(t, listener.Serve(ctx))
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return listener, func(cluster int) *rest.Config {
		raw, err := listener.Kubeconfig(cluster)
		require.NoError(t, err)
		config, err := clientcmd.RESTConfigFromKubeConfig(raw)
		require.NoError(t, err)
		config.QPS = -1
		return config
	}
}

func TestATokenOpensItsClusterAndNoOther(t *testing.T) {
	_, config := listen(t, newClient(t, memfleet.Options{Clusters: 2}))
	own, other := config(0), config(1)
	_, err := kubernetes.NewForConfigOrDie(own).CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
	require.NoError(t, err)
	own.BearerToken = other.BearerToken
	_, err = kubernetes.NewForConfigOrDie(own).CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
	require.ErrorContains(t, err, "Unauthorized")
}

func TestAnInformerFollowsItsClusterThroughARestartAndALossOfData(t *testing.T) {
	c := newClient(t, memfleet.Options{Clusters: 2})
	_, config := listen(t, c)
	client := kubernetes.NewForConfigOrDie(config(0))
	maps := client.CoreV1().ConfigMaps("default")
	create := func(name string) {
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	create("before")
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().ConfigMaps().Informer()
	factory.Start(t.Context().Done())
	require.True(t, cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced))
	names := func() string { return strings.Join(informer.GetStore().ListKeys(), " ") }
	has := func(name string, want bool) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(names(), name) == want }, 20*time.Second, 10*time.Millisecond, "%s in %s", name, names())
	}
	has("before", true)
	create("after")
	has("after", true)
	require.NoError(t, maps.Delete(t.Context(), "before", metav1.DeleteOptions{}))
	has("before", false)
	c.fleet.Restart(0)
	require.Eventually(t, func() bool {
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "restarted"}}, metav1.CreateOptions{})
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	has("restarted", true)
	c.fleet.Wipe(0)
	has("restarted", false)
	create("wiped")
	has("wiped", true)
}

func TestTheAdministratorCountsAndSetsFaults(t *testing.T) {
	c := newClient(t, memfleet.Options{Clusters: 3})
	listener, config := listen(t, c)
	_, err := kubernetes.NewForConfigOrDie(config(1)).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	client, err := rest.HTTPClientFor(config(0))
	require.NoError(t, err)
	admin := func(verb, path, body string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), verb, "https://"+listener.Address()+"/admin/"+path, strings.NewReader(body))
		require.NoError(t, err)
		answer, err := client.Do(req)
		require.NoError(t, err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	var counters memfleet.Counters
	require.NoError(t, json.NewDecoder(admin(http.MethodGet, "counters", "").Body).Decode(&counters))
	assert.Equal(t, memfleet.Counters{
		Total: 1, Requests: map[string]int64{"list configmaps": 1}, Clusters: map[string]int64{"00001": 1},
	}, counters)
	assert.Equal(t, http.StatusNoContent, admin(http.MethodDelete, "counters", "").StatusCode)
	assert.Zero(t, c.fleet.Counters().Total)
	assert.Equal(t, http.StatusBadRequest, admin(http.MethodPut, "faults", "rules: [{share: 3}]").StatusCode)
	assert.Equal(t, http.StatusNoContent, admin(http.MethodPut, "faults", "rules: [{status: 503}]").StatusCode)
	assert.Equal(t, http.StatusServiceUnavailable, c.get(2, configMaps))
	assert.Equal(t, http.StatusNoContent, admin(http.MethodDelete, "faults", "").StatusCode)
	assert.Equal(t, http.StatusOK, c.get(2, configMaps))
	assert.Equal(t, http.StatusNoContent, admin(http.MethodPost, "clusters/00002/restart", "").StatusCode)
	assert.Equal(t, http.StatusNoContent, admin(http.MethodPost, "clusters/00002/wipe", "").StatusCode)
	assert.Equal(t, http.StatusNotFound, admin(http.MethodPost, "clusters/00003/wipe", "").StatusCode)
	for _, path := range []string{"memory", "faults", "clusters/00002", "counters?cluster=00001"} {
		assert.Equal(t, http.StatusOK, admin(http.MethodGet, path, "").StatusCode, path)
	}
}
