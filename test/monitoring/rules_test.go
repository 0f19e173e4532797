package monitoring

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const runbooks = "https://github.com/kyma-project/lifecycle-manager/blob/main/docs/runbooks.md#"

// Whoever is woken needs to know how bad it is, what it is, and what to do.
func TestEveryAlertLeadsToItsRunbook(t *testing.T) {
	page := read(t, filepath.Join(root, "docs", "runbooks.md"))
	sections := map[string]string{}
	for _, section := range strings.Split(page, "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		sections[name] = text
	}
	seen := map[string]bool{}
	for _, each := range rules(t) {
		require.False(t, seen[each.Alert], "%s is there twice", each.Alert)
		seen[each.Alert] = true
		assert.Contains(t, []string{"critical", "warning"}, each.Labels["severity"], each.Alert)
		assert.NotEmpty(t, each.Annotations["summary"], each.Alert)
		assert.NotEmpty(t, each.Annotations["description"], each.Alert)
		assert.Equal(t, runbooks+strings.ToLower(each.Alert), each.Annotations["runbook_url"], each.Alert)
		text := sections[each.Alert]
		require.NotEmpty(t, text, "docs/runbooks.md has no section for %s", each.Alert)
		for _, part := range []string{"**You notice:**", "**Confirm:**", "**Causes, and what to do:**"} {
			assert.Contains(t, text, part, "docs/runbooks.md, %s", each.Alert)
		}
		assert.True(t, strings.HasPrefix(strings.TrimSpace(text), "**You notice:**"), "docs/runbooks.md, %s: begins with what is noticed", each.Alert)
	}
	for name := range sections {
		if regexp.MustCompile(`^LifecycleManager\w+$`).MatchString(name) {
			assert.True(t, seen[name], "docs/runbooks.md has a section for %s, which is no alert", name)
		}
	}
}

func TestPromtoolFindsNothingWrongWithTheAlerts(t *testing.T) {
	promtool(t, "check", "rules", "--lint=all", "--lint-fatal", alertsFile)
}
