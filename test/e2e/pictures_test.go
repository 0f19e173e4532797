package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/prometheus"
)

// answersVariable names the folder into which the answers of Prometheus are written that make dashboard-pictures draws.
const answersVariable = "DASHBOARD_ANSWERS"

// recordingFlags are the defaults in place of what the other tests have, so that the sweep is on time, as it usually is.
func recordingFlags() []string {
	if os.Getenv(answersVariable) == "" {
		return nil
	}
	return []string{"--resync-interval", "5m", "--sweep-concurrency", "8"}
}

// recordAnswers gives the instance more to do for a while, and then writes each dashboard of the chart with the answers to
// its expressions since the given time.
func recordAnswers(t *testing.T, s *harness.Environment, observed v1.API, since time.Time) {
	t.Helper()
	folder := os.Getenv(answersVariable)
	if folder == "" {
		return
	}
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("busy-%d", i))
		s.Give(names[i])
		require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewSynced(names[i], "fine", "more")))
		time.Sleep(3 * time.Second) // this is a recording: it needs some time, and waits for nothing
	}
	for _, version := range []string{"1.1.0", "1.2.0"} {
		s.PushModule(harness.MinimalModule{Name: "fine", Version: version, Channels: "regular"})
		time.Sleep(20 * time.Second)
	}
	for _, name := range names {
		harness.Edit(t, s.ControlPlane, s.Kyma(name), func(k *v1beta2.Kyma) { k.Spec.Modules = k.Spec.Modules[:1] })
		time.Sleep(2 * time.Second)
	}
	paths, err := filepath.Glob(filepath.Join(filesOfChart(t), "dashboards", "*.json"))
	require.NoError(t, err)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		var dashboard map[string]any
		require.NoError(t, json.Unmarshal(content, &dashboard))
		panels, _ := dashboard["panels"].([]any)
		for _, each := range panels {
			panel, ok := each.(map[string]any)
			require.True(t, ok)
			panel["answers"] = answersOf(t, observed, panel, since)
		}
		content, err = json.Marshal(dashboard)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.Base(path)), content, 0o600))
	}
	for _, name := range names {
		s.RemoveKyma(name)
		s.RemoveNamespaces(s.Remote, name)
	}
}

// answersOf are the answers to the expressions of a panel: of one that shows the present, the present ones.
func answersOf(t *testing.T, observed v1.API, panel map[string]any, since time.Time) []model.Matrix {
	t.Helper()
	var all []model.Matrix
	targets, _ := panel["targets"].([]any)
	for _, each := range targets {
		target, ok := each.(map[string]any)
		require.True(t, ok)
		expression, _ := target["expr"].(string)
		// The scrapes are a second apart here, not half a minute.
		expression = strings.NewReplacer("$job", prometheus.Job, "$kyma", "first", "$__rate_interval", "20s").Replace(expression)
		asked := v1.Range{Start: since, End: time.Now(), Step: 2 * time.Second}
		if instant, _ := target["instant"].(bool); instant {
			asked.Start = asked.End
		}
		answer, _, err := observed.QueryRange(t.Context(), expression, asked)
		require.NoError(t, err, expression)
		matrix, ok := answer.(model.Matrix)
		require.True(t, ok)
		all = append(all, matrix)
	}
	return all
}
