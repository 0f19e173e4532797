package lint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/cmd/module/lint"
)

const chartConfig = `
name: kyma-project.io/module/widget
moduleName: widget
version: 1.0.0
chart: chart
values: values.yaml
manager: {group: apps, version: v1, kind: Deployment, name: widget}
`

func goodChart() files {
	return files{
		"module-config.yaml": chartConfig,
		"values.yaml":        "image: {tag: v1}\n",
		"chart/Chart.yaml":   "apiVersion: v2\nname: upstream\nversion: 0.0.0\nkubeVersion: '>= 1.30.0-0'\n",
		"chart/values.yaml":  "image: {tag: ''}\n",
		"chart/crds/a.yaml":  goodDefinition,
		"chart/templates/deployment.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: "a:{{ required "a tag is needed" .Values.image.tag }}"}]}}
`,
		"chart/templates/NOTES.txt":    "not: [yaml",
		"chart/templates/_helpers.tpl": "{{ define \"x\" }}not: [yaml{{ end }}",
	}
}

func TestAGoodChartHasNoFindings(t *testing.T) {
	lines, err := check(t, goodChart())
	require.NoError(t, err)
	require.Empty(t, lines)
}

func TestCommentsMayDifferBetweenRenderings(t *testing.T) {
	lines, err := check(t, goodChart().with("chart/templates/comment.yaml", "# {{ uuidv4 }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: kyma-system}\n"))
	require.NoError(t, err)
	require.Empty(t, lines)
}

func TestHooksThatNeverRunCauseWarnings(t *testing.T) {
	const never = "is a hook that never runs"
	for hook, want := range map[string]string{
		"pre-delete":              "warning: chart/templates/job.yaml: document 1 (Job kyma-system/a): " + never + " (pre-delete)",
		"post-rollback,pre-delet": never + " (post-rollback,pre-delet)",
		"pre-install,pre-upgrad":  never + " (pre-install,pre-upgrad)",
		"Pre-Install, pre-delete": "",
		"post-upgrade":            "",
		"test":                    "",
		"test-success,pre-delete": "",
	} {
		t.Run(hook, func(t *testing.T) {
			lines, err := check(t, goodChart().with("chart/templates/job.yaml",
				"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: kyma-system, annotations: {helm.sh/hook: '"+hook+"'}}\n"))
			require.NoError(t, err, "a warning is not an error")
			if want == "" {
				require.Empty(t, lines)
			} else {
				require.Contains(t, strings.Join(lines, "\n"), want)
			}
		})
	}
}

func TestChartsThatHelmAcceptsHaveNoErrors(t *testing.T) {
	const hook = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: kyma-system, annotations: {helm.sh/hook: %}}\n"
	named := func(event string) string { return strings.ReplaceAll(hook, "%", event) }
	lines, err := check(t, goodChart().
		with("chart/templates/_cm.tpl", "{{ define \"cm\" }}apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ . }}, namespace: kyma-system}{{ end }}").
		with("chart/templates/glued.yaml", "---\n{{- include \"cm\" \"one\" }}\n---\n{{- include \"cm\" \"two\" }}\n").
		with("chart/templates/hooks.yaml", named("pre-install")+"---\n"+named("post-install")+"---\n"+strings.Replace(named("test"), "}}", "}}\nspec: {nothing: a Job has}", 1)).
		with("chart/templates/role.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a, namespace: {{ .Release.Namespace }}}\n").
		with("values.yaml", "image: {tag: v0}\nimage: {tag: v1}\n"))
	require.NoError(t, err, lines)
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], "warning: values.yaml: duplicate key, the last one counts")
	require.Contains(t, lines[1], "warning: chart/templates/role.yaml: document 1 (ClusterRole kyma-system/a): is cluster-scoped: its namespace is dropped")
}

func TestTheObjectsOfAChartAreCounted(t *testing.T) {
	_, report := lint.Check(goodChart().write(t), lint.Options{KubeVersion: "v1.36.1"})
	require.Equal(t, 2, report.Objects)
}

func TestFindingsInCharts(t *testing.T) {
	for name, test := range map[string]struct {
		files files
		want  string
	}{
		"a template that does not render": {
			goodChart().with("values.yaml", "{}\n"),
			"error: chart: does not render",
		},
		"values that are not a map": {
			goodChart().with("values.yaml", "- a\n"),
			"values.yaml",
		},
		"values that the chart's schema refuses": {
			goodChart().with("chart/values.schema.json", `{"properties": {"image": {"properties": {"tag": {"type": "number"}}}}}`),
			"error: chart: values:",
		},
		"a schema that refers to another host": {
			goodChart().with("chart/values.schema.json", `{"$ref": "http://169.254.169.254/latest/meta-data"}`),
			"error: chart: values: values.schema.json of chart upstream: the schema refers to http://169.254.169.254/latest/meta-data, which is not fetched",
		},
		"a schema that refers to a file": {
			goodChart().with("chart/values.schema.json", `{"$ref": "file:///etc/hostname"}`),
			"which is not fetched",
		},
		"a folder without Chart.yaml": {
			goodChart().without("chart/Chart.yaml"),
			"Chart.yaml file is missing",
		},
		"a library chart": {
			goodChart().with("chart/Chart.yaml", "apiVersion: v2\nname: upstream\nversion: 0.0.0\ntype: library\n"),
			"error: chart: Chart.yaml: is a library chart",
		},
		"a dependency that is not in charts/": {
			goodChart().with("chart/Chart.yaml", "apiVersion: v2\nname: upstream\nversion: 0.0.0\ndependencies: [{name: base, version: 1.0.0, repository: 'https://example.com'}]\n"),
			"error: chart: Chart.yaml: dependencies are missing in charts/: base; run `helm dependency build` first",
		},
		"a chart for another Kubernetes": {
			goodChart().with("chart/Chart.yaml", "apiVersion: v2\nname: upstream\nversion: 0.0.0\nkubeVersion: '< 1.30.0'\n"),
			"error: chart: Chart.yaml: requires Kubernetes < 1.30.0",
		},
		"a rendered document that is not YAML": {
			goodChart().with("chart/templates/bad.yaml", "a: [1\n"),
			"error: chart/templates/bad.yaml: document 1: is not YAML",
		},
		"a random password": {
			goodChart().with("chart/templates/secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: admin, namespace: kyma-system}\nstringData: {password: '{{ randAlphaNum 24 }}'}\n"),
			"error: chart/templates/secret.yaml: document 1 (Secret kyma-system/admin): differs each time that the chart is rendered",
		},
		"a hook with a random name": {
			goodChart().with("chart/templates/job.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: 'a-{{ uuidv4 }}', namespace: kyma-system, annotations: {helm.sh/hook: pre-install}}\n"),
			"differs each time that the chart is rendered",
		},
		"a rendered object that is also in crds/": {
			goodChart().with("chart/templates/again.yaml", goodDefinition),
			"error: chart/templates/again.yaml: document 1 (CustomResourceDefinition widgets.example.com): occurs twice; the first is in",
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines, err := check(t, test.files)
			require.Contains(t, strings.Join(lines, "\n"), test.want)
			require.ErrorIs(t, err, lint.ErrFindings)
		})
	}
}
