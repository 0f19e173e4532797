package tree

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

var created = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(after time.Duration) metav1.Time { return metav1.NewTime(created.Add(after)) }

func manifest(name, state string, after, readyAfter time.Duration) v1beta2.Manifest {
	m := v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1, CreationTimestamp: at(after)}}
	m.Status.State = "Processing"
	m.Status.LastOperation = &v1beta2.LastOperation{Operation: "waiting for Deployment x/y"}
	m.Status.Counts = &v1beta2.ObjectCounts{Total: 9, Ready: 8}
	if state == "Ready" {
		m.Status.State, m.Status.Counts.Ready = "Ready", 9
		m.Status.Conditions = []metav1.Condition{{Type: "Installation", Status: "True", LastTransitionTime: at(readyAfter)}}
	}
	return m
}

func kymaWith(state, ready string, modules ...v1beta2.ModuleStatus) *v1beta2.Kyma {
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "demo", CreationTimestamp: at(0)}}
	kyma.Status.State, kyma.Status.ModulesReady, kyma.Status.Modules = "Processing", ready, modules
	kyma.Status.LastOperation = &v1beta2.LastOperation{Operation: "waiting for all modules to become ready"}
	if state == "Ready" {
		kyma.Status.State, kyma.Status.ActiveChannel = "Ready", "regular"
		kyma.Status.Conditions = []metav1.Condition{{Type: "Modules", Status: "True", LastTransitionTime: at(12 * time.Second)}}
	}
	return kyma
}

func module(name, state, manifest string) v1beta2.ModuleStatus {
	m := v1beta2.ModuleStatus{Name: name, Version: "1.0.0", State: "Processing", Manifest: &v1beta2.TrackedObject{Metadata: v1beta2.TrackedMeta{Name: manifest}}}
	if state == "Ready" {
		m.State = "Ready"
	}
	return m
}

func render(t *testing.T, kyma *v1beta2.Kyma, manifests ...v1beta2.Manifest) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Render(&out, []Kyma{Of(kyma, manifests, created.Add(20*time.Second))}))
	return out.String()
}

func TestATreeOfAKymaOnItsWay(t *testing.T) {
	kyma := kymaWith("Processing", "1/2", module("keda", "Ready", "m-1"), module("sample", "Processing", "m-2"))
	require.Equal(t, `kcp-system/demo  Processing  channel regular  modules 1/2  age 20s
│  waiting for all modules to become ready
├─ keda    1.0.0  Ready       after 5s  9/9 objects
└─ sample  1.0.0  Processing            8/9 objects  waiting for Deployment x/y
`, render(t, kyma, manifest("m-1", "Ready", 2*time.Second, 5*time.Second), manifest("m-2", "Processing", 2*time.Second, 0)))
}

func TestATreeOfAReadyKyma(t *testing.T) {
	kyma := kymaWith("Ready", "1/1", module("sample", "Ready", "m-1"))
	require.Equal(t, `kcp-system/demo  Ready  channel regular  modules 1/1  ready after 12s
└─ sample  1.0.0  Ready  after 5s  9/9 objects
`, render(t, kyma, manifest("m-1", "Ready", 2*time.Second, 5*time.Second)))
}

func TestAModuleThatWasAskedForLaterCountsFromThen(t *testing.T) {
	kyma := kymaWith("Ready", "1/1", module("sample", "Ready", "m-1"))
	require.Equal(t, `kcp-system/demo  Ready  channel regular  modules 1/1  age 20s
└─ sample  1.0.0  Ready  after 4s  9/9 objects
`, render(t, kyma, manifest("m-1", "Ready", 10*time.Minute, 10*time.Minute+4*time.Second)))
}

func TestAMessageOfAnotherStateIsNotShown(t *testing.T) {
	kyma := kymaWith("Processing", "0/1", module("sample", "Processing", "m-1"))
	require.NotContains(t, render(t, kyma, manifest("m-1", "Ready", time.Second, 2*time.Second)), "waiting for Deployment")
}

func TestReadyMeansTheKymaAndAllItsModules(t *testing.T) {
	require.True(t, Of(kymaWith("Ready", "", module("a", "Ready", "m")), nil, created).Ready())
	require.False(t, Of(kymaWith("Ready", "", module("a", "Processing", "m")), nil, created).Ready())
	require.False(t, Of(kymaWith("Processing", "", module("a", "Ready", "m")), nil, created).Ready())
}
