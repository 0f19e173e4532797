package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestAKymaCountsWhenAllItsModulesAreReadyInTheVersion(t *testing.T) {
	is := allReady(map[string]string{"one": "1.1.0", "two": "1.1.0"})
	kyma := &v1beta2.Kyma{Status: v1beta2.KymaStatus{State: shared.StateReady}}
	modified := watch.Event{Type: watch.Modified}
	require.False(t, is(modified, kyma), "none is known yet")
	kyma.Status.Modules = []v1beta2.ModuleStatus{
		{Name: "one", Version: "1.1.0", State: shared.StateReady}, {Name: "two", Version: "1.1.0", State: shared.StateReady},
		{Name: "additional", Version: "1.0.0", State: shared.StateReady},
	}
	require.True(t, is(modified, kyma))
	require.False(t, is(watch.Event{Type: watch.Deleted}, kyma))
	kyma.Status.Modules[1].Version = "1.0.0"
	require.False(t, is(modified, kyma))
	kyma.Status.Modules = kyma.Status.Modules[:1]
	require.False(t, is(modified, kyma), "one of them is not known yet")
}

func TestAnEditIsDoneWhenTheModuleIsThereOrGone(t *testing.T) {
	kyma := &v1beta2.Kyma{}
	modified := watch.Event{Type: watch.Modified}
	require.False(t, hasModule("additional", true)(modified, kyma))
	require.True(t, hasModule("additional", false)(modified, kyma))
	kyma.Status.Modules = []v1beta2.ModuleStatus{{Name: "additional", State: shared.StateProcessing}}
	require.False(t, hasModule("additional", true)(modified, kyma), "it is not Ready yet")
	require.False(t, hasModule("additional", false)(modified, kyma), "it is not gone yet")
	kyma.Status.Modules[0].State = shared.StateReady
	require.True(t, hasModule("additional", true)(modified, kyma))
}

func TestAKymaIsWaitedForOnce(t *testing.T) {
	w := newWaiting().forAll([]int{1, 2}, isGone)
	deleted := func(number int) {
		w.see(watch.Event{Type: watch.Deleted}, &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Name: kymaName(number)}})
	}
	deleted(1)
	deleted(1)
	deleted(3)
	require.Equal(t, 1, w.remaining())
	require.Len(t, w.took, 1)
	deleted(2)
	require.Zero(t, w.remaining())
	require.Len(t, w.took, 2)
}
