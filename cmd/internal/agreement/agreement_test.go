package agreement

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/internal/platform/persistent"
)

// party is a process that compares its settings.
type party struct {
	*Agreement
	settings map[string]string
	lead     chan struct{}
	lines    []string
	clock    time.Time
}

var recordKey = types.NamespacedName{Namespace: "kcp-system", Name: "lifecycle-manager-settings"}

func newParty(t *testing.T, c client.Client, mayLead bool, settings map[string]string) *party {
	t.Helper()
	p := &party{settings: settings, clock: time.Now()}
	if mayLead {
		p.lead = make(chan struct{})
	}
	log := funcr.New(func(_, args string) { p.lines = append(p.lines, args) }, funcr.Options{})
	var err error
	p.Agreement, err = New(c, recordKey, func() map[string]string { return p.settings }, p.lead, prometheus.NewRegistry(), log)
	require.NoError(t, err)
	p.now = func() time.Time { return p.clock }
	return p
}

func (p *party) checks(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Compare(t.Context()))
}

func settingsWith(name, value string) map[string]string {
	settings := map[string]string{"mode": "control-plane", "signature-policy": "require", SettingPolicy: "digest"}
	settings[name] = value
	return settings
}

func controlPlane() client.Client { return fake.NewClientBuilder().Build() }

func TestAWorkerWithOtherSettingsThanItsInstanceDoesNoWork(t *testing.T) {
	c := controlPlane()
	like, unlike := newParty(t, c, false, settingsWith("mode", "control-plane")), newParty(t, c, false, settingsWith(SettingPolicy, ""))
	like.checks(t)
	require.False(t, like.atWork())
	require.EqualError(t, like.Check(nil), "no process has led this instance yet, so its settings are not recorded")

	leader := newParty(t, c, true, settingsWith("mode", "control-plane"))
	leader.checks(t)
	require.False(t, leader.atWork(), "the process does not lead yet")
	close(leader.lead)
	leader.checks(t)
	require.True(t, leader.atWork())

	like.checks(t)
	require.True(t, like.atWork())
	require.NoError(t, like.Check(nil))
	require.InDelta(t, 1, testutil.ToFloat64(like.agrees), 0)
	unlike.checks(t)
	unlike.checks(t)
	require.False(t, unlike.atWork())
	says := `the settings of this process differ from those of its instance, so it does no work: maintenance-policy is "" here and "digest" there`
	require.EqualError(t, unlike.Check(nil), says)
	require.Zero(t, testutil.ToFloat64(unlike.agrees))
	require.Len(t, unlike.lines, 1)
	require.Contains(t, unlike.lines[0], "maintenance-policy")

	unlike.settings = settingsWith("mode", "control-plane")
	unlike.checks(t)
	require.True(t, unlike.atWork(), "its policy file has arrived")
}

func TestWhenSettingsChangeOnPurposeOldProcessesEndAndWait(t *testing.T) {
	c := controlPlane()
	old, worker := newParty(t, c, true, settingsWith("mode", "control-plane")), newParty(t, c, false, settingsWith("mode", "control-plane"))
	close(old.lead)
	old.checks(t)
	worker.checks(t)

	next := newParty(t, c, true, settingsWith("mode", "single-cluster"))
	next.checks(t)
	require.False(t, next.atWork(), "the old leader leads")
	require.NoError(t, next.Check(nil), "otherwise the rolling update that replaces the old leader would wait for this process")
	require.Contains(t, next.lines[0], `mode is \"single-cluster\" here`)

	close(next.lead)
	next.checks(t)
	require.True(t, next.atWork())
	require.ErrorContains(t, worker.Compare(t.Context()), "mode")
	require.ErrorContains(t, old.Compare(t.Context()), "another process has taken over this instance")

	again := newParty(t, c, false, settingsWith("mode", "control-plane"))
	again.checks(t)
	require.False(t, again.atWork())
	replaced := newParty(t, c, false, settingsWith("mode", "single-cluster"))
	replaced.checks(t)
	require.True(t, replaced.atWork())
}

// The nodes refresh a mounted file one after the other.
func TestAPolicyThatReachesProcessesOneAfterTheOtherEndsNoProcess(t *testing.T) {
	c := controlPlane()
	leader, worker := newParty(t, c, true, settingsWith("mode", "control-plane")), newParty(t, c, false, settingsWith("mode", "control-plane"))
	close(leader.lead)
	leader.checks(t)
	worker.checks(t)

	leader.settings = settingsWith(SettingPolicy, "new")
	leader.checks(t)
	worker.checks(t)
	worker.clock = worker.clock.Add(time.Minute)
	worker.checks(t)
	worker.settings = settingsWith(SettingPolicy, "new")
	worker.checks(t)
	require.NoError(t, worker.Check(nil))

	worker.settings = settingsWith(SettingPolicy, "another")
	worker.checks(t)
	worker.clock = worker.clock.Add(policyReachesAll)
	require.ErrorContains(t, worker.Compare(t.Context()), "maintenance-policy")
}

func TestAnUnreadableRecordStopsNoProcess(t *testing.T) {
	down := errors.New("the API server is down")
	reads := error(nil)
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, next client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if reads != nil {
				return reads
			}
			return next.Get(ctx, key, obj, opts...)
		},
	}).Build()
	leader, worker := newParty(t, c, true, settingsWith("mode", "control-plane")), newParty(t, c, false, settingsWith("mode", "control-plane"))
	close(leader.lead)
	leader.checks(t)
	worker.checks(t)
	reads = down
	leader.checks(t)
	worker.checks(t)
	require.True(t, worker.atWork())
	late := newParty(t, c, false, settingsWith("mode", "control-plane"))
	late.checks(t)
	require.False(t, late.atWork())
	require.ErrorContains(t, late.Check(nil), "the API server is down")
}

// The first leader of an instance, or one with new settings, records them within seconds.
func TestWaitingForALeaderIsAnErrorOnlyIfItLasts(t *testing.T) {
	c := controlPlane()
	worker := newParty(t, c, false, settingsWith("mode", "control-plane"))
	worker.checks(t)
	require.Len(t, worker.lines, 1)
	require.NotContains(t, worker.lines[0], `"error"=`)
	worker.clock = worker.clock.Add(persistent.After)
	worker.checks(t)
	require.Len(t, worker.lines, 2)
	require.Contains(t, worker.lines[1], `"error"="no process has led this instance yet`)

	leader := newParty(t, c, true, settingsWith("mode", "single-cluster"))
	close(leader.lead)
	leader.checks(t)
	for _, late := range []*party{worker, newParty(t, c, false, worker.settings)} {
		late.lines = nil
		late.checks(t)
		require.Len(t, late.lines, 1)
		require.Equal(t, late == worker, strings.Contains(late.lines[0], `"error"=`), "the process has waited for long")
	}
}

func TestADeletedRecordIsWrittenAgain(t *testing.T) {
	c := controlPlane()
	leader := newParty(t, c, true, settingsWith("mode", "control-plane"))
	close(leader.lead)
	leader.checks(t)
	record := &corev1.ConfigMap{}
	require.NoError(t, c.Get(t.Context(), recordKey, record))
	require.NoError(t, c.Delete(t.Context(), record))
	leader.checks(t)
	require.NoError(t, c.Get(t.Context(), recordKey, record))
	require.Equal(t, leader.settings, record.Data)
}

func TestWorkBeginsWithTheAgreement(t *testing.T) {
	reached, started := make(chan struct{}), make(chan struct{})
	gate := Gate{Runnable: runnable(func(context.Context) error { close(started); return nil }), Reached: reached}
	require.False(t, gate.NeedLeaderElection())
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, gate.Start(stopped))
	select {
	case <-started:
		t.Fatal("it began before the agreement")
	default:
	}
	close(reached)
	require.NoError(t, gate.Start(t.Context()))
	<-started
}

type runnable func(context.Context) error

func (r runnable) Start(ctx context.Context) error { return r(ctx) }
