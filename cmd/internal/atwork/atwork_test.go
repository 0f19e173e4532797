package atwork

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/tree"
	"github.com/kyma-project/lifecycle-manager/internal/platform/visibility"
)

// noon is when a leaderStatusBench begins.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// leaderStatusBench is a leader and a caller of `status`, in one control plane and with one clock.
type leaderStatusBench struct {
	*Writer
	client.WithWatch
	clock  time.Time
	since  time.Time
	wrong  error
	held   []visibility.HeldWorkflow
	writes int
	lines  []string
}

var recordKey = types.NamespacedName{Namespace: "kcp-system", Name: "lifecycle-manager-settings"}

func newLeaderStatusBench(t *testing.T, objects ...client.Object) *leaderStatusBench {
	t.Helper()
	b := &leaderStatusBench{clock: noon, since: noon}
	b.WithWatch = interceptor.NewClient(fake.NewClientBuilder().WithObjects(objects...).Build(), interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			b.writes++
			return c.Update(ctx, obj, opts...)
		},
	})
	b.Writer = &Writer{
		Client: b.WithWatch, Key: recordKey, Instance: "lifecycle-manager", Now: func() time.Time { return b.clock },
		Problem: func() (time.Time, error) { return b.since, b.wrong },
		Held:    func() []visibility.HeldWorkflow { return b.held },
		Log:     funcr.New(func(_, args string) { b.lines = append(b.lines, args) }, funcr.Options{}),
	}
	return b
}

func recordIn(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"operator.kyma-project.io/purpose": "instance-settings"}},
		Data:       map[string]string{"mode": "control-plane"},
	}
}

func record() *corev1.ConfigMap { return recordIn(recordKey.Namespace, recordKey.Name) }

// after runs the leader for a duration.
func (b *leaderStatusBench) after(t *testing.T, d time.Duration) {
	t.Helper()
	for end := b.clock.Add(d); b.clock.Before(end); b.clock = b.clock.Add(leaderStatusChecks) {
		b.check(t.Context())
	}
}

// shown returns the problems that `status` shows for Kymas of these instances.
func (b *leaderStatusBench) shown(t *testing.T, instances ...string) []tree.Problem {
	t.Helper()
	found, err := (&Problems{reader: b.WithWatch, now: func() time.Time { return b.clock }}).Of(t.Context(), instances)
	require.NoError(t, err)
	return found
}

func TestTheStatusReportsProblemsOfLifecycleManagerItself(t *testing.T) {
	b := newLeaderStatusBench(t, record())
	require.Empty(t, b.shown(t), "an earlier release writes no status")
	b.after(t, time.Minute)
	require.Empty(t, b.shown(t))

	b.wrong, b.since = errors.New("no worker polls the task queue lifecycle-manager-remote for activity tasks"), b.clock
	b.after(t, 2*leaderStatusChecks)
	want := tree.Problem{Instance: "lifecycle-manager", Since: b.since, Message: b.wrong.Error()}
	require.Equal(t, []tree.Problem{want}, b.shown(t), "at once")
	b.after(t, time.Hour)
	require.Equal(t, []tree.Problem{want}, b.shown(t))

	b.wrong, b.since = nil, b.clock
	b.after(t, 2*leaderStatusChecks)
	require.Empty(t, b.shown(t))
}

func TestTheStatusNamesWorkflowsThatMakeNoProgressWhileTheirInstanceWorks(t *testing.T) {
	b := newLeaderStatusBench(t, record())
	b.held = []visibility.HeldWorkflow{{ID: "kyma/kcp-system/demo/uid", Type: "KymaWorkflow"}}
	b.after(t, time.Minute)
	held := func(instances ...string) []visibility.HeldWorkflow {
		p := &Problems{reader: b.WithWatch, now: func() time.Time { return b.clock }}
		_, err := p.Of(t.Context(), instances)
		require.NoError(t, err)
		return p.Held()
	}
	require.Equal(t, b.held, held())
	require.Equal(t, b.held, held("lifecycle-manager"))
	require.Empty(t, held("other"))

	for range 2 * mostHeld {
		b.held = append(b.held, b.held[0])
	}
	b.after(t, time.Minute)
	require.Len(t, held(), mostHeld)

	b.clock = b.clock.Add(time.Hour)
	require.Empty(t, held(), "no process leads, so it is unknown")
}

func TestTheStatusReportsAMissingLeaderWithinHalfAMinute(t *testing.T) {
	b := newLeaderStatusBench(t, record())
	b.after(t, time.Minute)
	ended := b.written.At
	b.clock = ended.Add(20 * time.Second)
	require.Empty(t, b.shown(t), "a leader status may be late")
	b.clock = ended.Add(30 * time.Second)
	require.Equal(t, []tree.Problem{{
		Instance: "lifecycle-manager", Since: ended, Message: "no process of Lifecycle Manager leads in this control plane",
	}}, b.shown(t))

	b.wrong = errors.New("Temporal cannot be used: connection refused")
	b.after(t, time.Second)
	b.clock = b.clock.Add(time.Minute)
	require.Equal(t, "no process of Lifecycle Manager leads in this control plane, and the last leader reported: Temporal cannot be used: connection refused",
		b.shown(t)[0].Message)
}

func TestTheStatusFailsIfNoProcessHasEverLed(t *testing.T) {
	b := newLeaderStatusBench(t)
	never := func(instance string) tree.Problem {
		return tree.Problem{Instance: instance, Message: "no process of Lifecycle Manager leads in this control plane"}
	}
	require.Equal(t, []tree.Problem{never("lifecycle-manager")}, b.shown(t), "also without Kymas")
	require.Equal(t, []tree.Problem{never("other")}, b.shown(t, "other", "other"))
	require.Equal(t, "no work is done by other: no process of Lifecycle Manager leads in this control plane", never("other").String())
}

func TestAnExpiredLeaseShowsThatAnInstanceWithoutStatusHasNoLeader(t *testing.T) {
	b := newLeaderStatusBench(t, record())
	require.Empty(t, b.shown(t), "this may be an earlier release without leader election")
	holder, renewed := "earlier", metav1.NewMicroTime(noon)
	require.NoError(t, b.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: recordKey.Namespace, Name: "lifecycle-manager.operator.kyma-project.io"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed},
	}))
	require.Empty(t, b.shown(t))
	b.clock = noon.Add(time.Minute)
	require.Len(t, b.shown(t), 1)
	require.Equal(t, noon, b.shown(t)[0].Since.UTC())
}

func TestWithoutALeaderTemporalIsAskedAboutWorkers(t *testing.T) {
	b := newLeaderStatusBench(t, record())
	b.wrong = errors.New("Temporal cannot be used: connection refused")
	b.after(t, time.Second)
	says, known := "no worker polls the task queue q for workflow tasks", true
	message := func() string {
		p := &Problems{reader: b.WithWatch, now: func() time.Time { return b.clock }, unpolled: func(_ context.Context, instance string) (string, bool) {
			require.Equal(t, "lifecycle-manager", instance)
			return says, known
		}}
		found, err := p.Of(t.Context(), nil)
		require.NoError(t, err)
		return found[0].Message
	}
	require.Equal(t, "Temporal cannot be used: connection refused", message(), "the leader reports it")
	b.clock = b.clock.Add(time.Minute)
	require.Equal(t, nobodyLeads+", and no worker polls the task queue q for workflow tasks", message())
	says = ""
	require.Equal(t, nobodyLeads, message())
	known = false
	require.Equal(t, nobodyLeads+", and the last leader reported: Temporal cannot be used: connection refused", message())

	t.Setenv("TEMPORAL_ADDRESS", "")
	_, known = pollers{}.unpolled(t.Context(), "lifecycle-manager")
	require.False(t, known, "the environment has no address of Temporal")
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	says, known = pollers{}.unpolled(t.Context(), "lifecycle-manager")
	require.True(t, known)
	require.Contains(t, says, "Temporal cannot be used from here")
}

// After a rollback the Lease is renewed, but no leader status is written. A watch refreshes several times per second.
func TestAWatchAsksTemporalOnlyEveryFewSeconds(t *testing.T) {
	asked := 0
	p := &Problems{reader: newLeaderStatusBench(t).WithWatch, now: time.Now, unpolled: func(context.Context, string) (string, bool) {
		asked++
		return "no worker polls", true
	}}
	for range 3 {
		found, err := p.Of(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, nobodyLeads+", and no worker polls", found[0].Message)
	}
	require.Equal(t, 1, asked)
}

func TestALeaderOfAnEarlierReleaseIsNoProblem(t *testing.T) {
	b := newLeaderStatusBench(t, record())
	b.after(t, time.Second)
	b.clock = b.clock.Add(time.Hour)
	holder, renewed := "earlier", metav1.NewMicroTime(b.clock.Add(-3*time.Second))
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: recordKey.Namespace, Name: "lifecycle-manager.operator.kyma-project.io"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed},
	}
	require.NoError(t, b.Create(t.Context(), lease))
	require.Empty(t, b.shown(t))
	b.clock = b.clock.Add(time.Hour)
	require.Len(t, b.shown(t), 1)
}

func TestALeaderStatusCostsOneWritePer10Seconds(t *testing.T) {
	b := newLeaderStatusBench(t, record())
	b.after(t, 10*time.Minute)
	require.Equal(t, 60, b.writes)
	before := b.writes
	for i := range 100 {
		b.wrong = errors.New("refused on connection " + time.Duration(i).String())
		b.after(t, time.Second)
	}
	require.LessOrEqual(t, b.writes-before, 12, "a different text causes no write")
}

func TestALeaderStatusDoesNotChangeTheSettings(t *testing.T) {
	b := newLeaderStatusBench(t, record())
	b.after(t, time.Minute)
	var now corev1.ConfigMap
	require.NoError(t, b.Get(t.Context(), recordKey, &now))
	require.Equal(t, record().Data, now.Data)
	require.Equal(t, record().Labels, now.Labels)

	leads := make(chan struct{})
	close(leads)
	leader, err := agreement.New(b.WithWatch, recordKey, func() map[string]string { return record().Data }, leads, prometheus.NewRegistry(), logr.Discard())
	require.NoError(t, err)
	require.NoError(t, leader.Compare(t.Context()))
	b.after(t, time.Minute)
	require.NoError(t, leader.Compare(t.Context()))
	<-leader.Reached()
}

func TestALeaderStatusBeforeTheFirstCheckOrTheFirstRecordSaysNothing(t *testing.T) {
	b := newLeaderStatusBench(t)
	b.since = time.Time{}
	b.after(t, time.Minute)
	require.True(t, b.written.At.IsZero(), "nothing is known yet")
	b.since = b.clock
	b.after(t, time.Minute)
	require.Empty(t, b.lines, "the next comparison of settings writes the record")
}

func TestAFailedWriteOfTheLeaderStatusIsLoggedOnce(t *testing.T) {
	b := newLeaderStatusBench(t, record())
	b.Client = interceptor.NewClient(b.WithWatch, interceptor.Funcs{
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, recordKey.Name, nil)
		},
	})
	b.after(t, 5*time.Minute)
	require.Len(t, b.lines, 1)
	require.Contains(t, b.lines[0], "ConfigMap kcp-system/lifecycle-manager-settings")
}

func TestTheStatusOfAKymaCoversOnlyItsOwnInstance(t *testing.T) {
	b := newLeaderStatusBench(t, record(), recordIn("kcp-system", "lifecycle-manager-settings-1"), recordIn("elsewhere", "lifecycle-manager-settings"))
	b.wrong = errors.New("away")
	b.after(t, time.Second)
	b.Instance, b.Key.Name, b.written = "other", "lifecycle-manager-settings-1", leaderStatus{}
	b.after(t, time.Second)
	require.Len(t, b.shown(t), 2)
	require.Len(t, b.shown(t, "other", "other"), 1)
	require.Equal(t, "other", b.shown(t, "other")[0].Instance)

	// The instance has moved.
	b.Instance, b.Key, b.written, b.wrong = "lifecycle-manager", types.NamespacedName{Namespace: "elsewhere", Name: "lifecycle-manager-settings"}, leaderStatus{}, nil
	b.after(t, time.Second)
	require.Empty(t, b.shown(t, "lifecycle-manager"), "the newer record counts")
}

func TestWithoutTheRightToReadRecordsTheStatusIsUnknown(t *testing.T) {
	b := newLeaderStatusBench(t, record())
	b.wrong = errors.New("away")
	b.after(t, time.Second)
	all, own := true, true
	reader := interceptor.NewClient(b.WithWatch, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			applied := client.ListOptions{}
			applied.ApplyOptions(opts)
			if _, ok := list.(*corev1.ConfigMapList); ok && (applied.Namespace == "" && !all || applied.Namespace != "" && !own) {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)
			}
			return c.List(ctx, list, opts...)
		},
	})
	var unknown error
	problemsSeen := func() int {
		p := NewProblems(reader, func() time.Time { return b.clock })
		found, err := p.Of(t.Context(), []string{"lifecycle-manager"})
		require.NoError(t, err)
		unknown = p.Unknown()
		return len(found)
	}
	require.Equal(t, 1, problemsSeen())
	all = false
	require.Equal(t, 1, problemsSeen(), "in kcp-system the caller may read it")
	require.NoError(t, unknown)
	own = false
	require.Zero(t, problemsSeen())
	require.ErrorContains(t, unknown, "configmaps is forbidden")
	own = true
	require.NoError(t, b.Delete(t.Context(), record()))
	require.Zero(t, problemsSeen(), "the record may be in another namespace")
	require.Error(t, unknown)
}
