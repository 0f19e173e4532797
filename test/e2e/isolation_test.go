package e2e

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/proxy"
)

const (
	// isolationHealthy Kymas share the fleet's remote clusters; isolationBlackHoles, 30 % of all, have a cluster that
	// accepts connections and never answers.
	isolationHealthy    = 28
	isolationBlackHoles = 12
	// isolationResync is closer to what people run than the interval of the other tests, which checks every cluster
	// every few seconds.
	isolationResync = time.Minute
	// isolationRatio is how many times as long healthy Kymas may take beside black holes.
	isolationRatio = 1.3
	// isolationPatience is how long a Kyma may take before the benchmark fails.
	isolationPatience = 3 * time.Minute
)

// isolation is what the benchmark uses: one environment, with one instance after the other.
type isolation struct {
	*harness.Environment
	b *testing.B
	// catalog has a module for each healthy Kyma.
	catalog []byte
	// remotes are the kubeconfigs of the clusters that answer.
	remotes [][]byte
	// blackHoles are the kubeconfigs of those that do not.
	blackHoles [][]byte
}

// BenchmarkIsolation installs a module in each of the healthy Kymas: once alone, and once with black holes beside them,
// by turns, each time with a fresh instance and Temporal namespace. It reports medians and maxima of the seconds from
// the creation of the first Kyma to each healthy one's Ready, over all rounds, and the ratio of the medians, and fails
// where that is above isolationRatio. A single round on a busy machine may be unlucky: then there are two more.
func BenchmarkIsolation(b *testing.B) {
	i := newIsolation(b)
	var alone, beside []time.Duration
	round := func() {
		alone = append(alone, i.play("alone", 0)...)
		beside = append(beside, i.play("beside-black-holes", isolationBlackHoles)...)
		slices.Sort(alone)
		slices.Sort(beside)
	}
	for b.Loop() {
		round()
	}
	for extra := 0; extra < 2 && ratio(beside, alone) > isolationRatio; extra++ {
		round()
	}
	b.ReportMetric(median(alone).Seconds(), "healthy-s")
	b.ReportMetric(slices.Max(alone).Seconds(), "healthy-max-s")
	b.ReportMetric(median(beside).Seconds(), "beside-black-holes-s")
	b.ReportMetric(slices.Max(beside).Seconds(), "beside-black-holes-max-s")
	b.ReportMetric(ratio(beside, alone), "ratio")
	if ratio(beside, alone) > isolationRatio {
		b.Errorf("beside clusters that never answer, the others take %.2f times as long; %.1f is the limit", ratio(beside, alone), isolationRatio)
	}
}

func newIsolation(b *testing.B) *isolation {
	b.Helper()
	i := &isolation{b: b}
	i.Environment = harness.NewMultiClusterEnvironment(b)
	for _, remote := range i.Remotes {
		kubeconfig, err := os.ReadFile(remote.Access)
		require.NoError(b, err)
		i.remotes = append(i.remotes, kubeconfig)
	}
	for range isolationBlackHoles {
		silent := proxy.NewTCP(b, "")
		silent.Set(proxy.Silent)
		i.blackHoles = append(i.blackHoles, harness.Kubeconfig(b, "https://"+silent.Address(), nil, nil))
	}
	var catalog bytes.Buffer
	for n := range isolationHealthy {
		catalog.WriteString("\n---\n")
		catalog.Write(i.Pack(harness.MinimalModule{Name: healthyName(n), Channels: "regular"}))
	}
	i.catalog = catalog.Bytes()
	return i
}

// healthyName is the name of a healthy Kyma, and of its module: words of letters, as modules want it.
func healthyName(n int) string { return fmt.Sprintf("healthy-x%c%c", 'a'+n/26, 'a'+n%26) }

// play is one run: how long each healthy Kyma took, with so many black holes beside them. Afterwards all is gone.
func (i *isolation) play(name string, blackHoles int) []time.Duration {
	i.b.Helper()
	i.Namespace, i.Temporal = i.NewTemporalNamespace()
	i.Instance = i.NewInstance("--resync-interval", isolationResync.String())
	defer i.Instance.Stop()
	i.Instance.Start()
	i.Apply(i.ControlPlane, harness.ControlPlaneNamespace, i.catalog)

	var kymas []*v1beta2.Kyma
	for n := range isolationHealthy {
		i.GiveAccess(healthyName(n), i.remotes[n%len(i.remotes)])
		kymas = append(kymas, harness.NewSynced(healthyName(n), healthyName(n)))
	}
	for n := range blackHoles {
		name := fmt.Sprintf("black-hole-%02d", n)
		i.GiveAccess(name, i.blackHoles[n])
		// Evenly among the healthy ones.
		kymas = slices.Insert(kymas, n*len(kymas)/blackHoles, harness.NewSynced(name, healthyName(n)))
	}
	begin := time.Now()
	for _, kyma := range kymas {
		require.NoError(i.b, i.ControlPlane.Create(i.b.Context(), kyma))
	}
	took := i.awaitHealthy(begin)
	for n := range blackHoles {
		// Without access they could only be released after the grace period.
		i.GiveAccess(fmt.Sprintf("black-hole-%02d", n), i.remotes[0])
	}
	i.DeleteEverything()
	slices.Sort(took)
	i.b.Logf("%s: median %.2f s, max %.2f s", name, median(took).Seconds(), slices.Max(took).Seconds())
	return took
}

// awaitHealthy waits until all healthy Kymas are Ready, and says how long each took.
func (i *isolation) awaitHealthy(begin time.Time) []time.Duration {
	i.b.Helper()
	ready := map[string]time.Duration{}
	for len(ready) < isolationHealthy {
		var kymas v1beta2.KymaList
		require.NoError(i.b, i.ControlPlane.List(i.b.Context(), &kymas, client.InNamespace(harness.ControlPlaneNamespace)))
		for k := range kymas.Items {
			kyma := &kymas.Items[k]
			_, known := ready[kyma.Name]
			if !known && strings.HasPrefix(kyma.Name, "healthy-") && kyma.Status.State == shared.StateReady && len(kyma.Status.Modules) == 1 {
				ready[kyma.Name] = time.Since(begin)
			}
		}
		if time.Since(begin) > isolationPatience {
			i.Instance.PrintLog()
			i.b.Fatalf("only %d of %d healthy Kymas are Ready after %s", len(ready), isolationHealthy, isolationPatience)
		}
		time.Sleep(50 * time.Millisecond)
	}
	took := make([]time.Duration, 0, len(ready))
	for _, each := range ready {
		took = append(took, each)
	}
	return took
}

func ratio(a, b []time.Duration) float64 { return median(a).Seconds() / median(b).Seconds() }

// median is the middle one of sorted durations.
func median(sorted []time.Duration) time.Duration { return sorted[len(sorted)/2] }
