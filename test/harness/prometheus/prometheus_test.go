package prometheus

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestItScrapesAndEvaluatesAlerts(t *testing.T) {
	if os.Getenv("PROMETHEUS") == "" && os.Getenv("LM_TEST_REQUIRE_FLEET") == "" {
		t.Skip("needs Prometheus: PROMETHEUS=$(make prometheus | tail -n 1)")
	}
	target := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(answer, "temperature 42")
	}))
	defer target.Close()
	alerts := filepath.Join(t.TempDir(), "alerts.yaml")
	require.NoError(t, os.WriteFile(alerts, []byte(`groups: [{name: weather, rules: [{alert: Hot, expr: temperature > 40}]}]`), 0o600))
	observed := Start(t, strings.TrimPrefix(target.URL, "http://"), alerts)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		value, _, err := observed.Query(t.Context(), `temperature{job="`+Job+`"}`, time.Now())
		require.NoError(c, err)
		assert.Contains(c, value.String(), "42")
		firing, err := observed.Alerts(t.Context())
		require.NoError(c, err)
		if assert.Len(c, firing.Alerts, 1) {
			assert.Equal(c, v1.AlertStateFiring, firing.Alerts[0].State)
		}
	}, time.Minute, 200*time.Millisecond)
	found := observed.Selectors(t, `max by (a) (sum without (b) (rate(x{c="1"}[5m] offset 1h)) > 2) and on (d) absent(y)`)
	require.Equal(t, []Selector{{"x", []string{"a", "b", "c", "d"}}, {"y", []string{"d"}}}, found)
	require.Equal(t, `x{a!="",b!="",c!="",d!="",}`, found[0].Series())
}
