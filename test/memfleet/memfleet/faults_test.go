package memfleet_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/memfleet"
)

const configMaps = "/api/v1/namespaces/default/configmaps"

func (c client) get(cluster int, path string) int {
	return c.do(cluster, http.MethodGet, path, "", "application/json", "").Code
}

func setFaults(t *testing.T, c client, text string) {
	t.Helper()
	faults, err := memfleet.ParseFaults([]byte(text))
	require.NoError(t, err)
	require.NoError(t, c.fleet.SetFaults(faults))
}

func TestAFaultIsOfThoseClustersAndRequestsThatItNames(t *testing.T) {
	c := newClient(t, memfleet.Options{Clusters: 30})
	setFaults(t, c, `
rules:
- {name: busy, clusters: ["00003", "00010-00012"], verbs: [list], resources: [configmaps], status: 429, retryAfter: 7s}
`)
	for cluster, want := range map[int]int{2: 200, 3: 429, 4: 200, 10: 429, 12: 429, 13: 200} {
		assert.Equal(t, want, c.get(cluster, configMaps), "cluster %d", cluster)
		assert.Equal(t, http.StatusOK, c.get(cluster, "/api/v1/namespaces/default"), "cluster %d", cluster)
	}
	answer := c.do(3, http.MethodGet, configMaps, "", "application/json", "")
	assert.Equal(t, "7", answer.Header().Get("Retry-After"))
	assert.Contains(t, answer.Body.String(), `"reason":"TooManyRequests"`)
	require.NoError(t, c.fleet.SetFaults(memfleet.Faults{}))
	assert.Equal(t, http.StatusOK, c.get(3, configMaps))
}

func TestTheSameSeedHitsTheSameClusters(t *testing.T) {
	hit := func(seed int) string {
		c := newClient(t, memfleet.Options{Clusters: 200})
		setFaults(t, c, fmt.Sprintf(`{seed: %d, rules: [{name: some, share: 0.2, status: 500, requests: 0.5}]}`, seed))
		marks := ""
		for cluster := range 200 {
			for range 4 {
				if c.get(cluster, configMaps) == http.StatusInternalServerError {
					marks += fmt.Sprint(cluster, " ")
				}
			}
		}
		return marks
	}
	first := hit(1)
	assert.Equal(t, first, hit(1))
	assert.NotEqual(t, first, hit(2))
}

func TestABlackHoleNeverAnswers(t *testing.T) {
	c := newClient(t, memfleet.Options{Clusters: 1})
	setFaults(t, c, `rules: [{blackHole: true}]`)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	answer := c.within(ctx, 0, configMaps)
	require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded, "there was no answer before")
	assert.Empty(t, answer.Body.Bytes())
}

func TestLatencyIsAdded(t *testing.T) {
	c := newClient(t, memfleet.Options{Clusters: 1})
	setFaults(t, c, `rules: [{latency: {min: 100ms, max: 200ms}}]`)
	start := time.Now()
	assert.Equal(t, http.StatusOK, c.get(0, configMaps))
	assert.GreaterOrEqual(t, time.Since(start), 100*time.Millisecond)
}

func TestStaleReadsAreSomeWritesBehind(t *testing.T) {
	c := newClient(t, memfleet.Options{Clusters: 1})
	setFaults(t, c, `rules: [{staleWrites: 2}]`)
	for i := range 4 {
		c.apply(0, fmt.Sprintf("%s/m%d", configMaps, i), fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m%d"}}`, i))
	}
	assert.Equal(t, http.StatusOK, c.get(0, configMaps+"/m1"))
	assert.Equal(t, http.StatusNotFound, c.get(0, configMaps+"/m2"))
	require.NoError(t, c.fleet.SetFaults(memfleet.Faults{}))
	assert.Equal(t, http.StatusOK, c.get(0, configMaps+"/m3"))
}

func TestAWipedClusterIsANewOne(t *testing.T) {
	c := newClient(t, memfleet.Options{Clusters: 1})
	uid := func() string {
		return c.do(0, http.MethodGet, "/api/v1/namespaces/kube-system", "", "application/json", "").Body.String()
	}
	before := uid()
	c.apply(0, configMaps+"/a", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
	c.fleet.Wipe(0)
	assert.Equal(t, http.StatusNotFound, c.get(0, configMaps+"/a"))
	assert.NotEqual(t, before, uid())
}

func TestRulesThatMeanNothingAreRefused(t *testing.T) {
	c := newClient(t, memfleet.Options{Clusters: 3})
	for _, text := range []string{
		`rules: [{clusters: ["00003"], status: 500}]`, `rules: [{share: 2}]`, `rules: [{status: 200}]`,
		`rules: [{latency: {min: 2s, max: 1s}}]`,
	} {
		faults, err := memfleet.ParseFaults([]byte(text))
		require.NoError(t, err, text)
		require.Error(t, c.fleet.SetFaults(faults), text)
	}
	_, err := memfleet.ParseFaults([]byte(`rules: [{unknown: 1}]`))
	require.Error(t, err)
}
