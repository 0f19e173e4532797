package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/sync/agent"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

func TestAChangeOfTheSecretIsSeenInItsMetadataAndPutRight(t *testing.T) {
	a := newAuthority(t, "one")
	for what, test := range map[string]struct {
		change func(*corev1.Secret)
		// unseen is a change of nothing that is ours.
		unseen bool
	}{
		"another private key":              {change: func(s *corev1.Secret) { s.Data[shared.PrivateKeyKey] = []byte("of somebody else") }},
		"another certificate":              {change: func(s *corev1.Secret) { s.Data[shared.CertificateKey] = []byte("of somebody else") }},
		"no authorities":                   {change: func(s *corev1.Secret) { s.Data[shared.CertificateAuthorityKey] = nil }},
		"another version":                  {change: func(s *corev1.Secret) { s.Annotations[agent.AnnotationVersion] = "0" }},
		"no word of whose it is":           {change: func(s *corev1.Secret) { delete(s.Annotations, "from") }},
		"no label":                         {change: func(s *corev1.Secret) { s.Labels = nil }},
		"managed fields that were cleared": {change: func(s *corev1.Secret) { s.ManagedFields = []metav1.ManagedFieldsEntry{{}} }},
		"an annotation of somebody else's": {change: func(s *corev1.Secret) { s.Annotations["note"] = "mine" }, unseen: true},
		"a key of somebody else's":         {change: func(s *corev1.Secret) { s.Data["note"] = []byte("mine") }, unseen: true},
		"a write that leaves it as it was": {change: func(*corev1.Secret) {}, unseen: true},
	} {
		t.Run(what, func(t *testing.T) {
			remote, secret := newRemote().Build(), wanted(a.sign(t), a.pem, "1")
			_, err := agent.EnsureCertificate(t.Context(), remote, secret)
			require.NoError(t, err)
			require.False(t, isLost(t, remote), "it is as it was brought")

			found := secretIn(t, remote)
			test.change(found)
			require.NoError(t, remote.Update(t.Context(), found, client.FieldOwner("kubectl-edit")))
			require.Equal(t, !test.unseen, isLost(t, remote))

			wrote, err := agent.EnsureCertificate(t.Context(), remote, secret)
			require.NoError(t, err)
			require.Equal(t, test.unseen, wrote == 0)
			require.False(t, isLost(t, remote))
			now := secretIn(t, remote)
			require.Equal(t, "key 1", string(now.Data[shared.PrivateKeyKey]))
			require.Equal(t, secret.Certificate, now.Data[shared.CertificateKey])
			require.Equal(t, shared.ManagedByKyma, now.Labels[shared.LabelManagedBy])
		})
	}
}

// Whoever has put back what he had changed owns it: his next change would not be seen.
func TestWhatSomebodyChangedAndPutBackIsOursAgain(t *testing.T) {
	a := newAuthority(t, "one")
	remote, secret := newRemote().Build(), wanted(a.sign(t), a.pem, "1")
	_, err := agent.EnsureCertificate(t.Context(), remote, secret)
	require.NoError(t, err)
	for _, key := range []string{"another", "key 1"} {
		found := secretIn(t, remote)
		found.Data[shared.PrivateKeyKey] = []byte(key)
		require.NoError(t, remote.Update(t.Context(), found, client.FieldOwner("kubectl-edit")))
	}
	require.True(t, isLost(t, remote))
	wrote, err := agent.EnsureCertificate(t.Context(), remote, secret)
	require.NoError(t, err)
	require.Equal(t, 1, wrote)
	require.False(t, isLost(t, remote))
}

func TestASecretThatIsGoneIsLostAndOneOfSomebodyElseIsNot(t *testing.T) {
	require.True(t, isLost(t, newRemote().Build()))
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kyma-system", Name: shared.AgentSecret}}
	require.False(t, isLost(t, newRemote().WithObjects(theirs).Build()), "it stays in the way")
	going := theirs.DeepCopy()
	going.Labels = map[string]string{shared.LabelManagedBy: shared.ManagedByKyma}
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"example.com/nobody"}
	require.False(t, isLost(t, newRemote().WithObjects(going).Build()), "nothing can be done before it is gone")
}

func isLost(t *testing.T, remote client.Client) bool {
	t.Helper()
	found, err := agent.Metadata(t.Context(), remote, "kyma-system")
	require.NoError(t, err)
	return agent.IsLost(found, map[string]string{"from": "here"})
}
