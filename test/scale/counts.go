package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/kyma-project/lifecycle-manager/test/scale/record"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/kubernetes"
)

// countControlPlane reads how many requests the API server has answered so far, of the kinds that are worked with.
func (e *environment) countControlPlane(ctx context.Context) (record.Requests, error) {
	clientset, err := kubernetes.NewForConfig(e.admin)
	if err != nil {
		return nil, fmt.Errorf("make the client for metrics: %w", err)
	}
	body, err := clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the API server's metrics: %w", err)
	}
	families, err := parse(body)
	if err != nil {
		return nil, fmt.Errorf("read the API server's metrics: %w", err)
	}
	counted := record.Requests{}
	for _, metric := range families["apiserver_request_total"].GetMetric() {
		switch resource := label(metric, "resource"); resource {
		case "kymas", "manifests", "remoteagents", "secrets", "events", "moduletemplates", "modulereleasemetas", "configmaps", "leases":
			if label(metric, "group") == "events.k8s.io" {
				continue
			}
			counted[label(metric, "verb")+" "+resource] += int64(metric.GetCounter().GetValue())
		}
	}
	return counted, nil
}

// countStateUpdates reads how often Temporal has created or updated the state of a workflow so far.
func (e *environment) countStateUpdates(ctx context.Context) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.fleet.Temporal.MetricsURL, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("read Temporal's metrics: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("read Temporal's metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, fmt.Errorf("read Temporal's metrics: %w", err)
	}
	families, err := parse(body)
	if err != nil {
		return 0, fmt.Errorf("read Temporal's metrics: %w", err)
	}
	var updates int64
	for _, metric := range families["persistence_requests"].GetMetric() {
		switch label(metric, "operation") {
		case "CreateWorkflowExecution", "UpdateWorkflowExecution":
			updates += int64(metric.GetCounter().GetValue())
		}
	}
	return updates, nil
}

// parse reads metrics in Prometheus' text format.
func parse(text []byte) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewReader(text))
}

func label(metric *dto.Metric, name string) string {
	for _, pair := range metric.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// countRemote reads how many requests the remote clusters were sent so far.
func (e *environment) countRemote(ctx context.Context) (record.Requests, error) {
	body, err := e.clusters(ctx, http.MethodGet, "/admin/counters", nil)
	if err != nil {
		return nil, err
	}
	var counters struct {
		Requests record.Requests `json:"requests"`
	}
	if err := json.Unmarshal(body, &counters); err != nil {
		return nil, fmt.Errorf("read the counters of the clusters: %w", err)
	}
	return counters.Requests, nil
}

// errRefused is what memfleet's administrator answers.
var errRefused = errors.New("refused")

// clusters asks memfleet's administrator for something.
func (e *environment) clusters(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	address, err := os.ReadFile(e.path("clusters/address"))
	if err != nil {
		return nil, fmt.Errorf("find the clusters: %w", err)
	}
	authority, err := os.ReadFile(e.path("clusters/ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("find the clusters: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, method, "https://"+strings.TrimSpace(string(address))+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s: %s: %w", response.Status, answer, errRefused)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return answer, nil
}
