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

		got := make(chan string, 3)
		go func() { got <- "narrow " + p.take(1, false).StateDir }()
		synctest.Wait()
		go func() { got <- "wide " + p.take(3, false).StateDir }()
		synctest.Wait()
		p.giveBack(large)
		synctest.Wait()
		require.Equal(t, "wide large", <-got, "though the other has waited for longer")
		go func() { got <- "long " + p.take(1, true).StateDir }()
		synctest.Wait()
		p.giveBack(small)
		synctest.Wait()
		require.Equal(t, "long small", <-got, "it comes before one that has waited for longer")
		p.giveBack(small)
		require.Equal(t, "narrow small", <-got)
	})
}
