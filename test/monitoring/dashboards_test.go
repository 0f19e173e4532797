package monitoring

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A dashboard of the chart works with whatever name Grafana's data source has, and beside other dashboards.
func TestDashboardsCanBeImportedIntoAnyGrafana(t *testing.T) {
	titles, uids := map[string]bool{}, map[string]bool{}
	for file, d := range dashboards(t) {
		require.False(t, titles[d.Title] || uids[d.UID], file)
		titles[d.Title], uids[d.UID] = true, true
		assert.Equal(t, "lifecycle-manager-"+file, d.UID, file)
		assert.GreaterOrEqual(t, d.SchemaVersion, 36, file)
		require.NotEmpty(t, d.Templating.List, file)
		assert.Equal(t, "datasource", d.Templating.List[0].Type, "%s: the first variable chooses the data source", file)
		ids := map[int]bool{}
		for i, each := range d.Panels {
			assert.False(t, ids[each.ID], "%s, %s: its id is another panel's", file, each.Title)
			ids[each.ID] = true
			assert.LessOrEqual(t, each.GridPos.X+each.GridPos.W, 24, "%s, %s", file, each.Title)
			for _, other := range d.Panels[:i] {
				a, b := each.GridPos, other.GridPos
				apart := a.X+a.W <= b.X || b.X+b.W <= a.X || a.Y+a.H <= b.Y || b.Y+b.H <= a.Y
				assert.True(t, apart, "%s: %s and %s overlap", file, each.Title, other.Title)
			}
			if each.Type == "row" {
				continue
			}
			assert.Equal(t, "${datasource}", each.Datasource.UID, "%s, %s", file, each.Title)
			assert.NotEmpty(t, each.Description, "%s, %s: says what it shows", file, each.Title)
			require.NotEmpty(t, each.Targets, "%s, %s", file, each.Title)
			for _, target := range each.Targets {
				assert.Contains(t, target.Expr, `job=~"$job"`, "%s, %s: of one instance", file, each.Title)
			}
		}
	}
}

// What has a series per cluster is switched off in large fleets, whose dashboards must not be empty for that.
func TestOnlyTheDashboardOfOneClusterNeedsSeriesPerCluster(t *testing.T) {
	const credentials = "lifecycle_mgr_cluster_credentials_not_after_timestamp_seconds"
	perCluster := []string{"lifecycle_mgr_kyma_state", "lifecycle_mgr_module_state", "lifecycle_mgr_mandatory_module_state", "reconcile_duration_seconds", credentials}
	for where, expressions := range everyExpression(t) {
		if strings.HasPrefix(where, "cluster.json") {
			continue
		}
		for _, expression := range expressions {
			for _, metric := range metricsOf(t, where, expression) {
				if where == "docs/runbooks.md" && metric == credentials {
					continue // the text beside it says what it needs
				}
				assert.NotContains(t, perCluster, metric, where)
			}
		}
	}
}
