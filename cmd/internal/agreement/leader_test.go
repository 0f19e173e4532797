package agreement

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

func TestInstancesThatShareAControlPlaneHaveTheirOwnLeaders(t *testing.T) {
	first := LeaseName("")
	require.Equal(t, "lifecycle-manager.operator.kyma-project.io", first)
	require.Equal(t, first, LeaseName("lifecycle-manager"))
	second, third := LeaseName("Team_B"), LeaseName("team-b")
	require.NotEqual(t, first, second)
	require.NotEqual(t, second, third)
	require.Equal(t, second, LeaseName("Team_B"))
	require.Empty(t, validation.IsDNS1123Subdomain(second))
}

func TestTheRecordOfAnEarlierLeaderDoesNotCountForTheNext(t *testing.T) {
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
		require.Equal(t, written, record(), "it is written once")
	}
	holds("first", began)
	leads(began.Add(time.Second))
	require.True(t, IsOfLeader(record(), lease, began.Add(2*time.Second)))
	require.False(t, IsOfLeader(record(), lease, began.Add(15*time.Second)), "the leader has not renewed the Lease")
	holds("", began)
	require.False(t, IsOfLeader(record(), lease, began.Add(2*time.Second)), "the leader has released the Lease")

	again := began.Add(time.Hour)
	holds("second", again)
	require.False(t, IsOfLeader(record(), lease, again.Add(time.Second)), "the second leader may have other settings")
	leads(again.Add(time.Second))
	require.True(t, IsOfLeader(record(), lease, again.Add(2*time.Second)))
}

func TestTheRecordOfAnInstanceIsFoundWhereverItIs(t *testing.T) {
	at := func(namespace, managedBy string, confirmed time.Time) *corev1.ConfigMap {
		record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: RecordName(managedBy), Labels: map[string]string{shared.LabelPurpose: Purpose},
		}}
		if !confirmed.IsZero() {
			metav1.SetMetaDataAnnotation(&record.ObjectMeta, shared.AnnotationSettingsConfirmed, confirmed.Format(time.RFC3339Nano))
		}
		return record
	}
	now := time.Now()
	c := fake.NewClientBuilder().WithObjects(
		at("kcp-system", "", now.Add(-time.Hour)), at("moved", "", now), at("earlier", "", time.Time{}), at("kcp-system", "other", now)).Build()
	found := func(reader client.Reader, namespace, managedBy string) string {
		record, err := Find(t.Context(), reader, namespace, managedBy)
		require.NoError(t, err)
		if record == nil {
			return ""
		}
		return record.Namespace + "/" + record.Name
	}
	require.Equal(t, "moved/lifecycle-manager-settings", found(c, "", ""), "the record that was confirmed last")
	require.Equal(t, "earlier/lifecycle-manager-settings", found(c, "earlier", ""))
	require.Equal(t, "kcp-system/"+RecordName("other"), found(c, "", "other"))
	require.Empty(t, found(c, "", "third"))
	require.Empty(t, found(c, "elsewhere", ""))

	refuse := func(list, get bool) client.Reader {
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)
		return interceptor.NewClient(c, interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, into client.ObjectList, opts ...client.ListOption) error {
				if list {
					return forbidden
				}
				return c.List(ctx, into, opts...)
			},
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
				if get {
					return forbidden
				}
				return c.Get(ctx, key, into, opts...)
			},
		})
	}
	require.Equal(t, "kcp-system/lifecycle-manager-settings", found(refuse(true, false), "", ""), "the pods' accounts may only get it by name")
	_, err := Find(t.Context(), refuse(true, true), "", "")
	require.True(t, apierrors.IsForbidden(err))
}
