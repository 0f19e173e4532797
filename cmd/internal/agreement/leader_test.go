package agreement

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestInstancesThatShareAControlPlaneLeadEachForItself(t *testing.T) {
	first := LeaseName("")
	require.Equal(t, "lifecycle-manager.operator.kyma-project.io", first)
	require.Equal(t, first, LeaseName("lifecycle-manager"))
	second, third := LeaseName("Team_B"), LeaseName("team-b")
	require.NotEqual(t, first, second)
	require.NotEqual(t, second, third)
	require.Equal(t, second, LeaseName("Team_B"))
	require.Empty(t, validation.IsDNS1123Subdomain(second))
}

func TestTheSettingsOfAnEarlierLeaderAreNotThoseOfTheNext(t *testing.T) {
	c := controlPlane()
	record := func() *corev1.ConfigMap {
		read := &corev1.ConfigMap{}
		require.NoError(t, c.Get(t.Context(), recordKey, read))
		return read
	}
	lease, began := &coordinationv1.Lease{}, time.Now()
	holds := func(holder string, since time.Time) {
		at, seconds := metav1.NewMicroTime(since), int32(15)
		lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, AcquireTime: &at, RenewTime: &at, LeaseDurationSeconds: &seconds}
	}
	leads := func(at time.Time) {
		leader := newParty(t, c, true, settingsWith("mode", "control-plane"))
		leader.clock = at
		close(leader.lead)
		leader.checks(t)
		written := record()
		leader.clock = at.Add(time.Minute)
		leader.checks(t)
		require.Equal(t, written, record(), "once is enough")
	}
	holds("first", began)
	leads(began.Add(time.Second))
	require.True(t, IsOfLeader(record(), lease, began.Add(2*time.Second)))
	require.False(t, IsOfLeader(record(), lease, began.Add(15*time.Second)), "it has not renewed the Lease")
	holds("", began)
	require.False(t, IsOfLeader(record(), lease, began.Add(2*time.Second)), "it has released the Lease")

	again := began.Add(time.Hour)
	holds("second", again)
	require.False(t, IsOfLeader(record(), lease, again.Add(time.Second)), "the second may have other settings")
	leads(again.Add(time.Second))
	require.True(t, IsOfLeader(record(), lease, again.Add(2*time.Second)))
}
