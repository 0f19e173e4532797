package preflight

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kinds "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// healthy returns facts without a problem.
func healthy(t *testing.T) Facts {
	t.Helper()
	owner := Owner{ControlPlane: "uid", Instance: "lifecycle-manager"}
	return Facts{
		APIServer: "v1.33.1", SkewKnown: true, Skew: 400 * time.Millisecond,
		Rights:    []ReviewedRight{{Asked: authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "list"}, Allowed: true}},
		Published: publishedOf(t, own(t)),
		Temporal: TemporalFacts{
			Address: "temporal:7233", Namespace: "fleet",
			Cluster:   &workflowservice.GetClusterInfoResponse{ServerVersion: "1.29.1", PersistenceStore: "postgres12", HistoryShardCount: 512},
			described: describedNamespace{retention: 72 * time.Hour}, Owner: &owner, Own: owner,
		},
		Registry: &RegistryFacts{Host: "registry.example.com"},
		Access:   []AccessFacts{{Secret: "kcp-system/a", Kyma: "a"}},
	}
}

func TestAHealthyInstallationHasNoProblems(t *testing.T) {
	report := NewReport(Judge(healthy(t)))
	require.True(t, report.OK)
	require.Zero(t, report.Count(Warning))
	require.Equal(t, 12, report.Count(OK))
}

func TestProblemsAreReportedWithARemedy(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Facts)
		want   Finding
	}{
		"no API server": {
			func(f *Facts) { f.APIServerErr = errors.New("connection refused") },
			Finding{"API server", Failed, "connection refused", "check --kubeconfig and --context, and that the address can be reached from here"},
		},
		"an old API server": {
			func(f *Facts) { f.APIServer = "v1.28.9-gke.100" },
			Finding{"API server", Failed, "version v1.28.9-gke.100 is older than 1.29", "upgrade it to 1.29 or later"},
		},
		"settings that this account may not read": {
			func(f *Facts) {
				f.Settings.Err = apierrors.NewForbidden(kinds.GroupResource{Resource: "configmaps"}, "lifecycle-manager-settings", nil)
			},
			Finding{
				"settings", Warning, `flags and their defaults are used: configmaps "lifecycle-manager-settings" is forbidden: <nil>`,
				"run the check as an account that may read the record, or give the flags that the pods have",
			},
		},
		"recorded settings": {
			func(f *Facts) { f.Settings.Record = "kcp-system/lifecycle-manager-settings" },
			Finding{"settings", OK, "from ConfigMap kcp-system/lifecycle-manager-settings, except for flags that are given", ""},
		},
		"a registry without TLS": {
			func(f *Facts) {
				*f.Registry = RegistryFacts{Host: "registry.example.com", Err: &url.Error{Op: "Get", URL: "https://registry.example.com/v2/", Err: http.ErrSchemeMismatch}}
			},
			Finding{
				"registry", Failed, `registry.example.com: Get "https://registry.example.com/v2/": http: server gave HTTP response to HTTPS client`,
				"the registry has no TLS: add its host to --oci-registry-plain-http, or write http:// before the host in --oci-registry-host",
			},
		},
		"an error about a cluster that nobody has classified": {
			func(f *Facts) { f.Access[0].Err = errors.New("who knows") },
			Finding{"access Secret kcp-system/a", Failed, "who knows", ""},
		},
		"clocks apart": {
			func(f *Facts) { f.Skew = -11 * time.Second },
			Finding{"clock", Warning, "this machine and the API server are 11s apart", "synchronize the clocks (NTP)"},
		},
		"clocks far apart": {
			func(f *Facts) { f.Skew = time.Hour },
			Finding{"clock", Failed, "this machine and the API server are 1h0m0s apart", "synchronize the clocks (NTP)"},
		},
		"rights that are missing": {
			func(f *Facts) {
				for _, verb := range []string{"list", "watch"} {
					f.Rights = append(f.Rights, ReviewedRight{Why: "Informers know which there are.", Asked: authorizationv1.ResourceAttributes{Group: "operator.kyma-project.io", Resource: "kymas", Namespace: "kcp-system", Verb: verb}})
				}
			},
			Finding{"rights", Failed, "missing: list, watch kymas.operator.kyma-project.io in namespace kcp-system", "Informers know which there are."},
		},
		"a right that cannot be asked for": {
			func(f *Facts) { f.Rights = []ReviewedRight{{Err: errors.New("too many requests")}} },
			Finding{"rights", Warning, "1 could not be checked: too many requests", ""},
		},
		"no definitions": {
			func(f *Facts) { delete(f.Published, "v1beta2/ModuleReleaseMeta") },
			Finding{"CustomResourceDefinitions", Failed, "modulereleasemetas.operator.kyma-project.io is missing", "lifecycle-manager crds | kubectl apply --server-side -f -"},
		},
		"no Istio": {
			func(f *Facts) {
				f.Kinds = []KindFacts{{NeededKind: NeededKind{
					GroupVersionKind: kinds.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "Gateway"},
					Subject:          "Istio", Flag: "--watcher-routing istio", Remedy: "install Istio 1.22 or later, or set --watcher-routing direct",
				}}}
			},
			Finding{"Istio", Failed, "--watcher-routing istio needs Gateway of networking.istio.io/v1, which the control plane does not serve", "install Istio 1.22 or later, or set --watcher-routing direct"},
		},
		"a kind that cannot be asked for": {
			func(f *Facts) {
				f.Kinds = []KindFacts{{NeededKind: NeededKind{
					GroupVersionKind: kinds.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}, Subject: "certificates",
				}, Err: errors.New("too many requests")}}
			},
			Finding{"certificates", Warning, "check whether the control plane serves Certificate of cert-manager.io/v1: too many requests", ""},
		},
		"no Temporal": {
			func(f *Facts) {
				f.Temporal = TemporalFacts{Err: errors.New("connect to Temporal at temporal:7233: deadline exceeded")}
			},
			Finding{"Temporal", Failed, "connect to Temporal at temporal:7233: deadline exceeded", "check TEMPORAL_ADDRESS and TEMPORAL_TLS_*, and that the address can be reached from here"},
		},
		"an old Temporal": {
			func(f *Facts) { f.Temporal.Cluster.ServerVersion = "1.26.2" },
			Finding{"Temporal", Failed, "version 1.26.2 is older than 1.29", "upgrade it to 1.29 or later"},
		},
		"Temporal for a trial": {
			func(f *Facts) {
				f.Temporal.Cluster.PersistenceStore, f.Temporal.Cluster.HistoryShardCount = "sqlite", 1
			},
			Finding{"Temporal's database", Warning, "SQLite with 1 history shards", "use PostgreSQL, MySQL or Cassandra for more than a trial"},
		},
		"a single shard": {
			func(f *Facts) { f.Temporal.Cluster.HistoryShardCount = 1 },
			Finding{"Temporal's database", Warning, "postgres12 with 1 history shards, which limits parallel work", "set up Temporal with 512 shards before it has data to keep, because the number cannot be changed later"},
		},
		"no Temporal namespace": {
			func(f *Facts) { f.Temporal.described.err = serviceerror.NewNamespaceNotFound("fleet") },
			Finding{"Temporal namespace", Failed, "the namespace fleet is missing in Temporal", "temporal operator namespace create --namespace fleet --retention 72h"},
		},
		"no retention": {
			func(f *Facts) { f.Temporal.described.retention = time.Minute },
			Finding{"Temporal namespace", Warning, "fleet keeps closed workflows for only 1m0s, so their histories are soon gone", "temporal operator namespace update --namespace fleet --retention 72h"},
		},
		"search attributes that are missing": {
			func(f *Facts) { f.Temporal.MissingAttributes = []string{"KymaName", "FailingModules"} },
			Finding{"search attributes", Warning, "not registered yet: KymaName, FailingModules", "the start registers them; or run: temporal operator search-attribute create --namespace fleet --name KymaName --type Keyword --name FailingModules --type KeywordList"},
		},
		"search attributes of another type": {
			func(f *Facts) { f.Temporal.WrongAttributes = []string{"KymaName"} },
			Finding{"search attributes", Failed, "registered with another type: KymaName", "give this instance a Temporal namespace of its own"},
		},
		"credentials that are refused": {
			func(f *Facts) {
				*f.Registry = RegistryFacts{Host: "registry.example.com", Credentials: "pull", Err: errors.New("401 Unauthorized"), Refused: true}
			},
			Finding{"registry", Failed, "registry.example.com refuses a request with the credentials of Secret pull: 401 Unauthorized", "renew the Secret that --oci-registry-cred-secret names"},
		},
		"credentials that do not say for which registry": {
			func(f *Facts) {
				*f.Registry = RegistryFacts{Credentials: "pull", Err: errors.New("it has 2 entries")}
			},
			Finding{"registry", Failed, "it has 2 entries", "the Secret must have one entry in auths of .dockerconfigjson, or one for the registry that --oci-registry-host names"},
		},
		"a cluster that refuses": {
			func(f *Facts) {
				f.Access[0].Err = &fault.Error{Kind: fault.Unreachable, Reason: "UnreachableUnauthorized", Message: "the token is refused", Hint: "renew the kubeconfig"}
			},
			Finding{"access Secret kcp-system/a", Failed, "the token is refused", "renew the kubeconfig"},
		},
		"credentials that expire soon": {
			func(f *Facts) {
				f.Now = time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
				f.Access[0].Validity = clusters.Validity{Of: "client certificate", From: f.Now.AddDate(-1, 0, 0), Until: f.Now.AddDate(0, 0, 3)}
			},
			Finding{"access Secret kcp-system/a", Warning, "its client certificate expires at 2026-11-28T00:00:00Z", "renew the Secret, or repair its rotation"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			facts := healthy(t)
			test.change(&facts)
			findings := Judge(facts)
			require.Contains(t, findings, test.want)
			require.Equal(t, test.want.Result != Failed, NewReport(findings).OK)
		})
	}
}

func TestAMissingRegistryAndMissingAccessSecretsAreNoProblem(t *testing.T) {
	facts := healthy(t)
	facts.Registry, facts.Access = nil, nil
	require.True(t, NewReport(Judge(facts)).OK)
}

func TestAThousandBrokenClustersAreNotAThousandLines(t *testing.T) {
	facts := healthy(t)
	facts.Access = make([]AccessFacts, 1000)
	for i := range facts.Access {
		facts.Access[i].Err = errors.New("no answer")
	}
	findings := judgeAccess(facts.Access, nil)
	require.Len(t, findings, 21)
	require.Equal(t, "and 980 more", findings[20].Message)

	now := time.Now()
	for i := range facts.Access {
		facts.Access[i] = AccessFacts{Validity: clusters.Validity{Until: now.Add(time.Minute)}}
	}
	findings = judgeExpiry(facts.Access, now)
	require.Len(t, findings, 21)
	require.Equal(t, "and 980 more expire soon", findings[20].Message)
}

func TestAReportIsForPeopleOrForMachines(t *testing.T) {
	report := NewReport([]Finding{good("a", "is there"), doubtful("b", "", "is old"), bad("c", "make it", "is missing")})
	var text, machine bytes.Buffer
	require.NoError(t, report.WriteText(&text))
	require.Equal(t, "✔ a: is there\n! b: is old\n✗ c: is missing\n    make it\n1 ok, 1 warnings, 1 failed\n", text.String())
	require.NoError(t, report.WriteJSON(&machine))
	var read Report
	require.NoError(t, json.Unmarshal(machine.Bytes(), &read))
	require.Equal(t, report, read)
	require.False(t, read.OK)
}
