package metrics

import (
	"crypto/x509"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"
)

// exported is a registry that keeps the labels and the help of each metric.
type exported map[string]metric

type metric struct {
	labels sets.Set[string]
	help   string
}

func (e exported) Register(collector prometheus.Collector) error {
	described := make(chan *prometheus.Desc)
	go func() {
		defer close(described)
		collector.Describe(described)
	}()
	for each := range described {
		e.add(each)
	}
	return nil
}

func (e exported) MustRegister(...prometheus.Collector) {}
func (e exported) Unregister(prometheus.Collector) bool { return false }

// add parses name, help and labels from the text of a description, which shows nothing else.
func (e exported) add(described *prometheus.Desc) {
	found := regexp.MustCompile(`fqName: "([^"]+)", help: "(.*)", constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}`).FindStringSubmatch(described.String())
	labels := sets.New[string]()
	for _, label := range strings.Split(found[3]+","+found[4], ",") {
		name, _, _ := strings.Cut(label, "=")
		labels.Insert(strings.TrimSpace(name))
	}
	e[found[1]] = metric{labels, found[2]}
}

// all returns the labels of every metric of ours by its name.
func all(t *testing.T) exported {
	t.Helper()
	e := exported{}
	for _, err := range []error{
		second(NewArtifacts(e)), second(NewKicks(e)), second(NewDrift(e)), second(NewRefused(e)), second(NewPurges(e)), second(NewTaskFailures(e)), second(NewLink(e)),
		second(NewSettingsAgree(e)), second(NewWork(e, true)), second(NewEvents(e, nil, func() int { return 0 })),
		RegisterBuild(e, "", "", ""), RegisterPolicyRead(e, func() bool { return true }), RegisterCertificates(e, map[string]func() *x509.Certificate{}),
	} {
		require.NoError(t, err)
	}
	for _, family := range []*Family{KymaStates(), ModuleStates(), MandatoryModuleStates()} {
		require.NoError(t, e.Register(family))
	}
	for _, described := range []*prometheus.Desc{
		MandatoryModules(), RolloutPhase(), RolloutClusters(), RemovalsHeld(), Clusters(), ModuleVersionManifests(), OldestUnsettled(), Unsettled(),
		OpenWorkflows(), HeldWorkflows(), SweepLag(), SweepInterval(), CertificatesNotRenewed(), ListenerCertificateCloseToExpiry(), ClusterCredentials(), ClusterCredentialsEnd(),
	} {
		e.add(described)
	}
	return e
}

func second[T any](_ T, err error) error { return err }

// Scripts read the number after a metric's name as its value. A help text that begins with a number would be mistaken
// for it.
func TestTheHelpOfEveryMetricBeginsWithALetter(t *testing.T) {
	for name, metric := range all(t) {
		require.Regexp(t, `^[A-Za-z]`, metric.help, name)
	}
}

// A panel that asks for a label that no metric has shows the same as a healthy fleet: nothing, or the 0 of `or
// vector(0)`. An alert never fires.
func TestExpressionsOfTheChartUseExistingLabels(t *testing.T) {
	known, asked := all(t), 0
	for where, expressions := range expressionsOfTheChart(t) {
		for _, expression := range expressions {
			unknown, metrics := unknownLabels(known, expression)
			require.Empty(t, unknown, "%s: %s", where, expression)
			asked += metrics
		}
	}
	require.NotZero(t, asked)
}

func TestAnUnknownLabelIsFound(t *testing.T) {
	known := all(t)
	for expression, expected := range map[string][]string{
		`sum(lifecycle_mgr_module_version_manifests{job=~"$job", status="Error"}) or vector(0)`:                   {"status"},
		`sum by (cause, job) (rate(lifecycle_mgr_workflow_task_failures_total{job="a"}[5m])) or vector(0)`:        nil,
		`sum by (reason) (rate(lifecycle_mgr_workflow_task_failures_total[5m])) or vector(0)`:                     {"reason"},
		`histogram_quantile(0.9, sum by (le) (rate(lifecycle_mgr_events_delay_seconds_bucket{job=~"$job"}[5m])))`: nil,
		`lifecycle_mgr_nothing`: {"lifecycle_mgr_nothing"},
	} {
		unknown, _ := unknownLabels(known, expression)
		require.Equal(t, expected, unknown, expression)
	}
}

// unknownLabels returns the labels of an expression that its metrics do not have, and the metrics of ours that do not
// exist. It also counts the metrics.
func unknownLabels(known exported, expression string) (unknown []string, metrics int) {
	// Every series gets these labels from the scrape, or from its buckets.
	anywhere := sets.New("job", "instance", "pod", "namespace", "exported_namespace", "le")
	grouped, foreign := sets.New[string](), regexp.MustCompile(`\b(temporal|rest_client|workqueue|controller_runtime|go|process|reconcile|leader_election)_\w+`).MatchString(expression)
	for _, each := range regexp.MustCompile(`(lifecycle_mgr_\w+)(?:\{([^}]*)\})?`).FindAllStringSubmatch(expression, -1) {
		name := each[1]
		metric, exists := known[name]
		if !exists {
			name = regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
			metric, exists = known[name]
		}
		if !exists {
			unknown = append(unknown, name)
			continue
		}
		metrics++
		grouped = grouped.Union(metric.labels)
		for _, matcher := range regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`).FindAllStringSubmatch(each[2], -1) {
			if !metric.labels.Has(matcher[1]) && !anywhere.Has(matcher[1]) {
				unknown = append(unknown, matcher[1])
			}
		}
	}
	if metrics == 0 || foreign {
		return unknown, metrics
	}
	for _, by := range regexp.MustCompile(`\b(?:by|on)\s*\(([^)]*)\)`).FindAllStringSubmatch(expression, -1) {
		for _, label := range strings.Split(by[1], ",") {
			if label = strings.TrimSpace(label); label != "" && !grouped.Has(label) && !anywhere.Has(label) {
				unknown = append(unknown, label)
			}
		}
	}
	return unknown, metrics
}

// expressionsOfTheChart returns the expressions of alerts and panels by their place.
func expressionsOfTheChart(t *testing.T) map[string][]string {
	t.Helper()
	files := filepath.Join("..", "..", "..", "deploy", "helm", "lifecycle-manager", "files")
	found := map[string][]string{}
	content, err := os.ReadFile(filepath.Join(files, "alerts.yaml"))
	require.NoError(t, err)
	var alerts struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal(content, &alerts))
	for _, group := range alerts.Groups {
		for _, rule := range group.Rules {
			found[rule.Alert] = append(found[rule.Alert], rule.Expr)
		}
	}
	dashboards, err := filepath.Glob(filepath.Join(files, "dashboards", "*.json"))
	require.NoError(t, err)
	for _, path := range dashboards {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		var dashboard struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		require.NoError(t, json.Unmarshal(content, &dashboard))
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				where := filepath.Base(path) + ", " + panel.Title
				found[where] = append(found[where], target.Expr)
			}
		}
	}
	return found
}
