package analysis_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/analysis"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/test/harness/prometheus"
)

// asked returns the query of a stage after the rollout has filled in the module.
func asked(module, query string) string {
	now := time.Now()
	r := &v1beta2.ModuleRollout{Spec: v1beta2.ModuleRolloutSpec{
		ModuleName: module, Channel: "regular", From: "1.0.0", To: "1.1.0+build", Policy: "all",
		Plan: v1beta2.RolloutPlan{Stages: []v1beta2.RolloutStage{{Name: "rest", Analysis: []v1beta2.RolloutAnalysis{{Name: "a", Query: query, Min: "1"}}}}},
	}}
	r.Status.StartedAt = new(metav1.NewTime(now))
	return rollout.ToAsk(r, rollout.Observe(r, nil, now), rollout.Situation{Now: now, Desired: r.Spec.To}).Queries[0]
}

func TestARealPrometheusAnswers(t *testing.T) {
	if os.Getenv("PROMETHEUS") == "" && os.Getenv("LM_TEST_REQUIRE_FLEET") == "" {
		t.Skip("needs Prometheus: PROMETHEUS=$(make prometheus | tail -n 1)")
	}
	odd := `a"b'c` + "`" + `d\e{}é`
	target := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(answer, "sample{module=%q,version=\"1.1.0+build\"} 42\nsample{module=\"other\",version=\"1.1.0+build\"} 7\n", odd)
	}))
	defer target.Close()
	alerts := filepath.Join(t.TempDir(), "alerts.yaml")
	require.NoError(t, os.WriteFile(alerts, []byte(`groups: []`), 0o600))
	c, err := analysis.New(analysis.Options{URL: prometheus.Start(t, strings.TrimPrefix(target.URL, "http://"), alerts).URL()})
	require.NoError(t, err)

	require.EventuallyWithT(t, func(check *assert.CollectT) {
		samples, err := c.Query(t.Context(), `sample`)
		require.NoError(check, err)
		assert.Len(check, samples, 2)
	}, time.Minute, 100*time.Millisecond)
	for _, quote := range []string{`"`, `'`} {
		samples, err := c.Query(t.Context(), asked(odd, strings.ReplaceAll(`max(sample{module="$module",version="$version"})`, `"`, quote)))
		require.NoError(t, err)
		require.Equal(t, []rollout.Sample{{Value: 42}}, samples, "any module name is a valid label value")
	}
	for query, want := range map[string][]rollout.Sample{
		`1.5`: {{Value: 1.5}}, `vector(2)`: {{Value: 2}}, `unknown`: {}, `sample{module="other"} * 0 + 3`: nil,
	} {
		samples, err := c.Query(t.Context(), query)
		require.NoError(t, err, query)
		if want != nil {
			require.Equal(t, want, samples, query)
		}
	}
	samples, err := c.Query(t.Context(), `0/0`)
	require.NoError(t, err)
	require.True(t, math.IsNaN(samples[0].Value))
	for query, want := range map[string]string{
		`sum(`:                        "query refused by Prometheus: ",
		`sample[5m]`:                  "the query returns a matrix",
		`"text"`:                      "the answer of Prometheus is not a scalar",
		`sample * on(version) sample`: "query refused by Prometheus: ",
	} {
		_, err := c.Query(t.Context(), query)
		require.ErrorContains(t, err, want, query)
	}
}
