package e2e

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/harness/prometheus"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// A panel that is always empty and an alert that cannot be evaluated look like a fleet that is well. So every expression of
// the chart is run by a Prometheus that scrapes an instance with work to do, a cluster that cannot be reached, and a
// module that fails.
func TestDashboardsAndAlertsFindWhatTheyAskFor(t *testing.T) {
	metrics, folder := process.FreeAddress(t), t.TempDir()
	policy := filepath.Join(folder, "policy.json")
	require.NoError(t, os.WriteFile(policy, []byte(`{"rules": "none"}`), 0o600))
	const webhook, certificate = "e2e-monitored-webhook", "e2e-monitored-webhook-tls"
	s := harness.NewEnvironment(t, append(webhookFlags(t, webhook, certificate),
		"--metrics-bind-address", metrics, "--maintenance-policy-path", policy)...)
	removeWebhook(s, webhook, certificate)
	s.SweepOften() // what an edit in a remote cluster asks for is found by passes
	s.PushMinimal("fine")
	s.PushMinimal("lost")
	loseLayer(s, "lost-1.0.0")
	applyKind(s, "ModuleTemplate", s.Pack(harness.MinimalModule{Name: "always", Config: "mandatory: true"}))
	everywhere := &v1beta2.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "all", Namespace: harness.ControlPlaneNamespace}}
	require.NoError(t, s.ControlPlane.Create(t.Context(), everywhere))
	observed := prometheus.Start(t, metrics, alertsAtOnce(t, folder))
	s.Instance.Start()

	const nobody = "https://127.0.0.1:1"
	claims := jwt.RegisteredClaims{ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Hour))}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(harness.Planted))
	require.NoError(t, err)
	s.GiveAccess("cut", harness.Kubeconfig(t, nobody, nil, func(c *clientcmdapi.Config) { c.AuthInfos["u"].Token = token }))
	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewSynced("cut", "fine")))
	names := []string{"first", "second"}
	for _, name := range names { // one after the other, so that the second finds in the cache what the first has fetched
		admin, err := os.ReadFile(s.Remote.Kubeconfig) // with a client certificate, which says when it expires
		require.NoError(t, err)
		s.GiveAccess(name, admin)
		kyma := harness.NewSynced(name, "fine", "lost")
		kyma.Spec.Sync.ModuleCatalog = nil
		require.NoError(t, s.ControlPlane.Create(t.Context(), kyma))
		s.Eventually("one module of "+name+" is installed, and the other fails", 2*time.Minute, func(c *assert.CollectT) {
			modules := harness.ModulesByName(s.Kyma(name).Status.Modules)
			assert.Equal(c, shared.StateReady, modules["fine"].State, modules["fine"].Message)
			assert.Equal(c, shared.StateError, modules["lost"].State, modules["lost"].Message)
		})
	}
	// A counter that has just begun has not grown yet.
	s.PushMinimal("more")
	for _, name := range names {
		s.EditRemoteKyma(keyed(client.ObjectKey{Namespace: name, Name: name}), func(k *v1beta2.Kyma) {
			k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "more"})
		})
		s.ReadyAmongOthers(name, "more", "1.0.0")
	}

	t.Run("every panel shows something", func(t *testing.T) {
		dashboards := panelsOfTheChart(t)
		assert.EventuallyWithT(t, func(c *assert.CollectT) {
			for dashboard, panels := range dashboards {
				for panel, expressions := range panels {
					for _, expression := range expressions {
						assert.NotEmpty(c, numbers(t, c, observed, expression), "%s, %s: %s", dashboard, panel, expression)
					}
				}
			}
		}, 2*time.Minute, time.Second)
	})
	t.Run("every alert is evaluated, and those fire whose cause is there", func(t *testing.T) {
		s.Eventually("they fire", 3*time.Minute, func(c *assert.CollectT) {
			found, err := observed.Rules(t.Context(), nil)
			require.NoError(c, err)
			evaluated := map[string]v1.AlertingRule{}
			for _, group := range found.Groups {
				for _, each := range group.Rules {
					rule, ok := each.(v1.AlertingRule)
					require.True(c, ok)
					assert.EqualValues(c, "ok", rule.Health, "%s: %s", rule.Name, rule.LastError)
					evaluated[rule.Name] = rule
				}
			}
			assert.Greater(c, len(evaluated), 15)
			for name, says := range map[string]string{
				"LifecycleManagerClustersUnreachable":         "33.33% of the clusters cannot be reached",
				"LifecycleManagerModuleVersionFails":          "lost 1.0.0 fails in 100% of its clusters",
				"LifecycleManagerMaintenancePolicyUnreadable": "The maintenance policy cannot be read",
				"LifecycleManagerCredentialsExpire":           "Credentials of 1 clusters expire soon",
			} {
				if assert.Equal(c, "firing", evaluated[name].State, name) {
					assert.EqualValues(c, says, evaluated[name].Alerts[0].Annotations["summary"])
				}
			}
			for _, name := range []string{
				"LifecycleManagerNoMetrics", "LifecycleManagerTemporalUnreachable", "LifecycleManagerQueueNotPolled", "LifecycleManagerNoLeader",
				"LifecycleManagerNothingMoves", "LifecycleManagerSettingsDisagree", "LifecycleManagerNonDeterminism", "LifecycleManagerEntityStuck",
				"LifecycleManagerMostClustersUnreachable", "LifecycleManagerCatalogRemovalHeld", "LifecycleManagerRemovalsHeld", "LifecycleManagerManifestNotPlanned", "LifecycleManagerRolloutStopped", "LifecycleManagerRequestsHeldBack",
				"LifecycleManagerCertificateExpires",
			} {
				assert.Equal(c, "inactive", evaluated[name].State, name)
			}
		})
	})
	t.Run("every alert asks for series that are there, with the labels that it names", func(t *testing.T) {
		alertsHaveTheirSeries(s, observed, func(group string) bool { return group != alertsOfEvents })
	})
	t.Run("promtool finds nothing wrong with the names of metrics", func(t *testing.T) {
		program := os.Getenv("PROMTOOL")
		require.NotEmpty(t, program, "PROMTOOL is not set: test/run says where it is")
		check := exec.CommandContext(t.Context(), program, "check", "metrics")
		check.Stdin = strings.NewReader(string(expositionOf(t, metrics)))
		out, _ := check.CombinedOutput() // it fails where it finds something, of others' metrics too
		for line := range strings.Lines(string(out)) {
			name, problem, found := strings.Cut(line, " ")
			require.True(t, found && strings.Contains(name, "_"), "promtool says: %s", out)
			foreign := slices.ContainsFunc(notOurs, func(start string) bool { return strings.HasPrefix(name, start) })
			assert.True(t, foreign, "%s: %s", name, problem)
		}
	})
	s.GiveAccess("cut", s.RemoteAccess(t)) // so that its Kyma can be cleaned up
}

// onlyOfFailures are metrics without a series before what they count has happened, which it does not in this test. Those
// alerts have their scenarios in test/monitoring.
var onlyOfFailures = []string{
	"lifecycle_mgr_workflow_task_failures_total", "lifecycle_mgr_removals_held", "lifecycle_mgr_self_signed_cert_not_renew",
}

// alertsOfEvents are a group, whose metrics are there where an instance takes events of remote clusters: newWatched has one.
const alertsOfEvents = "lifecycle-manager.events"

// alertsHaveTheirSeries waits until Prometheus has series of each metric that the alerts of these groups ask for, with the
// labels that they name.
func alertsHaveTheirSeries(s *harness.Environment, observed prometheus.Server, isAsked func(group string) bool) {
	s.T.Helper()
	s.Eventually("alerts have their series", time.Minute, func(c *assert.CollectT) {
		found, err := observed.Rules(s.T.Context(), nil)
		require.NoError(c, err)
		asked := 0
		for _, group := range found.Groups {
			if !isAsked(group.Name) {
				continue
			}
			asked++
			for _, each := range group.Rules {
				rule, ok := each.(v1.AlertingRule)
				require.True(c, ok)
				for _, selector := range observed.Selectors(s.T, rule.Query) {
					if slices.Contains(onlyOfFailures, selector.Metric) {
						continue
					}
					// There is no pod, whose namespace would have that of an object renamed.
					selector.Labels = slices.DeleteFunc(selector.Labels, func(label string) bool { return strings.HasSuffix(label, "namespace") })
					assert.NotEmpty(c, numbers(s.T, c, observed, selector.Series()), "%s: %s", rule.Name, selector.Series())
				}
			}
		}
		assert.Positive(c, asked, "no group is asked for")
	})
}

// loseLayer has a ModuleTemplate name a layer that is nowhere.
func loseLayer(s *harness.Environment, template string) {
	s.T.Helper()
	changeDescriptor(s, template, func(descriptor string) string {
		at := strings.Index(descriptor, "sha256:")
		require.Positive(s.T, at)
		return descriptor[:at] + "sha256:" + strings.Repeat("0", 64) + descriptor[at+len("sha256:")+64:]
	})
}

// alertsAtOnce writes the alerts of the chart so that they fire as soon as they are true, and returns the path.
func alertsAtOnce(t testing.TB, folder string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(filesOfChart(t), "alerts.yaml"))
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Name  string           `json:"name"`
			Rules []map[string]any `json:"rules"`
		} `json:"groups"`
	}
	require.NoError(t, yaml.Unmarshal(content, &file))
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			delete(rule, "for")
		}
	}
	shortened, err := yaml.Marshal(file)
	require.NoError(t, err)
	path := filepath.Join(folder, "alerts.yaml")
	require.NoError(t, os.WriteFile(path, shortened, 0o600))
	return path
}

func filesOfChart(t testing.TB) string {
	t.Helper()
	return filepath.Join(testfleet.Root(t), "deploy", "helm", "lifecycle-manager", "files")
}

// panelsOfTheChart are the expressions of the chart's dashboards, by dashboard and panel, with values for their variables.
func panelsOfTheChart(t *testing.T) map[string]map[string][]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(filesOfChart(t), "dashboards", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	values := strings.NewReplacer("$job", prometheus.Job, "$kyma", "first", "$__rate_interval", "5m")
	all := map[string]map[string][]string{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		var dashboard struct {
			Title  string
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		require.NoError(t, json.Unmarshal(content, &dashboard))
		panels := map[string][]string{}
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				panels[panel.Title] = append(panels[panel.Title], values.Replace(target.Expr))
			}
		}
		require.NotEmpty(t, panels, path)
		all[dashboard.Title] = panels
	}
	return all
}

// numbers are the samples of an expression that are numbers: a quantile of nothing is none.
func numbers(t testing.TB, c *assert.CollectT, observed v1.API, expression string) model.Vector {
	t.Helper()
	value, _, err := observed.Query(t.Context(), expression, time.Now())
	require.NoError(c, err)
	vector, ok := value.(model.Vector)
	require.True(c, ok, "it is a %T", value)
	return slices.DeleteFunc(vector, func(sample *model.Sample) bool { return math.IsNaN(float64(sample.Value)) })
}
