package crashpoints

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/test/harness/faultproxy"
	"github.com/kyma-project/lifecycle-manager/test/harness/fixture"
	"github.com/kyma-project/lifecycle-manager/test/harness/inprocess"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

const (
	// parallel is how many points are run at the same time.
	parallel = 8
	// sampled: a sample is one in so many points.
	sampled = 7
	// withoutEvent ends the names of points where no watch event tells of the work, so that a sweep has to notice it.
	withoutEvent = " without a watch event"
)

// point is one disturbed run.
type point struct {
	scenario scenario
	name     string
	proxy    func() *faultproxy.Proxy
	kick     func(*inprocess.Installation)
	want     inprocess.Snapshot
}

func TestTheResultIsTheSameWhereverTheWorkIsCutOff(t *testing.T) {
	testfleet.Require(t, "LM_TEST_CONTROL_PLANE") // only this goroutine can skip the test
	all := make([]*inprocess.Harness, parallel)
	var opening sync.WaitGroup
	for i := range all {
		opening.Go(func() { all[i] = inprocess.New(t, fmt.Sprintf("crashpoints-%d", i)) })
	}
	opening.Wait()
	require.False(t, t.Failed())

	undisturbed := make([][]point, len(scenarios()))
	var running sync.WaitGroup
	for i, s := range scenarios() {
		running.Go(func() { undisturbed[i] = pointsOf(t, all[i], s) })
	}
	running.Wait()
	require.False(t, t.Failed(), "there is no result to compare with")
	var points []point
	for _, each := range undisturbed {
		points = append(points, each...)
	}
	if os.Getenv("CRASHPOINTS") != "all" {
		points = sample(points)
	}
	runAll(t, all, points)
}

// pointsOf runs a scenario without disturbance, and returns its points by what it took.
func pointsOf(t *testing.T, h *inprocess.Harness, s scenario) []point {
	t.Helper()
	recording := &faultproxy.Proxy{}
	var want inprocess.Snapshot
	t.Run(s.name+" undisturbed", func(t *testing.T) { want = s.run(t, h, recording, (*inprocess.Installation).Kick) })
	writes := 0
	for _, r := range recording.Requests() {
		if r.Writes() {
			writes++
			t.Logf("%s: write %d is %s", s.name, writes, r)
		}
	}
	points := append(cuts(s, writes, want), staleReads(s, recording.StaleReads(), want)...)
	return append(points, point{s, s.name + withoutEvent, func() *faultproxy.Proxy { return &faultproxy.Proxy{} }, bySweep, want})
}

// cuts are the points before and after each of the writes.
func cuts(s scenario, writes int, want inprocess.Snapshot) []point {
	var points []point
	for n := 1; n <= writes; n++ {
		for _, after := range []bool{false, true} {
			name := fmt.Sprintf("%s cut before write %d of %d", s.name, n, writes)
			if after {
				name = fmt.Sprintf("%s cut after write %d of %d", s.name, n, writes)
			}
			points = append(points, point{s, name, func() *faultproxy.Proxy { return &faultproxy.Proxy{CutAt: n, After: after} }, (*inprocess.Installation).Kick, want})
		}
	}
	return points
}

// staleReads are the points at which a read is answered with its previous answer.
func staleReads(s scenario, reads int, want inprocess.Snapshot) []point {
	var points []point
	for n := 1; n <= reads; n++ {
		name := fmt.Sprintf("%s with stale read %d of %d", s.name, n, reads)
		points = append(points, point{s, name, func() *faultproxy.Proxy { return &faultproxy.Proxy{StaleAt: n} }, (*inprocess.Installation).Kick, want})
	}
	return points
}

// sample is a part of the points, with all those where a sweep has to notice the work.
func sample(points []point) []point {
	var some []point
	for i, p := range points {
		if i%sampled == 0 || strings.HasSuffix(p.name, withoutEvent) {
			some = append(some, p)
		}
	}
	return some
}

// runAll runs the points, one at a time in each harness.
func runAll(t *testing.T, all []*inprocess.Harness, points []point) {
	t.Helper()
	next := make(chan point)
	var working sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for _, h := range all {
		working.Go(func() {
			for p := range next {
				ok := t.Run(p.name, func(t *testing.T) {
					difference := p.scenario.run(t, h, p.proxy(), p.kick).Difference(p.want)
					require.Empty(t, difference, "the result is not that of the undisturbed run")
				})
				mu.Lock()
				done++
				fmt.Printf("%3d of %d: %s: %s\n", done, len(points), p.name, map[bool]string{true: "the same result", false: "FAILED"}[ok])
				mu.Unlock()
			}
		})
	}
	for _, p := range points {
		next <- p
	}
	close(next)
	working.Wait()
}

// The comparison must be able to fail.
func TestDifferencesAreFound(t *testing.T) {
	p := inprocess.New(t, "crashpoints-differing").NewInstallation(t, fixture.First())
	installed(p)
	want := p.Snapshot()
	require.Empty(t, p.Snapshot().Difference(want))

	edited := &corev1.ConfigMap{}
	require.NoError(t, p.Remote.Get(t.Context(), client.ObjectKey{Namespace: fixture.Module(p.ID).Namespace(), Name: "one"}, edited))
	edited.Data["content"] = "edited"
	require.NoError(t, p.Remote.Update(t.Context(), edited))
	require.Len(t, p.Snapshot().Difference(want), 1, "an edited object")

	require.NoError(t, p.Remote.Delete(t.Context(), edited))
	require.Len(t, p.Snapshot().Difference(want), 2, "a missing object, and an inventory that names another one")

	m := p.Read()
	m.Status.InstalledVersion = "0.0.1"
	require.NoError(t, p.Control.Status().Update(t.Context(), m))
	require.Len(t, p.Snapshot().Difference(want), 3, "a status that says something else")
}
