package agents_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/agents"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// change is a change that somebody makes to the Secret.
type change struct {
	of func(*corev1.Secret)
	// foreign is true if the change touches none of our fields.
	foreign bool
}

func changes() map[string]change {
	return map[string]change{
		"another private key":              {of: func(s *corev1.Secret) { s.Data[shared.PrivateKeyKey] = []byte("of somebody else") }},
		"another certificate":              {of: func(s *corev1.Secret) { s.Data[shared.CertificateKey] = []byte("of somebody else") }},
		"no authorities":                   {of: func(s *corev1.Secret) { delete(s.Data, shared.CertificateAuthorityKey) }},
		"another version":                  {of: func(s *corev1.Secret) { s.Annotations[agents.AnnotationVersion] = "0" }},
		"no annotation of its owner":       {of: func(s *corev1.Secret) { delete(s.Annotations, "from") }},
		"no label":                         {of: func(s *corev1.Secret) { s.Labels = nil }},
		"managed fields that were cleared": {of: func(s *corev1.Secret) { s.ManagedFields = []metav1.ManagedFieldsEntry{{}} }},
		"an annotation of somebody else's": {of: func(s *corev1.Secret) { s.Annotations["note"] = "mine" }, foreign: true},
		"a key of somebody else's":         {of: func(s *corev1.Secret) { s.Data["note"] = []byte("mine") }, foreign: true},
		"a write without a change":         {of: func(*corev1.Secret) {}, foreign: true},
	}
}

func TestAChangeOfTheSecretIsSeenInItsMetadataAndCorrected(t *testing.T) {
	for what, test := range changes() {
		t.Run(what, func(t *testing.T) { corrects(t, newRemote().Build(), "kyma-system", test) })
	}
}

func TestAChangeOfTheSecretIsSeenInTheMetadataOfARealServer(t *testing.T) {
	config, err := clientcmd.BuildConfigFromFlags("", testfleet.Require(t, "LM_TEST_REMOTE"))
	require.NoError(t, err)
	remote, err := client.New(config, client.Options{})
	require.NoError(t, err)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("agent-%d", time.Now().UnixNano())}}
	require.NoError(t, remote.Create(t.Context(), namespace))
	defer func() { require.NoError(t, remote.Delete(t.Context(), namespace)) }()
	for what, test := range changes() {
		t.Run(what, func(t *testing.T) {
			corrects(t, remote, namespace.Name, test)
			require.NoError(t, remote.Delete(t.Context(), secretOf(t, remote, namespace.Name)))
		})
	}
}

// corrects applies a Secret, lets somebody change it, and applies it again.
func corrects(t *testing.T, remote client.Client, namespace string, test change) {
	t.Helper()
	a := newAuthority(t, "one")
	secret := wanted(a.sign(t), a.pem, "1")
	secret.Namespace = namespace
	_, err := agents.EnsureCertificate(t.Context(), remote, secret)
	require.NoError(t, err)
	require.False(t, isLostIn(t, remote, namespace), "the Secret is unchanged")

	found := secretOf(t, remote, namespace)
	test.of(found)
	require.NoError(t, remote.Update(t.Context(), found, client.FieldOwner("kubectl-edit")))
	require.Equal(t, !test.foreign, isLostIn(t, remote, namespace))

	wrote, err := agents.EnsureCertificate(t.Context(), remote, secret)
	require.NoError(t, err)
	require.Equal(t, test.foreign, wrote == 0)
	require.False(t, isLostIn(t, remote, namespace))
	now := secretOf(t, remote, namespace)
	require.Equal(t, "key 1", string(now.Data[shared.PrivateKeyKey]))
	require.Equal(t, secret.Certificate, now.Data[shared.CertificateKey])
	require.Equal(t, a.pem, now.Data[shared.CertificateAuthorityKey])
	require.Equal(t, shared.ManagedByKyma, now.Labels[shared.LabelManagedBy])
}

// A field that somebody changed and changed back belongs to them. Their next change would go unnoticed.
func TestAFieldThatSomebodyChangedAndChangedBackIsOursAgain(t *testing.T) {
	a := newAuthority(t, "one")
	remote, secret := newRemote().Build(), wanted(a.sign(t), a.pem, "1")
	_, err := agents.EnsureCertificate(t.Context(), remote, secret)
	require.NoError(t, err)
	for _, key := range []string{"another", "key 1"} {
		found := secretIn(t, remote)
		found.Data[shared.PrivateKeyKey] = []byte(key)
		require.NoError(t, remote.Update(t.Context(), found, client.FieldOwner("kubectl-edit")))
	}
	require.True(t, isLost(t, remote))
	wrote, err := agents.EnsureCertificate(t.Context(), remote, secret)
	require.NoError(t, err)
	require.Equal(t, 1, wrote)
	require.False(t, isLost(t, remote))
}

func TestADeletedSecretIsLostAndAForeignSecretIsNot(t *testing.T) {
	require.True(t, isLost(t, newRemote().Build()))
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kyma-system", Name: shared.AgentSecret}}
	require.False(t, isLost(t, newRemote().WithObjects(theirs).Build()), "the foreign Secret stays")
	going := theirs.DeepCopy()
	going.Labels = map[string]string{shared.LabelManagedBy: shared.ManagedByKyma}
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"example.com/nobody"}
	require.False(t, isLost(t, newRemote().WithObjects(going).Build()), "nothing can be done before the deletion ends")
}

func isLost(t *testing.T, remote client.Client) bool {
	t.Helper()
	return isLostIn(t, remote, "kyma-system")
}

func isLostIn(t *testing.T, remote client.Client, namespace string) bool {
	t.Helper()
	found, err := agents.Metadata(t.Context(), remote, namespace)
	require.NoError(t, err)
	return agents.IsLost(found, map[string]string{"from": "here"})
}
