package memfleet

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
)

// serveAdmin answers requests of tests, which come from this machine.
func (f *Fleet) serveAdmin(w http.ResponseWriter, req *http.Request) {
	host, _, _ := net.SplitHostPort(req.RemoteAddr)
	if from, err := netip.ParseAddr(host); err != nil || !from.Unmap().IsLoopback() {
		http.Error(w, "only from this machine", http.StatusForbidden)
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /admin/counters", f.adminCounters)
	mux.HandleFunc("DELETE /admin/counters", f.adminResetCounters)
	mux.HandleFunc("GET /admin/memory", f.adminMemory)
	mux.HandleFunc("GET /admin/faults", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, f.Faults()) })
	mux.HandleFunc("PUT /admin/faults", f.adminSetFaults)
	mux.HandleFunc("DELETE /admin/faults", func(w http.ResponseWriter, _ *http.Request) {
		_ = f.SetFaults(Faults{})
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /admin/clusters/{name}", f.withCluster(f.adminCluster))
	mux.HandleFunc("POST /admin/clusters/{name}/restart", f.withCluster(func(w http.ResponseWriter, _ *http.Request, n int) {
		f.Restart(n)
		w.WriteHeader(http.StatusNoContent)
	}))
	mux.HandleFunc("POST /admin/clusters/{name}/wipe", f.withCluster(func(w http.ResponseWriter, _ *http.Request, n int) {
		f.Wipe(n)
		w.WriteHeader(http.StatusNoContent)
	}))
	mux.ServeHTTP(w, req)
}

func (f *Fleet) withCluster(serve func(http.ResponseWriter, *http.Request, int)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		number, ok := f.number(req.PathValue("name"))
		if !ok {
			http.NotFound(w, req)
			return
		}
		serve(w, req, number)
	}
}

// Counters are the requests since the start, or since they were last set to zero.
type Counters struct {
	Total int64 `json:"total"`
	// Requests are by verb and resource, such as "patch deployments.apps" or "get kymas.operator.kyma-project.io/status".
	Requests map[string]int64 `json:"requests"`
	// Clusters are the numbers of requests by cluster, of those that had any.
	Clusters map[string]int64 `json:"clusters,omitempty"`
}

// Counters counts the requests to all clusters.
func (f *Fleet) Counters() Counters {
	names := f.names.list()
	all := Counters{Requests: map[string]int64{}, Clusters: map[string]int64{}}
	for i := range f.clusters {
		if n := f.clusters[i].counts.sum(all.Requests, names); n > 0 {
			all.Clusters[Name(i)] = n
			all.Total += n
		}
	}
	return all
}

// CountersOf counts the requests to one cluster.
func (f *Fleet) CountersOf(number int) Counters {
	one := Counters{Requests: map[string]int64{}}
	one.Total = f.clusters[number].counts.sum(one.Requests, f.names.list())
	return one
}

// ResetCounters sets all counters to zero.
func (f *Fleet) ResetCounters() {
	for i := range f.clusters {
		f.clusters[i].counts.reset()
	}
}

func (f *Fleet) adminCounters(w http.ResponseWriter, req *http.Request) {
	name := req.URL.Query().Get("cluster")
	if name == "" {
		writeJSON(w, f.Counters())
		return
	}
	number, ok := f.number(name)
	if !ok {
		http.NotFound(w, req)
		return
	}
	writeJSON(w, f.CountersOf(number))
}

func (f *Fleet) adminResetCounters(w http.ResponseWriter, _ *http.Request) {
	f.ResetCounters()
	w.WriteHeader(http.StatusNoContent)
}

// Memory is what the process uses, in bytes.
type Memory struct {
	Heap       uint64 `json:"heap"`
	Clusters   int    `json:"clusters"`
	Objects    int    `json:"objects"`
	PerCluster uint64 `json:"heapPerCluster"`
	Goroutines int    `json:"goroutines"`
	Waiting    int    `json:"waitingTransitions"`
}

func (f *Fleet) adminMemory(w http.ResponseWriter, _ *http.Request) {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m := Memory{Heap: stats.HeapAlloc, Goroutines: runtime.NumGoroutine(), Waiting: f.Waiting()}
	for i := range f.clusters {
		if c := f.clusters[i].used(); c != nil {
			m.Clusters++
			m.Objects += c.Len()
		}
	}
	if m.Clusters > 0 {
		m.PerCluster = m.Heap / uint64(m.Clusters) //nolint:gosec // not negative
	}
	writeJSON(w, m)
}

func (f *Fleet) adminCluster(w http.ResponseWriter, _ *http.Request, number int) {
	c := f.at(number).store
	objects := map[string]int{}
	for _, resource := range c.Resources() {
		objects[resource.String()] = len(c.All(resource, ""))
	}
	writeJSON(w, map[string]any{"name": Name(number), "resourceVersion": c.Revision(), "objects": objects})
}

func (f *Fleet) adminSetFaults(w http.ResponseWriter, req *http.Request) {
	const most = 1 << 20
	text, err := io.ReadAll(http.MaxBytesReader(w, req.Body, most))
	if err == nil {
		var faults Faults
		if faults, err = ParseFaults(text); err == nil {
			err = f.SetFaults(faults)
		}
	}
	if err != nil {
		http.Error(w, strings.TrimSpace(err.Error()), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	// The client may have gone.
	_ = json.NewEncoder(w).Encode(v)
}
