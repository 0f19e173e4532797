package fleets

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestATestGetsTheSmallestFleetThatHasEnoughClustersAndLeavesALargeOneToThoseThatNeedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large, small := Fleet{StateDir: "large", Remotes: make([]Cluster, 3)}, Fleet{StateDir: "small", Remotes: make([]Cluster, 1)}
		p := newPool(large, small)
		require.Equal(t, "small", p.take(1, false).StateDir)
		require.Equal(t, "large", p.take(1, false).StateDir, "nobody needs it")

		got := make(chan string, 2)
		go func() { got <- "narrow " + p.take(1, false).StateDir }()
		synctest.Wait()
		go func() { got <- "wide " + p.take(3, false).StateDir }()
		synctest.Wait()
		p.giveBack(large, false)
		synctest.Wait()
		require.Equal(t, "wide large", <-got, "though the other has waited for longer")
		p.giveBack(small, false)
		require.Equal(t, "narrow small", <-got)
	})
}

func TestTestsThatMostlyWaitComeFirstButFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := Fleet{Remotes: make([]Cluster, 1)}
		p := newPool(fleet, fleet, fleet)
		for range 3 {
			p.take(1, false)
		}
		got := make(chan string, 5)
		for _, name := range []string{"busy 1", "busy 2", "idle 1", "idle 2", "idle 3"} {
			go func() {
				p.take(1, name[:4] == "idle")
				got <- name
			}()
			synctest.Wait()
		}
		for _, next := range []struct {
			idled bool
			name  string
		}{{false, "idle 1"}, {false, "idle 2"}, {false, "busy 1"}, {true, "idle 3"}, {false, "busy 2"}} {
			p.giveBack(fleet, next.idled)
			require.Equal(t, next.name, <-got)
		}
	})
}
