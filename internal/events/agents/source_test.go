package agents_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/events/agents"
	"github.com/kyma-project/lifecycle-manager/internal/model/agent"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func watcher(namespace, name string, change func(*v1beta2.Watcher)) v1beta2.Watcher {
	w := v1beta2.Watcher{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1beta2.WatcherSpec{
			Manager: "lifecycle-manager", Field: v1beta2.WatchedFieldSpec,
			ResourceToWatch: v1beta2.WatchableGVR{Group: "operator.kyma-project.io", Version: "*", Resource: "kymas"},
			LabelsToWatch:   map[string]string{shared.LabelWatchedBy: shared.WatchedByKyma},
		},
	}
	if change != nil {
		change(&w)
	}
	return w
}

func TestTheSpecOfAgentsFollowsWatchersAndIsNeverGuessed(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	one := watcher("kcp-system", "kyma", nil)
	watchers := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&one).Build()
	var failed error
	source, err := agents.NewSource(agents.Options{
		Settings: desired.Settings{Watching: desired.Watching{Image: "agent:1"}}, Watchers: watchers,
		Authorities: func(context.Context) ([]byte, error) { return []byte("PEM"), nil },
		Address:     func(context.Context) (string, error) { return "listener:443", failed },
		Certificate: func(context.Context, *v1beta2.Kyma) (desired.SecretVersion, error) {
			return desired.SecretVersion{}, nil
		},
	})
	require.NoError(t, err)
	before, err := source.Version(t.Context())
	require.NoError(t, err)

	one.Spec.LabelsToWatch = nil
	require.NoError(t, watchers.Update(t.Context(), &one))
	after, err := source.Version(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, before, after)

	failed = fault.New(fault.Pending, "GatewayNotFound", "there is no Gateway")
	unknown, err := source.Version(t.Context())
	require.NoError(t, err)
	require.Equal(t, agent.Unknown("GatewayNotFound"), unknown)
	failed = fault.New(fault.Transient, "Error", "not now")
	_, err = source.Version(t.Context())
	require.Error(t, err)
}

func TestAuthoritiesAreReadOnceInAWhile(t *testing.T) {
	key := types.NamespacedName{Namespace: "istio-system", Name: "listener"}
	secrets := fake.NewClientBuilder().Build()
	now := time.Now()
	authorities := agents.NewAuthorities(secrets, key, func() time.Time { return now })
	_, err := authorities.Get(t.Context())
	require.Equal(t, fault.Pending, fault.Of(err).Kind)

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: map[string][]byte{shared.CertificateAuthorityKey: []byte("one")}}
	require.NoError(t, secrets.Create(t.Context(), secret))
	read, err := authorities.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, "one", string(read))
	secret.Data[shared.CertificateAuthorityKey] = []byte("two")
	require.NoError(t, secrets.Update(t.Context(), secret, &client.UpdateOptions{}))
	read, err = authorities.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, "one", string(read))
	now = now.Add(time.Minute)
	read, err = authorities.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, "two", string(read))
}
