package credentials_test

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/persistent"
	"github.com/kyma-project/lifecycle-manager/test/agenttest"
	"github.com/kyma-project/lifecycle-manager/watchers/listener/credentials"
)

// run reads the Secret istio-system/listener of a fake control plane.
func run(t *testing.T, withKey bool) (*credentials.Secret, client.Client) {
	t.Helper()
	cluster := fake.NewClientBuilder().Build()
	s := credentials.NewSecret(cluster, client.ObjectKey{Namespace: "istio-system", Name: "listener"}, withKey, logr.Discard())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(t.Context()) }()
	t.Cleanup(func() { require.NoError(t, <-ended) })
	require.False(t, s.NeedLeaderElection())
	return s, cluster
}

func secret(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "istio-system", Name: "listener"}, Data: data}
}

// inTime runs a subtest with a fake clock.
func inTime(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// soon is the time after which a change must be in use.
const soon = 6 * time.Second

// awaits returns the Material a few seconds later. It must differ from the previous one.
func awaits(t *testing.T, s *credentials.Secret, before string) credentials.Material {
	t.Helper()
	time.Sleep(soon)
	now, there := s.Current()
	require.True(t, there)
	require.NotEqual(t, before, now.Version)
	return now
}

func TestAChangeOfTheSecretIsUsedWithinSeconds(t *testing.T) {
	synctest.Test(t, changes)
}

func changes(t *testing.T) {
	t.Helper()
	s, cluster := run(t, true)
	_, there := s.Current()
	require.False(t, there, "there is no Secret yet")
	one, two := agenttest.NewAuthority(t, "one"), agenttest.NewAuthority(t, "two")
	written := secret(one.Secret("listener"))
	require.NoError(t, cluster.Create(t.Context(), written))
	first := awaits(t, s, "")
	require.Equal(t, "listener", first.Certificate.Leaf.Subject.CommonName)
	require.True(t, first.Authorities.Equal(one.Pool()))

	written.Data = two.Secret("listener")
	written.Data[shared.CertificateAuthorityKey] = append(two.PEM, one.PEM...)
	require.NoError(t, cluster.Update(t.Context(), written))
	second := awaits(t, s, first.Version)
	both := one.Pool()
	both.AppendCertsFromPEM(two.PEM)
	require.True(t, second.Authorities.Equal(both))
}

// At the first start the Secret is created within seconds.
func TestAMissingSecretIsAnErrorOnlyIfItStaysMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		s := credentials.NewSecret(fake.NewClientBuilder().Build(), client.ObjectKey{Namespace: "istio-system", Name: "listener"}, true, log)
		ended := make(chan error, 1)
		go func() { ended <- s.Start(t.Context()) }()
		t.Cleanup(func() { require.NoError(t, <-ended) })
		time.Sleep(persistent.After - time.Second)
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], `"msg"="waiting for the listener's Secret"`)
		time.Sleep(time.Minute)
		require.Len(t, lines, 2)
		require.Contains(t, lines[1], `"error"="secrets \"listener\" not found"`)
	})
}

func TestASecretThatCannotBeUsedChangesNothing(t *testing.T) {
	one, two := agenttest.NewAuthority(t, "one"), agenttest.NewAuthority(t, "two")
	good := one.Secret("listener")
	for name, change := range map[string]func(map[string][]byte){
		"a key of another certificate": func(data map[string][]byte) {
			data[shared.PrivateKeyKey] = two.Secret("listener")[shared.PrivateKeyKey]
		},
		"no authorities": func(data map[string][]byte) { data[shared.CertificateAuthorityKey] = []byte("none") },
		"nothing":        func(data map[string][]byte) { clear(data) },
	} {
		inTime(t, name, func(t *testing.T) {
			s, cluster := run(t, true)
			written := secret(good)
			require.NoError(t, cluster.Create(t.Context(), written))
			first := awaits(t, s, "")
			written.Data = maps.Clone(good)
			change(written.Data)
			require.NoError(t, cluster.Update(t.Context(), written))
			time.Sleep(soon)
			now, there := s.Current()
			require.True(t, there)
			require.Equal(t, first.Version, now.Version)
			require.NoError(t, cluster.Delete(t.Context(), written))
			time.Sleep(soon)
			now, there = s.Current()
			require.True(t, there, "agents still connect after the Secret was deleted")
			require.Equal(t, first.Version, now.Version)
		})
	}
}

func TestBehindAGatewayTheAuthoritiesAreEnough(t *testing.T) {
	synctest.Test(t, behindAGateway)
}

func behindAGateway(t *testing.T) {
	t.Helper()
	s, cluster := run(t, false)
	authority := agenttest.NewAuthority(t, "one")
	data := authority.Secret("listener")
	delete(data, shared.CertificateKey)
	require.NoError(t, cluster.Create(t.Context(), secret(data)))
	now := awaits(t, s, "")
	require.True(t, now.Authorities.Equal(authority.Pool()))
	require.Empty(t, now.Certificate.Certificate, "an unused private key is not kept")
}
