package listener

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// counting counts the bytes on the wire.
type counting struct {
	net.Conn

	bytes *atomic.Int64
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

// BenchmarkEvents sends events of 100 clusters with ten modules each. Each cluster uses one HTTP/2 connection with
// mutual TLS. Time and allocations are those of agents and listener together. The benchmark also reports the bytes on
// the wire of an event and its answer, including TLS.
func BenchmarkEvents(b *testing.B) {
	const clusters, modules = 100, 10
	var objects []client.Object
	for i := range clusters {
		name := fmt.Sprint("kyma-", i)
		objects = append(objects, kyma(name, fmt.Sprint("runtime-", i)))
		for j := range modules {
			objects = append(objects, manifest(fmt.Sprint(name, "-", j), name, func(m *v1beta2.Manifest) {
				m.Status.DefaultCR = &v1beta2.DefaultCRRecord{APIVersion: "a.io/v1", Kind: fmt.Sprint("Sample", j), Namespace: "kyma-system", Name: "sample"}
				for o := range 30 {
					m.Status.Inventory = append(m.Status.Inventory, v1beta2.InventoryEntry{ID: fmt.Sprintf("_ConfigMap_kyma-system_%d-%d", j, o), Version: "v1"})
				}
			}))
		}
	}
	f := start(b, nil, objects...)
	var wire atomic.Int64
	agents := make([]*http.Client, clusters)
	for i := range agents {
		transport := f.transport(false, f.authority.Pair(fmt.Sprint("runtime-", i)))
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return counting{c, &wire}, err
		}
		agents[i] = &http.Client{Transport: transport}
		post(b, agents[i], f.url(), strings.NewReader(kymaEdit))
	}
	before := wire.Load()
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := int(next.Add(1))
			body := eventOf("a.io", fmt.Sprint("Sample", i/clusters%modules), "kyma-system", "sample")
			request, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, f.url(), strings.NewReader(body))
			response, err := agents[i%clusters].Do(request)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK {
				b.Error(response.Status)
				return
			}
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(wire.Load()-before)/float64(b.N), "wire-B/event")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// Environment variables that start the benchmark's clients as a separate process, so that their memory is not counted.
const (
	clientsOf = "LISTENER_BENCHMARK_URL"
	clientPEM = "LISTENER_BENCHMARK_PEM"
	idle      = 1_000
)

// TestMain runs the tests, or the clients of BenchmarkIdleConnections.
func TestMain(m *testing.M) {
	if to := os.Getenv(clientsOf); to != "" {
		if err := connect(to, []byte(os.Getenv(clientPEM))); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// connect sends an event on each of many connections, and keeps the connections open until its input ends. It does not
// check the listener's certificate, because it serves only a benchmark.
func connect(to string, pair []byte) error {
	certificate, err := tls.X509KeyPair(pair, pair)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	failed := make(chan error, idle)
	for range 8 {
		all.Go(func() {
			for range idle / 8 {
				agent := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
					Certificates: []tls.Certificate{certificate}, InsecureSkipVerify: true, MinVersion: tls.VersionTLS13,
				}}}
				response, err := agent.Post(to, "application/json", strings.NewReader(kymaEdit))
				if err != nil {
					failed <- err
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				if response.StatusCode != http.StatusOK {
					failed <- fmt.Errorf("the listener answered %s", response.Status)
				}
			}
		})
	}
	all.Wait()
	close(failed)
	if err := <-failed; err != nil {
		return err
	}
	fmt.Println("connected")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// BenchmarkIdleConnections reports the memory of the listener's process per idle connection of an agent that has sent
// an event.
func BenchmarkIdleConnections(b *testing.B) {
	f := start(b, func(_ *Options, l *limits) { l.connectionsPerCluster = 2 * idle }, kyma("one", "runtime-1"))
	certificate, key := f.authority.Issue("runtime-1")
	memory := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	var perConnection float64
	for b.Loop() {
		before := memory()
		clients := exec.Command(os.Args[0])
		clients.Env = append(os.Environ(), clientsOf+"="+f.url(), clientPEM+"="+string(certificate)+string(key))
		input, err := clients.StdinPipe()
		require.NoError(b, err)
		output, err := clients.StdoutPipe()
		require.NoError(b, err)
		require.NoError(b, clients.Start())
		said, _ := bufio.NewReader(output).ReadString('\n')
		require.Equal(b, "connected\n", said)
		require.Equal(b, idle, f.clusters.connections["runtime-1"])
		perConnection = float64(memory()-before) / idle
		require.NoError(b, input.Close())
		require.NoError(b, clients.Wait())
	}
	b.ReportMetric(perConnection, "B/conn")
}

// BenchmarkHandshakes measures what a new connection of an agent costs listener and agent together.
func BenchmarkHandshakes(b *testing.B) {
	f := start(b, nil, kyma("one", "runtime-1"))
	pair := f.authority.Pair("runtime-1")
	for b.Loop() {
		transport := f.transport(false, pair)
		post(b, &http.Client{Transport: transport}, f.url(), strings.NewReader(kymaEdit))
		transport.CloseIdleConnections()
	}
}
