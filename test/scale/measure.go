package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/kubernetes"
)

// usage is what a process has used.
type usage struct {
	// CPU is in milliseconds of processor time.
	CPU int64 `json:"cpuMs"`
	// Memory is the resident memory at the end, in MiB.
	Memory int64 `json:"memoryMiB"`
}

// requests are those to the control plane, by verb and resource, of the kinds that are worked with.
type requests map[string]int64

// watch finds the processes that are measured.
func (e *environment) watch() {
	e.watched = map[string]int{}
	for _, command := range e.started {
		e.watched[filepath.Base(command.Path)] = command.Process.Pid
	}
	entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, entry := range entries {
		line, err := os.ReadFile(filepath.Clean(entry))
		if err != nil || !bytes.Contains(line, []byte(e.path("fleet"))) || bytes.Contains(line, []byte("remote-")) {
			continue
		}
		arguments := strings.Split(string(line), "\x00")
		name := filepath.Base(arguments[0])
		for _, wanted := range []string{"kube-apiserver", "etcd", "temporal", "kube-controller-manager"} {
			if name == wanted || len(arguments) > 1 && arguments[1] == wanted {
				e.watched[wanted], _ = strconv.Atoi(filepath.Base(filepath.Dir(entry)))
			}
		}
	}
}

// use reads what each process has used so far. It knows Linux only; elsewhere it is empty.
func (e *environment) use() map[string]usage {
	const ticksPerSecond, pageSize = 100, 4096
	used := map[string]usage{}
	for name, pid := range e.watched {
		line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue
		}
		// The second field, the name, may contain anything; it ends with the last parenthesis.
		fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
		user, _ := strconv.ParseInt(fields[11], 10, 64)
		system, _ := strconv.ParseInt(fields[12], 10, 64)
		pages, _ := strconv.ParseInt(fields[21], 10, 64)
		used[name] = usage{CPU: (user + system) * 1000 / ticksPerSecond, Memory: pages * pageSize >> 20}
	}
	return used
}

// count reads how many requests the API server has answered so far.
func (e *environment) count(ctx context.Context) (requests, error) {
	clientset, err := kubernetes.NewForConfig(e.admin)
	if err != nil {
		return nil, fmt.Errorf("make the client for metrics: %w", err)
	}
	body, err := clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the API server's metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("read the API server's metrics: %w", err)
	}
	counted := requests{}
	for _, metric := range families["apiserver_request_total"].GetMetric() {
		switch resource := label(metric, "resource"); resource {
		case "kymas", "manifests", "secrets", "events", "moduletemplates", "modulereleasemetas":
			if label(metric, "group") == "events.k8s.io" {
				continue
			}
			counted[label(metric, "verb")+" "+resource] += int64(metric.GetCounter().GetValue())
		}
	}
	return counted, nil
}

func label(metric *dto.Metric, name string) string {
	for _, pair := range metric.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}
