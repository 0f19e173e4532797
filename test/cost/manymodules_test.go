package cost

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// manyModules is how many modules the Kyma has.
const manyModules = 100

// alone is how many of them become Ready only when the status shows the one before, so that nothing is coalesced, and the
// history is as long as it can become.
const alone = 20

func TestWhatAKymaWithAHundredModulesCosts(t *testing.T) {
	i := newInstance(t, false)
	i.offerMany()
	on, off := true, false
	kyma := &v1beta2.Kyma{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.id, Name: kymaName, Labels: i.labels()},
		Spec: v1beta2.KymaSpec{Channel: "regular", Sync: &v1beta2.Sync{
			Enabled: &on, Strategy: v1beta2.SyncStrategyLocalSecret, Namespace: harness.Twenty(i.id).RemoteNamespace(), NoModuleCopy: &off, ModuleCatalog: &off,
		}},
	}
	for n := range manyModules {
		kyma.Spec.Modules = append(kyma.Spec.Modules, v1beta2.Module{Name: manyName(n)})
	}
	i.create(kyma)
	i.kickKyma()
	i.until("there are all Manifests", func() bool { return len(i.manifests()) == manyModules && len(i.kyma().Status.Modules) == manyModules })
	first := i.quiet()
	refuseLists(i, first)
	t.Logf("%d requests of the first look", len(first))
	// Each Manifest takes three. Where the look does not come to its end within a workflow task, it begins once more.
	require.LessOrEqual(t, len(first), 6*manyModules+60)

	manifests := i.manifests()
	for n := range alone {
		i.settle(&manifests[n], shared.StateReady, "ready")
		i.until("the status shows it", func() bool { return i.ready() == n+1 })
	}
	one := i.quiet()
	refuseLists(i, one)
	t.Logf("%d requests while %d of them became Ready one after the other:\n%s", len(one), alone, strings.Join(lines(one), "\n"))
	require.LessOrEqual(t, len(one), 6*alone, "a report costs the same however many modules there are")
	for n := alone; n < manyModules; n++ {
		i.settle(&manifests[n], shared.StateReady, "ready")
	}
	i.until("the status shows all", func() bool {
		if i.kyma().Status.State == shared.StateError {
			i.kickKyma() // a busy cluster did not answer in time, and nobody sweeps
		}
		return i.kyma().Status.State == shared.StateReady
	})
	rest := i.quiet()
	t.Logf("%d requests while the others did side by side", len(rest))
	require.LessOrEqual(t, len(rest), 6*(manyModules-alone))

	i.untilCached()
	require.NoError(t, i.assembly.Kicks.Kyma(t.Context(), kick.RefOf(i.kyma()), kick.Kick{Reason: "looks again"}))
	i.until("it looks again", func() bool { return len(i.wire.Requests()) > 0 })
	steady := i.quiet()
	t.Logf("a look that changes nothing:\n%s", strings.Join(lines(steady), "\n"))
	require.LessOrEqual(t, len(steady), 24)

	// What is said of a module has at most 1 KiB, and as much of what can be done about it.
	for n := range manifests {
		i.write(&manifests[n], shared.StateError, strings.Repeat("m", 1024))
	}
	i.untilCached()
	i.settle(&manifests[0], shared.StateError, strings.Repeat("e", 1024))
	i.until("the status shows all messages", func() bool {
		return i.kyma().Status.State == shared.StateError && len(i.kyma().Status.Modules[1].Message) == 1024
	})

	encoded, err := json.Marshal(i.kyma())
	require.NoError(t, err)
	runs := i.runs(kick.KymaWorkflowID(kick.RefOf(i.kyma())))
	longest, largest, bytes := 0, 0, 0
	for _, run := range runs {
		longest = max(longest, len(run.GetEvents()))
		bytes = max(bytes, proto.Size(run))
		for _, event := range run.GetEvents() {
			largest = max(largest, proto.Size(event))
			require.NotEqual(t, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, event.GetEventType(), event)
		}
	}
	t.Logf("Kyma of %d bytes; %d runs, the longest with %d events, the largest with %d bytes, the largest event with %d bytes",
		len(encoded), len(runs), longest, bytes, largest)
	require.Less(t, len(encoded), 512<<10, "etcd takes 1.5 MiB")
	require.Less(t, longest, 1_500, "the server warns from 10,240 events on")
	require.Less(t, bytes, 5<<20, "the server warns from 10 MiB on")
	require.Less(t, largest, 256<<10, "the server warns from 256 KiB on, and takes 2 MiB")
}

// manyName is the name of a module, which has letters only.
func manyName(n int) string {
	return fmt.Sprintf("module-from-many-%c%c%c", 'a'+n/676, 'a'+n/26%26, 'a'+n%26)
}

// offerMany offers a version of each module.
func (i *instance) offerMany() {
	i.Helper()
	for n := range manyModules {
		template := desiredtest.ChannelTemplate(manyName(n), "regular", "1.0.0")
		template.Namespace, template.UID, template.Generation = i.id, "", 0
		maps.Copy(template.Labels, i.labels())
		i.create(template)
	}
	i.untilCached()
}

func (i *instance) manifests() []v1beta2.Manifest {
	i.Helper()
	var list v1beta2.ManifestList
	require.NoError(i, i.Control.List(i.Context(), &list, client.InNamespace(i.id)))
	return list.Items
}

// ready is how many modules the Kyma's status shows as Ready.
func (i *instance) ready() int {
	i.Helper()
	ready := 0
	for _, module := range i.kyma().Status.Modules {
		if module.State == shared.StateReady {
			ready++
		}
	}
	return ready
}

// write writes into a Manifest's status what its workflow would.
func (i *instance) write(m *v1beta2.Manifest, state shared.State, message string) {
	i.Helper()
	m.Status.State, m.Status.Settled, m.Status.ObservedGeneration = state, true, m.Generation
	m.Status.InstalledVersion, m.Status.InputsDigest = m.Spec.Version, install.InputsDigest(m)
	m.Status.LastOperation = &v1beta2.LastOperation{Operation: message, Hint: message, LastUpdateTime: metav1.Now()}
	require.NoError(i, i.Control.Status().Update(i.Context(), m))
}

// settle writes that a module has settled, and tells the Kyma's workflow, as the Manifest's does.
func (i *instance) settle(m *v1beta2.Manifest, state shared.State, message string) {
	i.Helper()
	i.write(m, state, message)
	require.NoError(i, i.assembly.Kicks.OpenKyma(i.Context(), kick.RefOf(i.kyma()), kick.Kick{
		Reason: "Manifest is " + string(state), Urgent: true, Kind: shared.KindManifest,
		Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion,
	}))
}

// runs are the histories of all runs of a workflow, the newest first.
func (i *instance) runs(id string) []*historypb.History {
	i.Helper()
	var all []*historypb.History
	for run := ""; ; {
		history := &historypb.History{}
		iterator := i.Temporal.GetWorkflowHistory(i.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for iterator.HasNext() {
			event, err := iterator.Next()
			require.NoError(i, err)
			history.Events = append(history.Events, event)
		}
		all = append(all, history)
		if run = history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(); run == "" {
			return all
		}
	}
}
