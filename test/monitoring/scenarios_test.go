package monitoring

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// scenario is an instance with two processes, a sample a minute, in which some series are not as in a
// healthy one.
type scenario struct {
	name string
	// series are those that differ, by what follows the labels of the process in promtool's notation; empty: there is none.
	series map[string]string
	// silentAt is when no alert fires yet, and firingAt when these do.
	silentAt, firingAt string
	firing             []string
}

// The processes of an instance, as scrapes label them.
const (
	leader  = `namespace="lm",job="lm-metrics",pod="a"`
	another = `namespace="lm",job="lm-metrics",pod="b"`
)

// of writes a series of a process.
func of(process, metric string, labels ...string) string {
	return metric + "{" + strings.Join(append([]string{process}, labels...), ",") + "}"
}

const (
	activities      = "temporal_activity_execution_latency_seconds_count"
	localActivities = "temporal_local_activity_execution_latency_seconds_count"
	backlogAge      = "lifecycle_mgr_task_queue_backlog_age_seconds"
	closeToExpiry   = "lifecycle_mgr_gateway_secret_server_cert_close_to_expiry"
	clusters        = "lifecycle_mgr_clusters"
	credentials     = "lifecycle_mgr_cluster_credentials"
	eventsLost      = "lifecycle_mgr_events_lost_total"
	held            = "lifecycle_mgr_held_workflows"
	fetches         = "lifecycle_mgr_registry_requests_total"
	kicks           = "lifecycle_mgr_kicks_total"
	manifests       = "lifecycle_mgr_module_version_manifests"
	notAfter        = "lifecycle_mgr_certificate_not_after_timestamp_seconds"
	notBefore       = "lifecycle_mgr_certificate_not_before_timestamp_seconds"
	notRenewed      = "lifecycle_mgr_self_signed_cert_not_renew"
	oldest          = "lifecycle_mgr_oldest_unsettled_seconds"
	pollers         = "lifecycle_mgr_task_queue_pollers"
	requests        = "rest_client_requests_total"
	settingsAgree   = "lifecycle_mgr_settings_agree"
	slots           = "temporal_worker_task_slots_available"
	sweepInterval   = "lifecycle_mgr_sweep_interval_seconds"
	sweepLag        = "lifecycle_mgr_sweep_lag_seconds"
	taskFailures    = "lifecycle_mgr_workflow_task_failures_total"
	temporalUp      = "lifecycle_mgr_temporal_up"
	waited          = "rest_client_rate_limiter_duration_seconds_bucket"

	remoteQueue = `task_queue="lifecycle-manager-remote"`
	activity    = `kind="activity"`
	ofManifest  = `kind="Manifest"`
	ofKymaType  = `type="KymaWorkflow"`
	ofSlots     = `worker_type="ActivityWorker"`
	ofWebhook   = `certificate="webhook"`
	ofKeda      = `module="keda",version="1.0.0"`
	rolledOut   = `channel="regular",exported_namespace="kcp-system",module="keda",name="keda-regular-1.1.0",version="1.1.0"`
)

// healthy are the series of an instance in which nothing is wrong.
func healthy() map[string]string {
	series := map[string]string{
		of(leader, closeToExpiry): "0x240", of(leader, eventsLost): "0x240", of(another, eventsLost): "0x240",
		of(leader, kicks, `reason="kyma"`): "0+5x240", of(leader, activities, `activity_type="ApplyManifest"`): "0+5x240",
		of(leader, localActivities, `activity_type="ResolveKyma"`): "0+5x240",
		of(leader, oldest, `kind="Kyma"`):                          "0x240", of(leader, oldest, ofManifest): "120x240",
		of(leader, clusters, `reason="Reachable"`): "99x240", of(leader, clusters, `reason="UnreachableTimeout"`): "1x240",
		of(leader, manifests, ofKeda, `state="Ready"`): "99x240", of(leader, manifests, ofKeda, `state="Error"`): "1x240",
		of(leader, held, ofKymaType, `reason="Paused"`): "0x240", of(leader, held, ofKymaType, `reason="ReportedProblems"`): "0x240",
		of(leader, sweepInterval): "300x240", of(leader, sweepLag): "280x240",
		of(leader, "lifecycle_mgr_maintenance_window_config_read_success"): "1x240",
		of(leader, requests, `host="remote"`, `code="200"`):                "0+100x240",
		of(leader, fetches, `result="ok"`):                                 "0+1x240",
	}
	for _, process := range []string{leader, another} {
		series[of(process, temporalUp)] = "1x240"
		series[of(process, settingsAgree)] = "1x240"
		series[of(process, notBefore, ofWebhook)] = "0x240"
		series[of(process, notAfter, ofWebhook)] = "31536000x240"
		series[of(process, credentials, `expiry="Later"`)] = "50x240"
		series[of(process, credentials, `expiry="Soon"`)] = "0x240"
		series[of(process, credentials, `expiry="Expired"`)] = "0x240"
		series[of(process, pollers, remoteQueue, activity)] = "2x240"
		series[of(process, backlogAge, remoteQueue, activity)] = "0x240"
		series[of(process, slots, remoteQueue, ofSlots)] = "200x240"
		for le, count := range map[string]string{"1": "0+100x240", "8": "0+100x240", "15": "0+100x240", "+Inf": "0+100x240"} {
			series[of(process, waited, `host="remote"`, `le="`+le+`"`)] = count
		}
	}
	return series
}

func scenarios() []scenario {
	const last = "50m"
	return []scenario{
		{name: "nothing is wrong", silentAt: last},

		{
			name:     "no process is scraped",
			series:   map[string]string{of(leader, temporalUp): "", of(another, temporalUp): ""},
			silentAt: "9m", firingAt: "11m", firing: []string{`LifecycleManagerNoMetrics critical`},
		},
		{name: "one of two processes is scraped", series: map[string]string{of(another, temporalUp): ""}, silentAt: last},
		{
			name:     "Temporal does not answer, and what was known of its queues is still exported",
			series:   map[string]string{of(leader, temporalUp): "0x240", of(another, temporalUp): "0x240"},
			silentAt: "4m", firingAt: "6m", firing: []string{`LifecycleManagerTemporalUnreachable critical ` + instance},
		},
		{name: "one process does not reach Temporal", series: map[string]string{of(another, temporalUp): "0x240"}, silentAt: last},
		{
			name: "nobody polls a queue",
			series: map[string]string{
				of(leader, temporalUp): "0x240", of(another, temporalUp): "0x240",
				of(leader, pollers, remoteQueue, activity): "0x240", of(another, pollers, remoteQueue, activity): "0x240",
			},
			silentAt: "4m", firingAt: "6m", firing: []string{`LifecycleManagerQueueNotPolled critical ` + instance + `,` + remoteQueue + `,` + activity},
		},
		{
			name:     "one process has not heard yet of those that poll",
			series:   map[string]string{of(another, pollers, remoteQueue, activity): "0x240"},
			silentAt: last,
		},
		{
			name:     "nobody leads",
			series:   map[string]string{of(leader, sweepInterval): "300x20 _x220"},
			silentAt: "30m", firingAt: "36m", firing: []string{`LifecycleManagerNoLeader critical ` + instance},
		},
		{name: "the leader is replaced", series: map[string]string{of(leader, sweepInterval): "300x20 _x8 300x200"}, silentAt: "40m"},
		{
			name:     "changes are seen, and no step is done",
			series:   map[string]string{of(leader, activities, `activity_type="ApplyManifest"`): "7x240", of(leader, localActivities, `activity_type="ResolveKyma"`): ""},
			silentAt: "9m", firingAt: "12m", firing: []string{`LifecycleManagerNothingMoves critical ` + instance},
		},
		{
			name: "scrapes have no label for the namespace of pods, so that of Temporal is left",
			series: map[string]string{
				of(leader, kicks, `reason="kyma"`): "", `lifecycle_mgr_kicks_total{job="lm-metrics",reason="kyma"}`: "0+5x240",
				of(leader, activities, `activity_type="ApplyManifest"`): "", of(leader, localActivities, `activity_type="ResolveKyma"`): "",
				activities + `{namespace="default",job="lm-metrics"}`: "0+5x240",
			},
			silentAt: last,
		},
		{
			name:     "short steps are done only",
			series:   map[string]string{of(leader, activities, `activity_type="ApplyManifest"`): "7x240"},
			silentAt: last,
		},
		{
			name: "nothing happens in the fleet",
			series: map[string]string{
				of(leader, kicks, `reason="kyma"`): "9x240", of(leader, activities, `activity_type="ApplyManifest"`): "7x240",
				of(leader, localActivities, `activity_type="ResolveKyma"`): "7x240",
			},
			silentAt: last,
		},
		{
			name:     "one process has other settings",
			series:   map[string]string{of(another, settingsAgree): "0x240"},
			silentAt: "14m", firingAt: "16m", firing: []string{`LifecycleManagerSettingsDisagree warning ` + instance},
		},
		{name: "settings are rolled out", series: map[string]string{of(another, settingsAgree): "0x9 1x240"}, silentAt: last},

		{
			name:     "a process goes on with a certificate that ends in three days",
			series:   map[string]string{of(another, notBefore, ofWebhook): "-25920000x240", of(another, notAfter, ofWebhook): "259200x240"},
			silentAt: "9m", firingAt: "11m", firing: []string{`LifecycleManagerCertificateExpires warning ` + instance + `,` + ofWebhook},
		},
		{
			name:     "a certificate is for an hour",
			series:   map[string]string{of(leader, notAfter, ofWebhook): "3600x240"},
			silentAt: "57m", firingAt: "59m", firing: []string{`LifecycleManagerCertificateExpires warning ` + instance + `,` + ofWebhook},
		},

		{
			name:     "the first workflow task fails for its history",
			series:   map[string]string{of(leader, taskFailures, `cause="NonDeterministicError"`): "_x30 1x240"},
			silentAt: "29m", firingAt: "31m", firing: []string{`LifecycleManagerNonDeterminism critical ` + instance},
		},
		{
			name:     "workflow tasks go on failing for their history",
			series:   map[string]string{of(leader, taskFailures, `cause="NonDeterministicError"`): "_x30 1+1x210"},
			silentAt: "29m", firingAt: "3h", firing: []string{`LifecycleManagerNonDeterminism critical ` + instance},
		},
		{
			name:     "workflow tasks failed for their history an hour ago",
			series:   map[string]string{of(leader, taskFailures, `cause="NonDeterministicError"`): "_x30 8x210"},
			silentAt: "90m",
		},
		{
			name:     "workflow tasks are refused again and again",
			series:   map[string]string{of(leader, taskFailures, `cause="Refused"`): "0+1x240"},
			silentAt: "3m", firingAt: "15m", firing: []string{`LifecycleManagerWorkflowTasksFail warning ` + instance + `,cause="Refused"`},
		},
		{name: "two workflow tasks failed", series: map[string]string{of(leader, taskFailures, `cause="Refused"`): "0x30 2x210"}, silentAt: "36m"},

		{
			name:     "an operator paused a workflow",
			series:   map[string]string{of(leader, held, ofKymaType, `reason="Paused"`): "1x240"},
			silentAt: "9m", firingAt: "11m", firing: []string{`LifecycleManagerWorkflowHeld warning ` + instance + `,` + ofKymaType + `,reason="Paused"`},
		},
		{
			name:     "workflow tasks of a workflow fail again and again",
			series:   map[string]string{of(leader, held, ofKymaType, `reason="ReportedProblems"`): "0x30 1x210"},
			silentAt: "39m", firingAt: "42m", firing: []string{`LifecycleManagerWorkflowHeld warning ` + instance + `,` + ofKymaType + `,reason="ReportedProblems"`},
		},
		{
			name:     "a workflow was paused for a few minutes",
			series:   map[string]string{of(leader, held, ofKymaType, `reason="Paused"`): "0x10 1x5 0x225"},
			silentAt: "30m",
		},

		{
			name:     "a Manifest does not come to an end",
			series:   map[string]string{of(leader, oldest, ofManifest): "0+60x240"},
			silentAt: "64m", firingAt: "67m", firing: []string{`LifecycleManagerEntityStuck warning ` + instance + `,` + ofManifest},
		},
		{name: "a Manifest takes 50 minutes", series: map[string]string{of(leader, oldest, ofManifest): "3000x240"}, silentAt: last},
		{
			name:     "some clusters cannot be reached",
			series:   map[string]string{of(leader, clusters, `reason="UnreachableUnauthorized"`): "6x240"},
			silentAt: "14m", firingAt: "16m", firing: []string{`LifecycleManagerClustersUnreachable warning ` + instance},
		},
		{name: "four of a hundred cannot", series: map[string]string{of(leader, clusters, `reason="UnreachableTimeout"`): "4x240"}, silentAt: last},
		{name: "many are new", series: map[string]string{of(leader, clusters, `reason="Unknown"`): "80x240"}, silentAt: last},
		{
			name:     "most clusters cannot be reached",
			series:   map[string]string{of(leader, clusters, `reason="UnreachableTimeout"`): "300x240"},
			silentAt: "4m", firingAt: "6m", firing: []string{`LifecycleManagerMostClustersUnreachable critical ` + instance},
		},
		{
			name:     "two of three clusters cannot be reached",
			series:   map[string]string{of(leader, clusters, `reason="Reachable"`): "1x240", of(leader, clusters, `reason="UnreachableTimeout"`): "2x240"},
			silentAt: "14m", firingAt: last, firing: []string{`LifecycleManagerClustersUnreachable warning ` + instance},
		},
		{
			name:     "the credentials of a cluster are not renewed",
			series:   map[string]string{of(another, credentials, `expiry="Soon"`): "1x240"},
			silentAt: "9m", firingAt: "11m", firing: []string{`LifecycleManagerCredentialsExpire warning ` + instance + `,expiry="Soon"`},
		},
		{
			name:     "the credentials of two clusters have expired",
			series:   map[string]string{of(leader, credentials, `expiry="Expired"`): "2x240"},
			silentAt: "9m", firingAt: "11m", firing: []string{`LifecycleManagerCredentialsExpire warning ` + instance + `,expiry="Expired"`},
		},
		{name: "tokens are renewed late", series: map[string]string{of(leader, credentials, `expiry="Soon"`): "40x8 0x50 40x8 0x180"}, silentAt: "90m"},
		{
			name:     "a version fails in many clusters",
			series:   map[string]string{of(leader, manifests, ofKeda, `state="Error"`): "15x240"},
			silentAt: "14m", firingAt: "16m", firing: []string{`LifecycleManagerModuleVersionFails warning ` + instance + `,` + ofKeda},
		},
		{
			name:     "a version fails in the one cluster that has it",
			series:   map[string]string{of(leader, manifests, `module="keda",version="2.0.0"`, `state="Error"`): "1x240"},
			silentAt: last,
		},
		{name: "a version fails in nine of a hundred clusters", series: map[string]string{of(leader, manifests, ofKeda, `state="Error"`): "9x240"}, silentAt: last},
		{
			name:     "somebody made a Manifest that no plan had",
			series:   map[string]string{of(leader, "lifecycle_mgr_unplanned_manifests_total"): "0x30 1x210"},
			silentAt: "29m", firingAt: "32m", firing: []string{`LifecycleManagerManifestNotPlanned warning ` + instance},
		},
		{
			name:     "a rollout is held",
			series:   map[string]string{of(leader, "lifecycle_mgr_rollout_phase", rolledOut, `phase="Held"`): "1x240"},
			silentAt: "1m", firingAt: "3m", firing: []string{`LifecycleManagerRolloutStopped warning ` + instance + `,` + rolledOut + `,phase="Held"`},
		},
		{
			name:     "a rollout took clusters back",
			series:   map[string]string{of(leader, "lifecycle_mgr_rollout_phase", rolledOut, `phase="Reverted"`): "1x240"},
			silentAt: "1m", firingAt: "3m", firing: []string{`LifecycleManagerRolloutStopped warning ` + instance + `,` + rolledOut + `,phase="Reverted"`},
		},
		{
			name: "a rollout goes on after a moment, and waits for an approval",
			series: map[string]string{
				of(leader, "lifecycle_mgr_rollout_phase", rolledOut, `phase="Held"`):             "1x1 _x200",
				of(leader, "lifecycle_mgr_rollout_phase", rolledOut, `phase="AwaitingApproval"`): "_x1 1x200",
			},
			silentAt: last,
		},
		{
			name:     "a removal is held",
			series:   map[string]string{of(leader, "lifecycle_mgr_removals_held", `exported_namespace="kcp-system",kind="ModuleReleaseMeta",name="keda"`): "1x240"},
			silentAt: "4m", firingAt: "6m",
			firing: []string{`LifecycleManagerCatalogRemovalHeld warning ` + instance + `,exported_namespace="kcp-system",kind="ModuleReleaseMeta",name="keda"`},
		},
		{
			name:     "the removal budget holds removals",
			series:   map[string]string{of(leader, "lifecycle_mgr_removals_held", `exported_namespace="kcp-system",kind="RemovalBudget",name="lifecycle-manager"`): "1x240"},
			silentAt: "4m", firingAt: "6m",
			firing: []string{`LifecycleManagerRemovalsHeld warning ` + instance + `,exported_namespace="kcp-system",name="lifecycle-manager"`},
		},
		{
			name:     "a removal was approved at once",
			series:   map[string]string{of(leader, "lifecycle_mgr_removals_held", `exported_namespace="kcp-system",kind="ModuleReleaseMeta",name="keda"`): "1x3 _x200"},
			silentAt: last,
		},
		{
			name:     "a process does not understand the maintenance policy",
			series:   map[string]string{of(another, "lifecycle_mgr_maintenance_window_config_read_success"): "0x240"},
			silentAt: "4m", firingAt: "6m", firing: []string{`LifecycleManagerMaintenancePolicyUnreadable warning ` + instance},
		},
		{
			name:     "the maintenance policy was replaced while it was read",
			series:   map[string]string{of(another, "lifecycle_mgr_maintenance_window_config_read_success"): "0x2 1x230"},
			silentAt: last,
		},

		{
			name:     "a shard is not swept",
			series:   map[string]string{of(leader, sweepLag): "0+60x240"},
			silentAt: "24m", firingAt: "29m", firing: []string{`LifecycleManagerSweepBehind warning ` + instance},
		},
		{name: "a pass takes twice as long as it should", series: map[string]string{of(leader, sweepLag): "850x240"}, silentAt: last},
		{
			name:     "tasks wait for workers",
			series:   map[string]string{of(another, backlogAge, remoteQueue, activity): "90x240"},
			silentAt: "9m", firingAt: "11m", firing: []string{`LifecycleManagerWorkersBehind warning ` + instance + `,` + remoteQueue + `,` + activity},
		},
		{
			name:     "a new version waits for its turn in the background",
			series:   map[string]string{of(leader, backlogAge, `task_queue="lifecycle-manager-background"`, activity): "1500x240"},
			silentAt: last,
		},
		{
			name:     "the background does not come to an end",
			series:   map[string]string{of(leader, backlogAge, `task_queue="lifecycle-manager-background"`, activity): "2000x240"},
			silentAt: "9m", firingAt: "11m",
			firing: []string{`LifecycleManagerWorkersBehind warning ` + instance + `,task_queue="lifecycle-manager-background",` + activity},
		},
		{
			name:     "no worker has a free slot",
			series:   map[string]string{of(leader, slots, remoteQueue, ofSlots): "0x240", of(another, slots, remoteQueue, ofSlots): "0x240"},
			silentAt: "9m", firingAt: "11m", firing: []string{`LifecycleManagerWorkerSlotsUsedUp warning ` + instance + `,` + remoteQueue + `,` + ofSlots},
		},
		{name: "one worker has no free slot", series: map[string]string{of(leader, slots, remoteQueue, ofSlots): "0x240"}, silentAt: last},
		{
			name:     "API servers throttle",
			series:   map[string]string{of(leader, requests, `host="remote"`, `code="429"`): "0+10x240"},
			silentAt: "14m", firingAt: "17m", firing: []string{`LifecycleManagerApiServerThrottles warning ` + instance + `,host="remote"`},
		},
		{name: "API servers throttle rarely", series: map[string]string{of(leader, requests, `host="remote"`, `code="429"`): "0+4x240"}, silentAt: last},
		{
			name: "our own limit holds requests back",
			series: map[string]string{
				of(leader, waited, `host="remote"`, `le="1"`): "0x240", of(leader, waited, `host="remote"`, `le="8"`): "0+20x240",
				of(another, waited, `host="remote"`, `le="1"`): "0x240", of(another, waited, `host="remote"`, `le="8"`): "0+20x240",
			},
			silentAt: "14m", firingAt: "17m", firing: []string{`LifecycleManagerRequestsHeldBack warning ` + instance + `,host="remote"`},
		},
		{
			name:     "our own limit holds some requests back",
			series:   map[string]string{of(leader, waited, `host="remote"`, `le="1"`): "0+90x240", of(leader, waited, `host="remote"`, `le="8"`): "0+95x240"},
			silentAt: last,
		},

		{
			name:     "the registry refuses our credentials",
			series:   map[string]string{of(leader, fetches, `result="RegistryUnauthorized"`): "0+1x240"},
			silentAt: "5m", firingAt: "12m", firing: []string{`LifecycleManagerRegistryRefuses warning ` + instance},
		},
		{name: "the registry was away once", series: map[string]string{of(leader, fetches, `result="RegistryUnavailable"`): "0x30 1x200"}, silentAt: "40m"},
		{name: "a layer is missing", series: map[string]string{of(leader, fetches, `result="LayerNotFound"`): "0+2x240"}, silentAt: last},

		{
			name:     "a process ended before it passed its events on",
			series:   map[string]string{of(another, eventsLost): "0x30 7 _x200"},
			silentAt: "30m", firingAt: "32m", firing: []string{`LifecycleManagerEventsLost warning ` + instance},
		},
		{name: "that was half an hour ago", series: map[string]string{of(another, eventsLost): "0x30 7 _x200"}, silentAt: "1h"},
		{
			name:     "the certificates of two agents are not renewed",
			series:   map[string]string{of(leader, notRenewed, `kyma_name="a"`): "1x240", of(leader, notRenewed, `kyma_name="b"`): "1x240"},
			silentAt: "9m", firingAt: "11m", firing: []string{`LifecycleManagerAgentCertificatesNotRenewed warning ` + instance},
		},
		{name: "a certificate is renewed late", series: map[string]string{of(leader, notRenewed, `kyma_name="a"`): "_x10 1x8 _x220"}, silentAt: last},
		{
			name:     "the listener's certificate is not renewed",
			series:   map[string]string{of(leader, closeToExpiry): "1x240"},
			silentAt: "14m", firingAt: "16m", firing: []string{`LifecycleManagerListenerCertificateExpires critical ` + instance},
		},
		{name: "the listener's first certificate is issued", series: map[string]string{of(leader, closeToExpiry): "1x5 0x230"}, silentAt: last},
	}
}

// instance are the labels that are left of an instance.
const instance = `namespace="lm",job="lm-metrics"`

// promtool asks which alerts fire at a time: exactly those, so that no scenario raises an alert that is not about it.
func TestEachAlertFiresInItsScenarioAndInNoOther(t *testing.T) {
	type sample struct {
		Labels string `yaml:"labels"`
		Value  int    `yaml:"value"`
	}
	type query struct {
		Expr       string   `yaml:"expr"`
		EvalTime   string   `yaml:"eval_time"`
		ExpSamples []sample `yaml:"exp_samples"`
	}
	type series struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	}
	type test struct {
		Name        string   `yaml:"name"`
		Interval    string   `yaml:"interval"`
		InputSeries []series `yaml:"input_series"`
		Queries     []query  `yaml:"promql_expr_test"`
	}
	path, err := filepath.Abs(alertsFile)
	require.NoError(t, err)
	file := struct {
		RuleFiles          []string `yaml:"rule_files"`
		EvaluationInterval string   `yaml:"evaluation_interval"`
		Tests              []test   `yaml:"tests"`
	}{RuleFiles: []string{path}, EvaluationInterval: "1m"}

	const firing = `ALERTS{alertstate="firing"}`
	fired := map[string]bool{}
	for _, s := range scenarios() {
		all := healthy()
		maps.Copy(all, s.series)
		one := test{Name: s.name, Interval: "1m", Queries: []query{{Expr: firing, EvalTime: s.silentAt}}}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if all[name] != "" {
				one.InputSeries = append(one.InputSeries, series{Series: name, Values: all[name]})
			}
		}
		if len(s.firing) > 0 {
			asked := query{Expr: firing, EvalTime: s.firingAt}
			for _, alert := range s.firing {
				parts := strings.SplitN(alert, " ", 3)
				fired[parts[0]] = true
				labels := fmt.Sprintf(`alertname=%q,alertstate="firing",severity=%q`, parts[0], parts[1])
				if len(parts) > 2 {
					labels += "," + parts[2]
				}
				asked.ExpSamples = append(asked.ExpSamples, sample{Labels: "ALERTS{" + labels + "}", Value: 1})
			}
			one.Queries = append(one.Queries, asked)
		}
		file.Tests = append(file.Tests, one)
	}
	for _, each := range rules(t) {
		require.True(t, fired[each.Alert], "there is no scenario in which %s fires", each.Alert)
	}
	content, err := yaml.Marshal(file)
	require.NoError(t, err)
	written := filepath.Join(t.TempDir(), "scenarios.yaml")
	require.NoError(t, os.WriteFile(written, content, 0o600))
	promtool(t, "test", "rules", written)
}
