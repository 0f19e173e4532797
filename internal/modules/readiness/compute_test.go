package readiness

import (
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	u := &unstructured.Unstructured{}
	require.NoError(t, u.UnmarshalJSON(encoded))
	return u
}

// rendered is the managed fields entry of a workload for which the module sets the number of replicas.
const (
	rendered = `{manager: declarative.kyma-project.io/applier, operation: Apply, fieldsV1: {"f:spec": {"f:replicas": {}}}}`
	scaled   = `{manager: kubectl, operation: Update, subresource: scale, fieldsV1: {"f:spec": {"f:replicas": {}}}}`
	moved    = `{manager: kubectl-patch, operation: Update, fieldsV1: {"f:spec": {"f:template": {"f:spec": {"f:nodeSelector": {"f:nowhere": {}}}}}}}`
	ownNodes = `{manager: declarative.kyma-project.io/applier, operation: Apply, fieldsV1: {"f:spec": {"f:template": {"f:spec": {"f:nodeSelector": {"f:gpu": {}}}}}}}`
)

func TestEachKindIsReadyByItsOwnRules(t *testing.T) {
	t.Parallel()
	workload := func(kind, managed, rest string) string {
		return "apiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: a, generation: 1, managedFields: [" + managed + "]}\n" + rest
	}
	custom := func(status string) string {
		return "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a, generation: 1}\nstatus: " + status + "\n"
	}
	const idle = "spec: {replicas: 0}\nstatus: {observedGeneration: 1, conditions: [{type: Available, status: 'True'}]}\n"
	const current, waits, failed = status.CurrentStatus, status.InProgressStatus, status.FailedStatus
	for name, test := range map[string]struct {
		object string
		state  status.Status
		why    string
	}{
		"a Deployment scaled to nothing":                         {workload("Deployment", scaled, idle), waits, "scaled to 0 by kubectl"},
		"a StatefulSet scaled to nothing":                        {workload("StatefulSet", scaled, idle), waits, "scaled to 0 by kubectl"},
		"a ReplicaSet scaled to nothing":                         {workload("ReplicaSet", scaled, idle), waits, "scaled to 0 by kubectl"},
		"one that an unknown manager scaled":                     {workload("Deployment", "", idle), waits, "scaled to 0 by somebody"},
		"one that the module renders with 0 replicas":            {workload("Deployment", rendered, idle), current, ""},
		"a DaemonSet that somebody keeps off all nodes":          {workload("DaemonSet", moved, "status: {observedGeneration: 1, desiredNumberScheduled: 0}\n"), waits, "no node matches its pods, because kubectl-patch changed .spec.template.spec.nodeSelector"},
		"a DaemonSet for nodes that the cluster lacks":           {workload("DaemonSet", ownNodes, "status: {observedGeneration: 1, desiredNumberScheduled: 0}\n"), current, ""},
		"a StatefulSet with manually replaced pods":              {workload("StatefulSet", rendered, "spec: {replicas: 2, updateStrategy: {type: OnDelete}}\nstatus: {observedGeneration: 1, readyReplicas: 2}\n"), current, ""},
		"the same StatefulSet without a ready pod":               {workload("StatefulSet", rendered, "spec: {replicas: 2, updateStrategy: {type: OnDelete}}\nstatus: {observedGeneration: 1}\n"), waits, "none of its pods is ready"},
		"a Job that runs no pod":                                 {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {parallelism: 0}\nstatus: {startTime: '2026-01-01T00:00:00Z'}\n", waits, "its parallelism is 0, so it runs no pod"},
		"a Job that ran":                                         {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {parallelism: 0}\nstatus: {conditions: [{type: Complete, status: 'True'}]}\n", current, ""},
		"a Pod that was evicted":                                 {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nstatus: {phase: Failed, reason: Evicted}\n", failed, "the pod ended with a failure: Evicted"},
		"a Pod that succeeded":                                   {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nstatus: {phase: Succeeded}\n", current, ""},
		"an APIService that answers":                             {"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: a}\nstatus: {conditions: [{type: Available, status: 'True', reason: Passed}]}\n", current, ""},
		"an APIService that does not answer":                     {"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: a}\nstatus: {conditions: [{type: Available, status: 'False', reason: MissingEndpoints, message: no addresses}]}\n", waits, "MissingEndpoints: no addresses"},
		"an APIService that was just created":                    {"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: a}\n", waits, "its API is not available yet"},
		"conditions that are a map":                              {custom("{conditions: {Ready: 'False'}}"), current, ""},
		"conditions that are a text":                             {custom("{conditions: fine}"), current, ""},
		"conditions that are texts":                              {custom("{conditions: [fine]}"), current, ""},
		"conditions of another form":                             {custom("{conditions: [{type: Ready, status: {ok: true}}]}"), current, ""},
		"the same, and the generation has not been observed yet": {custom("{observedGeneration: 0, conditions: {}}"), waits, ""},
		"a generation that is a text":                            {custom("{observedGeneration: latest}"), current, ""},
		"a status that is a text":                                {custom("fine"), current, ""},
		"an object that waits for a finalizer":                   {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [example.com/hold]}\n", status.TerminatingStatus, "being deleted, waiting for its finalizer example.com/hold"},
	} {
		u := object(t, test.object)
		state, why := Compute(u, u)
		require.Equal(t, test.state, state, name)
		require.Equal(t, test.why, why, name)
	}
}

func TestTheLatestEventSaysWhyAnObjectIsNotReady(t *testing.T) {
	t.Parallel()
	require.Empty(t, latestEvent(nil))
	require.Equal(t, "ProvisioningFailed: no volume plugin matched", latestEvent([]unstructured.Unstructured{
		*object(t, "apiVersion: v1\nkind: Event\nmetadata: {name: a}\nreason: WaitForFirstConsumer\nmessage: waiting\nlastTimestamp: '2026-01-01T00:00:00Z'\n"),
		*object(t, "apiVersion: v1\nkind: Event\nmetadata: {name: b}\nreason: ProvisioningFailed\nmessage: no volume plugin matched\neventTime: '2026-01-01T01:00:00.000000Z'\n"),
		*object(t, "apiVersion: v1\nkind: Event\nmetadata: {name: c}\nreason: Old\nfirstTimestamp: '2026-01-01T00:30:00Z'\nlastTimestamp: '2026-01-01T00:30:00Z'\n"),
	}))
}

func TestAnObjectThatIsDeletedEachTimeIsAnErrorUntilItIsCreatedAgain(t *testing.T) {
	t.Parallel()
	last := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	m := &v1beta2.Manifest{}
	entry := v1beta2.InventoryEntry{ID: "apps_Deployment_ns_a", Version: "v1", UID: "1"}
	m.Status.Corrections = []v1beta2.Correction{{ID: entry.ID, Times: 3}}
	m.Status.Corrections[0].LastTime.Time = last
	for after, want := range map[time.Duration]Observed{
		3 * time.Minute: {State: "Error", Reason: ReasonResourcesFailed, Message: "1 of 1 resources failed: Deployment ns/a (somebody keeps deleting it; created again at 2026-01-01T12:04:00Z)"},
		4 * time.Minute: {State: "Processing", Reason: ReasonResourcesMissing, Message: "missing, will be created again: Deployment ns/a"},
	} {
		o := NewObserver(objects.Target{Manifest: m}, "", last.Add(after))
		o.Total = 1
		require.NoError(t, o.Note(t.Context(), entry, nil, nil))
		want.Total = 1
		require.Equal(t, want, Judge(o.Health, ManagerHealth{}, ModuleCR{}))
	}
}
