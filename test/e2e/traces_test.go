package e2e

import (
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
)

// collector keeps the spans that it is sent by OpenTelemetry's protocol over HTTP.
type collector struct {
	mu    sync.Mutex
	spans []*tracepb.Span
	names map[string]bool
}

func (c *collector) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	var sent collectorpb.ExportTraceServiceRequest
	content, err := io.ReadAll(request.Body)
	if err != nil || request.URL.Path != "/v1/traces" || proto.Unmarshal(content, &sent) != nil {
		response.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range sent.GetResourceSpans() {
		for _, attribute := range resource.GetResource().GetAttributes() {
			if attribute.GetKey() == "service.name" {
				c.names[attribute.GetValue().GetStringValue()] = true
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
}

// traces are the names of the spans of each trace, and where requests went.
func (c *collector) traces() map[string]map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string]map[string]bool{}
	for _, span := range c.spans {
		id := hex.EncodeToString(span.GetTraceId())
		if found[id] == nil {
			found[id] = map[string]bool{}
		}
		name := span.GetName()
		for _, attribute := range span.GetAttributes() {
			if attribute.GetKey() == "url.full" {
				address, _, _ := strings.Cut(strings.TrimPrefix(attribute.GetValue().GetStringValue(), "https://"), "/")
				name += " " + address
			}
		}
		found[id][name] = true
	}
	return found
}

// startCollector starts a collector, and returns the variables by which an instance sends its spans there. Call it before the
// environment is made, so that the collector ends after the instance.
func startCollector(t *testing.T) (*collector, []string) {
	t.Helper()
	c := &collector{names: map[string]bool{}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL, "OTEL_SERVICE_NAME=traced", "OTEL_BSP_SCHEDULE_DELAY=200"}
}

// assertOneTrace requires that one trace leads from an event to the objects that are applied for it. The Kyma has been installed
// without a kick of the sweep, which would continue the installation in a trace of its own.
func assertOneTrace(t *testing.T, s *harness.Environment, c *collector) {
	t.Helper()
	remote := strings.TrimPrefix(cluster.AdminConfig(t, s.Fleet.Remotes[0].Kubeconfig).Host, "https://")
	want := []string{
		"kick Kyma", "SignalWithStartWorkflow:KymaWorkflow", "HandleSignal:kick", "RunActivity:SyncRemote", "StartActivity:ResolveKyma", "RunActivity:ResolveKyma",
		"StartActivity:ApplyManifest", "RunActivity:ApplyManifest", "HTTP PATCH " + remote,
	}
	s.Eventually("one trace has every step", time.Minute, func(co *assert.CollectT) {
		traces := c.traces()
		for _, names := range traces {
			if !slices.ContainsFunc(want, func(name string) bool { return !names[name] }) {
				return
			}
		}
		said := map[string][]string{}
		for id, names := range traces {
			said[id] = slices.Sorted(maps.Keys(names))
		}
		assert.Fail(co, "no trace has all of it", "want %v in one of %v", want, said)
	})

	c.mu.Lock()
	defer c.mu.Unlock()
	require.Equal(t, map[string]bool{"traced": true}, c.names)
	for _, span := range c.spans {
		require.NotContains(t, span.GetName(), "WalkShard")
		for _, attribute := range span.GetAttributes() {
			value := attribute.GetValue().GetStringValue()
			require.NotContains(t, value, "?", "%s: %s has a query", span.GetName(), attribute.GetKey())
			require.Less(t, len(value), 300, "%s: %s is no name", span.GetName(), attribute.GetKey())
		}
	}
}
