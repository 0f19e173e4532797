package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestANewVersionChangesThreeObjectsOfAModule(t *testing.T) {
	was := strings.Split(moduleManifest("module-aaa", "1.0.0", 10), "---\n")
	is := strings.Split(moduleManifest("module-aaa", "1.1.0", 10), "---\n")
	require.Len(t, was, 10)
	require.Len(t, is, 10)
	changed := 0
	for i := range was {
		if was[i] != is[i] {
			changed++
		}
	}
	require.Equal(t, 3, changed)
}

func TestModulesHaveNamesOfTheirOwn(t *testing.T) {
	names := map[string]bool{}
	for m := range 100 {
		require.Regexp(t, `^[a-z]{3,}(-[a-z]{3,})+$`, moduleName(m))
		names[moduleName(m)] = true
	}
	require.Len(t, names, 100)
}

func TestAKymaCountsWhenAllItsModulesAreReadyInTheVersion(t *testing.T) {
	ready := v1beta2.ModuleStatus{Version: "1.1.0", State: shared.StateReady}
	kyma := &v1beta2.Kyma{Status: v1beta2.KymaStatus{State: shared.StateReady}}
	modified := watch.Event{Type: watch.Modified}
	require.False(t, isReady("1.1.0")(modified, kyma), "none is known yet")
	kyma.Status.Modules = []v1beta2.ModuleStatus{ready, ready}
	require.True(t, isReady("1.1.0")(modified, kyma))
	require.False(t, isReady("1.1.0")(watch.Event{Type: watch.Deleted}, kyma))
	kyma.Status.Modules[1].Version = "1.0.0"
	require.False(t, isReady("1.1.0")(modified, kyma))
}
