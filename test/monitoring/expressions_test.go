package monitoring

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// foreign are the beginnings of the names of metrics that others chose, which docs/operating.md does not list one by one.
var foreign = []string{"temporal_", "controller_runtime_", "workqueue_", "go_", "process_"}

// An alert on a metric that nobody exports never fires, and a panel stays empty, without a word.
func TestEveryMetricThatIsAskedForIsDocumented(t *testing.T) {
	_, table, found := strings.Cut(read(t, filepath.Join(root, "docs", "operating.md")), "\n## Metrics\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	for where, expressions := range everyExpression(t) {
		for _, expression := range expressions {
			for _, metric := range metricsOf(t, where, expression) {
				if slices.ContainsFunc(foreign, func(start string) bool { return strings.HasPrefix(metric, start) }) {
					continue
				}
				name := regexp.MustCompile("_(bucket|count|sum)$").ReplaceAllString(metric, "")
				assert.True(t, strings.Contains(table, "`"+name+"`"), "%s asks for %s, which docs/operating.md does not explain", where, metric) //nolint:testifylint // Contains would print the table
			}
		}
	}
}

// everyExpression is each expression of alerts, panels, variables and runbooks, by where it is.
func everyExpression(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, each := range rules(t) {
		all["the alert "+each.Alert] = []string{each.Expr}
	}
	for file, d := range dashboards(t) {
		for _, each := range d.Panels {
			for _, target := range each.Targets {
				where := file + ".json, " + each.Title
				all[where] = append(all[where], target.Expr)
			}
		}
		for _, variable := range d.Templating.List {
			if query, ok := variable.Query.(map[string]any); ok {
				asked, _ := query["query"].(string)
				values := regexp.MustCompile(`^label_values\((.+), \w+\)$`).FindStringSubmatch(asked)
				require.NotNil(t, values, "%s.json, variable %s: %s", file, variable.Name, asked)
				all[file+".json, variable "+variable.Name] = []string{values[1]}
			}
		}
	}
	for _, block := range regexp.MustCompile("(?s)```promql\n(.+?)\n```").FindAllStringSubmatch(read(t, filepath.Join(root, "docs", "runbooks.md")), -1) {
		all["docs/runbooks.md"] = append(all["docs/runbooks.md"], block[1])
	}
	require.NotEmpty(t, all)
	return all
}

// metricsOf are the names of the metrics that an expression selects.
func metricsOf(t *testing.T, where, expression string) []string {
	t.Helper()
	// What Grafana puts in their place is a duration as well.
	expression = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h").Replace(expression)
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	require.NoError(t, err, "%s: %s", where, expression)
	names := map[string]bool{}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			for _, matcher := range selector.LabelMatchers {
				if matcher.Name == model.MetricNameLabel {
					names[matcher.Value] = true
				}
			}
		}
		return nil
	})
	require.NotEmpty(t, names, "%s: %s", where, expression)
	return slices.Sorted(maps.Keys(names))
}

func TestAnUnknownMetricIsFound(t *testing.T) {
	require.Equal(t, []string{"a_total", "b"}, metricsOf(t, "here", `sum by (x) (rate(a_total{y="z"}[$__rate_interval])) / on (x) b > 1`))
}
