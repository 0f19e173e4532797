package signals

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/kyma-project/lifecycle-manager/internal/platform/visibility"
	"github.com/kyma-project/lifecycle-manager/test/harness/temporaltest"
)

// presentRelease is the release of Temporal that a fleet has by default. It knows paused workflows and
// TemporalReportedProblems, as the oldest one does not.
const presentRelease = ">= 1.32.0"

// CI runs this on the present release of Temporal and on the oldest one (test/run).
func TestTheServerUnderstandsEachQueryOfTheProductAndItsDocumentation(t *testing.T) {
	t.Parallel()
	namespace, server := temporaltest.Namespace(t, "queries")
	isPresent := isPresent(t, server)
	list := func(query string) error {
		_, err := server.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, Query: query})
		return err
	}
	count := func(query string) error {
		_, err := server.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: query})
		return err
	}
	var refused *serviceerror.InvalidArgument
	for _, query := range visibility.All() {
		for _, ask := range []func(string) error{list, count} {
			if isPresent || query.Text == query.Earlier {
				require.NoError(t, ask(query.Text), query.Text)
				continue
			}
			require.ErrorAs(t, ask(query.Text), &refused, query.Text)
			if query.Earlier != "" {
				require.NoError(t, ask(query.Earlier), query.Earlier)
			}
		}
	}
	for query, page := range documented(t) {
		err := list(query)
		if !isPresent && (strings.Contains(query, "Paused") || strings.Contains(query, "TemporalReportedProblems")) {
			require.ErrorAs(t, err, &refused, "%s: %s", page, query)
			continue
		}
		require.NoError(t, err, "%s: %s", page, query)
	}
}

// isPresent reports whether the server is of the release that a fleet has by default.
func isPresent(t *testing.T, server client.Client) bool {
	t.Helper()
	info, err := server.WorkflowService().GetSystemInfo(t.Context(), &workflowservice.GetSystemInfoRequest{})
	require.NoError(t, err)
	version, err := semver.NewVersion(info.GetServerVersion())
	require.NoError(t, err)
	constraint, err := semver.NewConstraint(presentRelease)
	require.NoError(t, err)
	return constraint.Check(version)
}

// documented returns the queries in the pages of the documentation, with the page that each is on: what follows --query, and
// the filters for the web interface, which begin with an attribute at the begin of a line.
func documented(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	expressions := regexp.MustCompile(`(?m)--query '([^']+)'|^((?:WorkflowType|ExecutionStatus|KymaName|ModuleName) .*)$`)
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	more, err := filepath.Glob("../../docs/*/*.md")
	require.NoError(t, err)
	for _, page := range append(pages, more...) {
		content, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, match := range expressions.FindAllStringSubmatch(string(content), -1) {
			found[match[1]+match[2]] = page
		}
	}
	require.Greater(t, len(found), 5, "the expression still finds them")
	return found
}

// A query that is written elsewhere would not be tried on each release of Temporal.
func TestAllQueriesOfTheProductAreInOnePackage(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`ExecutionStatus|WorkflowType (=|IN)|WorkflowId (=|IN|STARTS_WITH)`)
	var found []string
	for _, folder := range []string{"activities", "cmd", "internal", "watchers", "worker", "workflows"} {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Base(filepath.Dir(path)) == "visibility" {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool {
				literal, ok := node.(*ast.BasicLit)
				if ok && literal.Kind == token.STRING && words.MatchString(literal.Value) {
					found = append(found, path+": "+literal.Value)
				}
				return true
			})
			return nil
		})
		require.NoError(t, err)
	}
	require.Empty(t, found, "move these queries to internal/platform/visibility")
}
