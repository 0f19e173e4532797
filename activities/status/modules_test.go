package status

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// maxStatusBytes is the maximum size of a Kyma's status (docs/performance.md#how-large-objects-can-get).
const maxStatusBytes = 1 << 20

// longNamed returns a name of the maximum length.
func longNamed(i, length int) string {
	return strings.Repeat("n", length-7) + fmt.Sprintf("-%06d", i)
}

// largest returns a Kyma with the maximum number of modules on both sides, while as many others are still being removed.
// All texts have maximum length, and JSON escapes each of their characters.
func largest(names int, deleting bool) observation {
	text := strings.Repeat("<", 4*fault.MaxMessage)
	now := metav1.NewTime(time.Unix(1_700_000_000, 0))
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("k", 63), Namespace: strings.Repeat("n", 63), UID: "u"}}
	if deleting {
		kyma.DeletionTimestamp = &now
	}
	kyma.Status.Remote = &v1beta2.RemoteStatus{Name: kyma.Name, Namespace: kyma.Namespace}
	o := observation{kyma: kyma, now: now.Time, view: resolve.View{Wanted: desired.Wanted{Complete: true}}, in: ReportInput{Push: true}}
	for i := range planning.MaxManifests {
		m := v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Name: longNamed(i, 62), Namespace: kyma.Namespace, DeletionTimestamp: &now}}
		m.Labels = map[string]string{shared.LabelModuleName: longNamed(i, min(63, names)), shared.LabelChannel: strings.Repeat("c", 32)}
		m.Annotations = map[string]string{
			desired.AnnotationModuleEntry: longNamed(i, names), shared.AnnotationFQDN: longNamed(i, names), shared.AnnotationOCMComponentName: longNamed(i, names),
		}
		m.Spec.Version = strings.Repeat("1", 128)
		m.Spec.Resource = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"` + text + `","kind":"` + text + `","metadata":{"name":"` + text + `"}}`)}
		m.Status.State = shared.StateError
		m.Status.LastOperation = &v1beta2.LastOperation{Operation: text, Hint: text}
		o.manifests = append(o.manifests, m)
		kyma.Status.Planned = append(kyma.Status.Planned, v1beta2.PlannedManifest{Name: m.Name, Digest: strings.Repeat("d", 16), Signed: true})
	}
	for i := range 512 {
		component := longNamed(1000+i, names)
		module := v1beta2.Module{Name: component, Channel: strings.Repeat("c", 32)}
		o.view.Modules = append(o.view.Modules, planning.ModulePlan{
			Name: component, Component: component, Channel: module.Channel, Version: strings.Repeat("1", 128), Module: module,
			Template: &v1beta2.TrackedObject{APIVersion: "v1", Kind: "ModuleTemplate", Metadata: v1beta2.TrackedMeta{Name: strings.Repeat("t", 253), Namespace: kyma.Namespace}},
			Refusal:  versions.Refuse(versions.ReasonTooManyModules, "%s", text).WithHint("%s", text),
		})
		if i < 256 {
			kyma.Status.Remote.Modules = append(kyma.Status.Remote.Modules, module)
		}
	}
	return o
}

func TestTheLargestStatusOfAKymaFitsIntoEtcd(t *testing.T) {
	for name, test := range map[string]struct {
		names    int
		deleting bool
	}{
		"with names of the greatest length": {names: 255},
		"with names of usual length":        {names: 30},
		"of a Kyma that is being deleted":   {names: 255, deleting: true},
	} {
		o := largest(test.names, test.deleting)
		status := next(o)
		encoded, err := json.Marshal(status)
		require.NoError(t, err)
		t.Logf("%s: %d rows, %d bytes", name, len(status.Modules), len(encoded))
		require.Less(t, len(encoded), maxStatusBytes, name)
		require.Len(t, status.Modules, 512+planning.MaxManifests, "%s: no module is left out", name)
		require.Len(t, status.Manifests, planning.MaxManifests, name)
		require.Len(t, status.Planned, planning.MaxManifests, name)
		for _, row := range status.Modules {
			require.NotEmpty(t, row.Message, "%s: %s", name, row.Name)
		}
		require.LessOrEqual(t, len(status.LastOperation.Operation), fault.MaxMessage, name)
		require.LessOrEqual(t, len(status.LastOperation.Hint), fault.MaxMessage, name)
		o.kyma.Status = status
		again, err := json.Marshal(next(o))
		require.NoError(t, err)
		require.Equal(t, string(encoded), string(again), "%s: another report changes nothing", name)
	}
}

func TestFewModulesKeepTheirFullTexts(t *testing.T) {
	message, todo := strings.Repeat("m", fault.MaxMessage), strings.Repeat("h", fault.MaxMessage)
	var rows []v1beta2.ModuleStatus
	for i := range 200 {
		rows = append(rows, v1beta2.ModuleStatus{Name: fmt.Sprint(i), Message: message, Hint: todo, Template: &v1beta2.TrackedObject{Kind: "ModuleTemplate"}})
	}
	require.Equal(t, rows[:fewRows], fitted(rows[:fewRows]))
	require.Equal(t, message, fitted(rows)[199].Message)
	require.NotNil(t, rows[199].Template)
}

func TestTheRemovalOfManyModulesNamesTheFirstAndTheTimeOfThePurge(t *testing.T) {
	o := largest(30, true)
	o.purge = time.Unix(1_700_000_000, 0).UTC()
	said := removal(o)
	require.Contains(t, said.message, " more; it will be purged at 2023-11-14T22:13:20Z")
	require.LessOrEqual(t, len(said.message), fault.MaxMessage)
	require.Contains(t, said.hint, " more")
	o.in.Faults = fault.Parts{fault.PartSync: {Kind: fault.Transient, Reason: "Reason", Message: strings.Repeat("x", fault.MaxMessage)}}
	require.Contains(t, removal(o).message, "x…; waiting for modules to be deleted: ")
	require.Contains(t, removal(o).message, " more; it will be purged at 2023-11-14T22:13:20Z")
	require.LessOrEqual(t, len(removal(o).message), fault.MaxMessage)
}

// Modules in the status count as known, so the status must not show Manifests that somebody else created.
func TestAnUnplannedManifestIsNotShown(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.ModeSingleCluster, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	forged := b.manifest(t, "keda").DeepCopy()
	forged.Name, forged.ResourceVersion, forged.UID, forged.Labels[shared.LabelModuleName] = "forged", "", "", "bait"
	forged.Status = v1beta2.ManifestStatus{}
	require.NoError(t, b.control.Create(t.Context(), forged))
	b.report(t)
	modules := b.kyma(t).Status.Modules
	require.Len(t, modules, 1)
	require.Equal(t, "keda", modules[0].Name)
}
