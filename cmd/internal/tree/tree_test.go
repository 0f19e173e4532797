package tree

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/visibility"
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
	return drawn(t, Style{}, kyma, manifests...)
}

func drawn(t *testing.T, style Style, kyma *v1beta2.Kyma, manifests ...v1beta2.Manifest) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Render(&out, Fleet{Kymas: []Kyma{Of(kyma, manifests, created.Add(20*time.Second))}}, style))
	return out.String()
}

func TestTheTreeOfAKymaInProgress(t *testing.T) {
	kyma := kymaWith("Processing", "1/2", module("keda", "Ready", "m-1"), module("sample", "Processing", "m-2"))
	require.Equal(t, `kcp-system/demo  Processing  channel regular  modules 1/2  age 20s
│  waiting for all modules to become ready
├─ keda    1.0.0  Ready       after 5s  9/9 objects
└─ sample  1.0.0  Processing            8/9 objects  waiting for Deployment x/y
`, render(t, kyma, manifest("m-1", "Ready", 2*time.Second, 5*time.Second), manifest("m-2", "Processing", 2*time.Second, 0)))
}

func TestATreeNamesWorkflowsThatMakeNoProgress(t *testing.T) {
	kyma, m := kymaWith("Ready", "1/1", module("sample", "Ready", "m-1")), manifest("m-1", "Ready", 2*time.Second, 5*time.Second)
	kyma.UID = "uid"
	fleet := Fleet{Kymas: []Kyma{Of(kyma, []v1beta2.Manifest{m}, created.Add(20*time.Second))}}
	fleet.Hold([]visibility.HeldWorkflow{
		{ID: "sweep/00", Type: "SweepWorkflow"},
		{ID: "kyma/kcp-system/demo/uid", Type: "KymaWorkflow"},
		{ID: "kyma/kcp-system/demo/former", Type: "KymaWorkflow", Problems: []string{"not shown"}},
	})
	var out bytes.Buffer
	require.NoError(t, Render(&out, fleet, Style{}))
	require.Equal(t, `workflow sweep/00: paused in Temporal, so no change takes effect: to resume it, run temporal workflow unpause --workflow-id sweep/00
kcp-system/demo  Ready  channel regular  modules 1/1  ready after 12s
│  workflow: paused in Temporal, so no change takes effect: to resume it, run temporal workflow unpause --workflow-id kyma/kcp-system/demo/uid
└─ sample  1.0.0  Ready  after 5s  9/9 objects
`, out.String())
}

func TestATreeOfAReadyKyma(t *testing.T) {
	kyma := kymaWith("Ready", "1/1", module("sample", "Ready", "m-1"))
	require.Equal(t, `kcp-system/demo  Ready  channel regular  modules 1/1  ready after 12s
└─ sample  1.0.0  Ready  after 5s  9/9 objects
`, render(t, kyma, manifest("m-1", "Ready", 2*time.Second, 5*time.Second)))
}

func TestTheTimeOfALaterModuleCountsFromItsManifest(t *testing.T) {
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

// The cause is usually at the end of a message.
const longMessage = "apply Deployment kyma-system/sample-operator: admission webhook \"policy.example.com\" denied the request: image registry.example.com/a/b/c:1.0.0 is not signed"

func TestAMessageIsNeverCutBeforeItsCause(t *testing.T) {
	kyma := kymaWith("Processing", "0/2", module("a", "Processing", "m-1"), module("b", "Processing", "m-2"))
	kyma.Status.LastOperation.Operation = "module a: " + longMessage
	kyma.Status.Modules[0].Message = longMessage
	kyma.Status.Modules[1].Message = "short"
	require.Equal(t, 2, strings.Count(render(t, kyma), longMessage), "a pipe gets the whole message on one line")
	require.Equal(t, `kcp-system/demo  Processing  channel regular  modules 0/2  age 20s
│  module a: apply Deployment kyma-system/sample-operator:
│  admission webhook "policy.example.com" denied the request:
│  image registry.example.com/a/b/c:1.0.0 is not signed
├─ a  1.0.0  Processing
│    apply Deployment kyma-system/sample-operator: admission
│    webhook "policy.example.com" denied the request: image
│    registry.example.com/a/b/c:1.0.0 is not signed
└─ b  1.0.0  Processing  short
`, drawn(t, Style{Width: 62}, kyma))
}

func TestNoLineIsWiderThanTheScreen(t *testing.T) {
	kyma := kymaWith("Processing", "0/1", module("sample", "Processing", "m-1"))
	kyma.Status.Modules[0].Message = strings.Repeat("模块", 60) + " " + strings.Repeat("x", 200) + "\nand more"
	lines := Lines(Fleet{Kymas: []Kyma{Of(kyma, nil, created)}}, Style{Width: 70})
	joined := ""
	for _, line := range lines {
		require.LessOrEqual(t, runewidth.StringWidth(strings.TrimSuffix(line, "\n")), 70, line)
		joined += strings.TrimSpace(line)
	}
	require.Contains(t, joined, strings.Repeat("x", 200))
	require.Contains(t, joined, "and more")
}

func TestMessagesCannotControlTheTerminal(t *testing.T) {
	kyma := kymaWith("Processing", "0/1", module("sample", "Processing", "m-1"))
	kyma.Status.LastOperation.Operation = "a\x1b[2Jb"
	kyma.Status.Modules[0].Message = "c\x1b]0;title\x07d\re"
	require.NotContains(t, strings.ReplaceAll(drawn(t, Style{}, kyma), "\n", ""), "\x1b")
	require.NotContains(t, drawn(t, Style{}, kyma), "\r")
}

func TestStatesHaveColorsOnlyIfRequested(t *testing.T) {
	kyma := kymaWith("Ready", "1/2", module("a", "Ready", "m-1"), module("b", "Processing", "m-2"))
	require.NotContains(t, drawn(t, Style{}, kyma), "\x1b")
	require.Equal(t, "kcp-system/demo  \x1b[32mReady\x1b[0m  channel regular  modules 1/2  age 20s\n"+
		"├─ a  1.0.0  \x1b[32mReady\x1b[0m\n"+
		"└─ b  1.0.0  \x1b[34mProcessing\x1b[0m\n", drawn(t, Style{Color: true}, kyma))
}

func TestAWideTreeShowsDetails(t *testing.T) {
	kyma := kymaWith("Processing", "0/1", module("sample", "Processing", "m-1"))
	kyma.Status.Modules[0].Channel = "fast"
	kyma.Status.Conditions = []metav1.Condition{{Type: "Modules", Status: "False", Message: "not all modules are in ready state"}}
	kyma.Status.WaitsForChange = true
	no := false
	kyma.Status.Remote = &v1beta2.RemoteStatus{Name: "default", Namespace: "kyma-system", Cluster: "uid-1", Reachable: &no, Reason: "UnreachableTLS"}
	installing := manifest("m-1", "Processing", time.Second, 0)
	installing.Status.InstalledVersion, installing.Status.Counts.Failed = "0.9.0", 1
	require.Equal(t, `kcp-system/demo  Processing  channel regular  modules 0/1  age 20s
│  waiting for all modules to become ready
│  waits for a change: there is no retry before something changes
│  remote Kyma kyma-system/default in cluster uid-1, which is unreachable: UnreachableTLS
│  condition Modules: not all modules are in ready state
└─ sample  1.0.0  Processing  8/9 objects (1 failed)  channel fast  installed 0.9.0  m-1  waiting for Deployment x/y
`, drawn(t, Style{Wide: true}, kyma, installing))
}

func TestMachinesGetJSON(t *testing.T) {
	kyma := kymaWith("Processing", "0/1", module("sample", "Processing", "m-1"))
	var out bytes.Buffer
	require.NoError(t, WriteJSON(&out, Fleet{Kymas: []Kyma{Of(kyma, []v1beta2.Manifest{manifest("m-1", "Processing", time.Second, 0)}, created)}}, ""))
	require.JSONEq(t, `{"kymas": [{
		"namespace": "kcp-system", "name": "demo", "state": "Processing", "message": "waiting for all modules to become ready",
		"channel": "regular", "modulesReady": "0/1", "creationTimestamp": "2026-01-01T12:00:00Z",
		"modules": [{"name": "sample", "version": "1.0.0", "state": "Processing", "message": "waiting for Deployment x/y",
			"manifest": "m-1", "objects": {"total": 9, "ready": 8, "failed": 0}}]
	}]}`, out.String())
	out.Reset()
	require.NoError(t, WriteJSON(&out, Fleet{}, ""))
	require.JSONEq(t, `{"kymas":[]}`, out.String(), "always a list")
}

func TestATreeShowsWhatCanBeDoneBelowTheMessage(t *testing.T) {
	refused := v1beta2.ModuleStatus{Name: "kead", State: "Error", Message: "no ModuleReleaseMeta found", Hint: "did you mean keda?"}
	kyma := kymaWith("Processing", "0/1", refused)
	kyma.Status.LastOperation = kyma.Status.LastOperation.WithHint("check the modules")
	require.Equal(t, `kcp-system/demo  Processing  channel regular  modules 0/1  age 20s
│  waiting for all modules to become ready
│  hint: check the modules
└─ kead  Error  no ModuleReleaseMeta found
     hint: did you mean keda?
`, render(t, kyma))
	kyma.Status.LastOperation = kyma.Status.LastOperation.WithHint(refused.Hint)
	require.NotContains(t, render(t, kyma), "│  hint", "the hint is shown once")
	kyma.Status.Modules[0].State = "Processing"
	require.NotContains(t, render(t, kyma), "did you mean", "a module in progress needs no hint yet")
}
