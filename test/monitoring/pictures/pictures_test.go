package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// answered has the dashboards of the chart with made-up answers, as the end-to-end test writes real ones.
func answered(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "deploy", "helm", "lifecycle-manager", "files", "dashboards", "*.json"))
	require.NoError(t, err)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		var file map[string]any
		require.NoError(t, json.Unmarshal(content, &file))
		panels, _ := file["panels"].([]any)
		for _, each := range panels {
			one, ok := each.(map[string]any)
			require.True(t, ok)
			targets, _ := one["targets"].([]any)
			answers := make([]model.Matrix, len(targets))
			for i := range targets {
				for k, state := range []string{"Ready", "Error"} {
					series := &model.SampleStream{Metric: model.Metric{"state": model.LabelValue(state), "module_name": "keda", "module": "keda", "version": "1.0.0"}}
					for second := range 60 {
						series.Values = append(series.Values, model.SamplePair{Timestamp: model.Time(1_000_000 + second*1000), Value: model.SampleValue(max(0, second%7-k))})
					}
					answers[i] = append(answers[i], series)
				}
			}
			one["answers"] = answers
		}
		content, err = json.Marshal(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.Base(path)), content, 0o600))
	}
	return folder
}

func TestEachDashboardIsDrawn(t *testing.T) {
	out := t.TempDir()
	if kept := os.Getenv("KEEP_PICTURES"); kept != "" {
		out = kept
	}
	require.NoError(t, run(answered(t), out))
	for name, titles := range mainPanels() {
		picture, err := os.ReadFile(filepath.Join(out, "dashboard-"+name+".svg"))
		require.NoError(t, err)
		decoder := xml.NewDecoder(strings.NewReader(string(picture)))
		for err == nil {
			_, err = decoder.Token()
		}
		require.ErrorIs(t, err, io.EOF, name)
		for _, title := range titles {
			require.Contains(t, string(picture), ">"+title+"</text>")
		}
	}
}

func TestAPanelThatTheDashboardDoesNotHaveIsAnError(t *testing.T) {
	_, err := dashboard{}.draw([]string{"No such panel"})
	require.ErrorContains(t, err, "No such panel")
}

func TestValuesAreWrittenInTheirUnits(t *testing.T) {
	for written, of := range map[string]struct {
		value float64
		unit  string
	}{
		"33.3 %": {1. / 3, "percentunit"}, "0 %": {0, "percentunit"}, "250 ms": {0.25, "s"}, "12.5 s": {12.5, "s"},
		"1.5 MiB": {1.5 * 1024 * 1024, "bytes"}, "0.2/s": {0.2, "cps"}, "3": {3, "none"}, "1234": {1234, ""},
	} {
		require.Equal(t, written, format(of.value, of.unit), fmt.Sprint(of))
	}
}

func TestNamesHaveTheLabelsOfTheirSeries(t *testing.T) {
	require.Equal(t, "keda: Ready", legend("{{module_name}}: {{state}}", model.Metric{"module_name": "keda", "state": "Ready"}))
}

func TestStackedLinesHaveAValueForEachTime(t *testing.T) {
	at := func(times ...model.Time) (values []model.SamplePair) {
		for _, each := range times {
			values = append(values, model.SamplePair{Timestamp: each, Value: 1})
		}
		return values
	}
	filled := withoutGaps([]line{{values: at(1, 2, 3)}, {values: at(2, 4)}})
	require.Equal(t, []model.SamplePair{{Timestamp: 1}, {Timestamp: 2, Value: 1}, {Timestamp: 3}, {Timestamp: 4, Value: 1}}, filled[1].values)
	require.Len(t, filled[0].values, 4)
}
