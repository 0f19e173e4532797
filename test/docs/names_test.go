package docs

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// pages are those at the root, and all below docs and examples but the generated one, by their paths in the repository.
func pages(t *testing.T) map[string]string {
	t.Helper()
	root := testfleet.Root(t)
	var paths []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*.md", "test/*/README.md"} {
		matching, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		paths = append(paths, matching...)
	}
	found := map[string]string{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		if name != "docs/api-reference.md" {
			found[name] = string(content)
		}
	}
	require.NotEmpty(t, found)
	return found
}

// code is all Go code below folders of the repository, without tests and without what is generated, some of it from the
// pages.
func code(t *testing.T, folders ...string) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range folders {
		require.NoError(t, filepath.WalkDir(filepath.Join(testfleet.Root(t), folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(entry.Name(), "zz_") {
				return err
			}
			content, err := os.ReadFile(path)
			all.Write(content)
			return err
		}))
	}
	return all.String()
}

func TestThePagesNameOnlyFlagsThatThereAre(t *testing.T) {
	known := map[string]bool{
		"help": true, "version": true, // every command has them
		"server-side": true, "from-file": true, "type": true, "cascade": true, "clusterrole": true, "serviceaccount": true, "force-conflicts": true, "replicas": true, "dry-run": true, // kubectl
		"grace-period": true, "force": true, "ignore-daemonsets": true, "delete-emptydir-data": true, "verbs": true, "ignore-not-found": true,
		"bump-revision": true, "mark-compacted": true, "data-dir": true, "initial-cluster": true, "initial-advertise-peer-urls": true, // etcdutl
		"workflow-id": true, "name": true, "query": true, "retention": true, "input": true, // temporal
		"install": true, "create-namespace": true, "wait": true, "set": true, "reuse-values": true, // helm
		"name-status": true, "diff-filter": true, // git
	}
	defined := regexp.MustCompile(`(?:Var|VarP|String|Bool|Int|Duration|StringP|BoolP)\((?:&[^,]+, )?"([a-z][a-z0-9-]+)"|FlagS?\s*=\s*"([a-z][a-z0-9-]+)"`)
	for _, match := range defined.FindAllStringSubmatch(code(t, "cmd", "test"), -1) {
		known[match[1]+match[2]] = true
	}
	upstream, err := os.ReadFile(filepath.Join(testfleet.Root(t), "cmd", "internal", "settings", "upstream.go"))
	require.NoError(t, err)
	for _, match := range regexp.MustCompile(`"([a-z][a-z0-9-]+)"`).FindAllSubmatch(upstream, -1) {
		known[string(match[1])] = true
	}
	require.NotEmpty(t, known)
	for page, text := range pages(t) {
		for _, match := range regexp.MustCompile(`(?m)(?:^|[\s`+"`"+`(=])--([a-z][a-z0-9-]+)`).FindAllStringSubmatch(text, -1) {
			require.True(t, known[match[1]], "%s names --%s, which no command has", page, match[1])
		}
	}
}

func TestThePagesNameTheMetricsThatThereAre(t *testing.T) {
	name := regexp.MustCompile(`\blifecycle_mgr_[a-z_]+`)
	there := map[string]bool{}
	for _, metric := range name.FindAllString(code(t, "activities", "internal", "watchers", "worker", "workflows", "cmd"), -1) {
		there[metric] = true
	}
	require.NotEmpty(t, there)
	for page, text := range pages(t) {
		for _, metric := range name.FindAllString(text, -1) {
			require.True(t, there[metric], "%s names the metric %s, which nothing exports", page, metric)
		}
	}
	_, table, found := strings.Cut(pages(t)["docs/operating.md"], "\n## Metrics\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	for metric := range there {
		require.Contains(t, table, "`"+metric+"`", "docs/operating.md does not say what the metric is")
	}
}

// A table that lists packages is wrong as soon as somebody adds one.
func TestThePageAboutContributingNamesRoomsAndTests(t *testing.T) {
	page := pages(t)["docs/contributing.md"]
	for _, folder := range []string{"internal", "test"} {
		entries, err := os.ReadDir(filepath.Join(testfleet.Root(t), folder))
		require.NoError(t, err)
		for _, entry := range entries {
			code, err := filepath.Glob(filepath.Join(testfleet.Root(t), folder, entry.Name(), "*.go"))
			require.NoError(t, err)
			if len(code) > 0 || folder == "internal" {
				require.Regexp(t, "(?m)^\\| `"+entry.Name()+"` \\|", page, "it does not say what is in %s/%s", folder, entry.Name())
			}
		}
	}
}

// elsewhere are fields that pages name of kinds that are not ours.
func elsewhere() map[string]bool {
	return map[string]bool{
		"status.state": true, "status.storedVersions": true,
	}
}

func TestThePagesNameOnlyFieldsThatThereAre(t *testing.T) {
	fields := map[string]bool{}
	paths, err := filepath.Glob(filepath.Join(testfleet.Root(t), "deploy", "crds", "*.yaml"))
	require.NoError(t, err)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		var definition apiextensionsv1.CustomResourceDefinition
		require.NoError(t, yaml.Unmarshal(content, &definition))
		for _, version := range definition.Spec.Versions {
			collect(fields, "", version.Schema.OpenAPIV3Schema)
		}
	}
	require.NotEmpty(t, fields)
	for page, text := range pages(t) {
		for _, match := range regexp.MustCompile("`\\.?((?:spec|status)\\.[A-Za-z][A-Za-z0-9.\\[\\]]*)(?:: [^`]*)?`").FindAllStringSubmatch(text, -1) {
			field := strings.ReplaceAll(match[1], "[]", "")
			require.True(t, fields[field] || elsewhere()[field], "%s names the field %s, which no kind of ours has", page, match[1])
		}
	}
}

// collect adds the paths of all fields below a schema.
func collect(fields map[string]bool, path string, of *apiextensionsv1.JSONSchemaProps) {
	if of.Items != nil && of.Items.Schema != nil {
		collect(fields, path, of.Items.Schema)
	}
	for name, property := range of.Properties {
		below := strings.TrimPrefix(path+"."+name, ".")
		fields[below] = true
		collect(fields, below, &property)
	}
}

func TestEveryPageIsReachedAndEveryLinkLeadsSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	all := pages(t)
	linked := map[string]bool{"README.md": true}
	for _, page := range slices.Sorted(maps.Keys(all)) {
		for _, match := range link.FindAllStringSubmatch(all[page], -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
			}
			content, err := os.ReadFile(filepath.Join(testfleet.Root(t), path))
			if err != nil {
				_, err = os.Stat(filepath.Join(testfleet.Root(t), path))
			}
			require.NoError(t, err, "%s links to %s", page, match[1])
			if path != page {
				linked[path] = true
			}
			if anchor != "" {
				require.Contains(t, anchors(string(content)), anchor, "%s links to %s", page, match[1])
			}
		}
	}
	for page := range all {
		require.True(t, linked[page], "no page links to %s", page)
	}
}

// anchors are those that a page's headings have on the web.
func anchors(page string) []string {
	var found []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		plain := regexp.MustCompile("[^a-z0-9 -]").ReplaceAllString(strings.ToLower(heading[1]), "")
		found = append(found, strings.ReplaceAll(plain, " ", "-"))
	}
	return found
}
