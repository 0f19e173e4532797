package memfleet_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/memfleet"
)

// client makes requests to a fleet without a network.
type client struct {
	tb    testing.TB
	fleet *memfleet.Fleet
}

func newClient(tb testing.TB, o memfleet.Options) client {
	tb.Helper()
	o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	fleet, err := memfleet.New(tb.Context(), o)
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		fleet.Run(ctx)
	}()
	tb.Cleanup(func() {
		cancel()
		<-done
	})
	return client{tb, fleet}
}

// within reads what is at a path, as long as the context lasts.
func (c client) within(ctx context.Context, cluster int, path string) *httptest.ResponseRecorder {
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "https://memfleet/clusters/"+memfleet.Name(cluster)+path, http.NoBody)
	req.Header.Set("Authorization", "Bearer "+c.fleet.Token(cluster))
	recorder := httptest.NewRecorder()
	c.fleet.ServeHTTP(recorder, req)
	return recorder
}

func (c client) do(cluster int, verb, path, contentType, accept, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(verb, "https://memfleet/clusters/"+memfleet.Name(cluster)+path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+c.fleet.Token(cluster))
	req.Header.Set("Accept", accept)
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "lifecycle-manager")
	recorder := httptest.NewRecorder()
	c.fleet.ServeHTTP(recorder, req)
	return recorder
}

// apply applies an object as the product does: it asks for the metadata, in protobuf.
func (c client) apply(cluster int, path, body string) {
	c.tb.Helper()
	answer := c.do(cluster, http.MethodPatch, path+"?fieldManager=declarative.kyma-project.io/applier&force=true",
		"application/apply-patch+yaml", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", body)
	require.Less(c.tb, answer.Code, 300, answer.Body.String())
}

// object is one object of a module, as it is rendered for a cluster.
func object(module, n, cluster int) (path, body string) {
	labels := fmt.Sprintf(`"labels":{"app.kubernetes.io/managed-by":"kyma","app.kubernetes.io/component":"kyma-%05d-module-%d"},`+
		`"annotations":{"operator.kyma-project.io/owned-by":"kcp-system/kyma-%05d-module-%d","operator.kyma-project.io/applied-digest":"0123456789abcdef"}`,
		cluster, module, cluster, module)
	name := fmt.Sprintf("module-%d-%d", module, n)
	switch n {
	case 0:
		return "/apis/apps/v1/namespaces/kyma-system/deployments/" + name, fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q,%s},
"spec":{"selector":{"matchLabels":{"app":%q}},"template":{"metadata":{"labels":{"app":%q}},"spec":{"serviceAccountName":%q,"containers":[{"name":"manager","image":"example.com/manager:1.2.3",
"args":["--leader-elect","--metrics-bind-address=:8080"],"env":[{"name":"A","value":"b"},{"name":"C","valueFrom":{"fieldRef":{"fieldPath":"metadata.namespace"}}}],
"ports":[{"containerPort":8080,"name":"metrics"}],"resources":{"limits":{"cpu":"500m","memory":"128Mi"},"requests":{"cpu":"10m","memory":"64Mi"}},
"livenessProbe":{"httpGet":{"path":"/healthz","port":8081},"initialDelaySeconds":15,"periodSeconds":20},"readinessProbe":{"httpGet":{"path":"/readyz","port":8081}},
"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}],"securityContext":{"runAsNonRoot":true}}}}}`, name, labels, name, name, name)
	case 1:
		return "/api/v1/namespaces/kyma-system/services/" + name, fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":%q,%s},
"spec":{"selector":{"app":%q},"ports":[{"name":"metrics","port":8080,"targetPort":"metrics"}]}}`, name, labels, name)
	case 2:
		return "/api/v1/namespaces/kyma-system/serviceaccounts/" + name, fmt.Sprintf(`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":%q,%s}}`, name, labels)
	case 3, 4:
		return "/apis/rbac.authorization.k8s.io/v1/clusterroles/" + name, fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":%q,%s},
"rules":[{"apiGroups":[""],"resources":["secrets","configmaps"],"verbs":["get","list","watch"]},{"apiGroups":["apps"],"resources":["deployments"],"verbs":["*"]}]}`, name, labels)
	case 5, 6:
		return "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/" + name, fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":%q,%s},
"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":%q},"subjects":[{"kind":"ServiceAccount","name":"x","namespace":"kyma-system"}]}`, name, labels, name)
	default:
		return "/api/v1/namespaces/kyma-system/configmaps/" + name, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,%s},"data":{"config.yaml":%q}}`, name, labels,
			strings.Repeat("key: value\n", 50))
	}
}

// cpu reports the processor time, of all threads, that an operation took: on a busy machine the time on the clock says little.
func cpu(b *testing.B) func() {
	used := func() time.Duration {
		var usage syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64((used()-before).Microseconds())/float64(b.N), "cpu-µs/op") }
}

const namespaceBody = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kyma-system"}}`

// BenchmarkApplyCreate is the first apply of an object of a module: of each kind that module has, in its share.
func BenchmarkApplyCreate(b *testing.B) {
	c := newClient(b, memfleet.Options{Clusters: 100_000, ReadyAfter: time.Hour})
	n := 0
	defer cpu(b)()
	for b.Loop() {
		cluster := n / 10
		if n%10 == 0 {
			b.StopTimer()
			c.apply(cluster, "/api/v1/namespaces/kyma-system", namespaceBody)
			b.StartTimer()
		}
		path, body := object(0, n%10, cluster)
		c.apply(cluster, path, body)
		n++
	}
}

// BenchmarkApplyDeployment is the same for the largest object only.
func BenchmarkApplyDeployment(b *testing.B) {
	c := newClient(b, memfleet.Options{Clusters: 100_000, ReadyAfter: time.Hour})
	n := 0
	defer cpu(b)()
	for b.Loop() {
		b.StopTimer()
		c.apply(n, "/api/v1/namespaces/kyma-system", namespaceBody)
		path, body := object(0, 0, n)
		b.StartTimer()
		c.apply(n, path, body)
		n++
	}
}

// BenchmarkApplyAgain is an apply that changes nothing.
func BenchmarkApplyAgain(b *testing.B) {
	c := newClient(b, memfleet.Options{Clusters: 10, ReadyAfter: time.Hour})
	var paths, bodies []string
	for cluster := range 10 {
		c.apply(cluster, "/api/v1/namespaces/kyma-system", namespaceBody)
		for n := range 10 {
			path, body := object(0, n, cluster)
			c.apply(cluster, path, body)
			paths, bodies = append(paths, path), append(bodies, body)
		}
	}
	n := 0
	defer cpu(b)()
	for b.Loop() {
		c.apply(n/10%10, paths[n%100], bodies[n%100])
		n++
	}
}

// BenchmarkListMetadata lists the metadata of 5 ConfigMaps of 15 by label, in protobuf.
func BenchmarkListMetadata(b *testing.B) {
	c := newClient(b, memfleet.Options{Clusters: 10, ReadyAfter: time.Hour})
	for cluster := range 10 {
		c.apply(cluster, "/api/v1/namespaces/kyma-system", namespaceBody)
		for module := range 5 {
			for n := 7; n < 10; n++ {
				path, body := object(module, n, cluster)
				c.apply(cluster, path, body)
			}
		}
	}
	n := 0
	defer cpu(b)()
	for b.Loop() {
		cluster := n % 10
		answer := c.do(cluster, http.MethodGet, fmt.Sprintf("/api/v1/configmaps?limit=500&labelSelector=app.kubernetes.io/component%%3Dkyma-%05d-module-1", cluster),
			"", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "")
		if answer.Code != http.StatusOK || !bytes.Contains(answer.Body.Bytes(), []byte("module-1-7")) {
			b.Fatal(answer.Code, answer.Body.String())
		}
		n++
	}
}

// BenchmarkGet reads one object in full.
func BenchmarkGet(b *testing.B) {
	c := newClient(b, memfleet.Options{Clusters: 1, ReadyAfter: time.Hour})
	c.apply(0, "/api/v1/namespaces/kyma-system", namespaceBody)
	path, body := object(0, 0, 0)
	c.apply(0, path, body)
	defer cpu(b)()
	for b.Loop() {
		c.do(0, http.MethodGet, path, "", "application/json", "")
	}
}
