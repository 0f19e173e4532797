package storedversions

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// leading is a leader with an account that has all or no rights, for one definition without objects. Tests on a real
// API server cover objects.
type leading struct {
	*leader
	allowed bool
	failing error
	lines   []string
}

func newLeading(t *testing.T) *leading {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "kymas.example.com"}}
	crd.Spec.Group, crd.Spec.Names, crd.Spec.Versions = "example.com", apiextensionsv1.CustomResourceDefinitionNames{Plural: "kymas", Kind: "Kyma"}, versionsOf("v1beta1", "v1beta2*")
	crd.Status.StoredVersions = []string{"v1beta1", "v1beta2"}
	l := &leading{allowed: true}
	live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(crd).WithStatusSubresource(crd).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, review client.Object, _ ...client.CreateOption) error {
			review.(*authorizationv1.SelfSubjectAccessReview).Status.Allowed = l.allowed //nolint:errcheck,forcetypeassert // nothing else is created
			return nil
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return l.failing
		},
	}).Build()
	log := funcr.New(func(_, line string) { l.lines = append(l.lines, line) }, funcr.Options{})
	l.leader = &leader{migrator: &Migrator{client: live, perSecond: PerSecond}, names: []string{"kymas.example.com", "missing.example.com"}, log: logr.New(log.GetSink()), backoff: newBackoff(), said: map[string]string{}}
	return l
}

func TestTheLeaderMigratesOnceAndThenOnlyChecks(t *testing.T) {
	l := newLeading(t)
	require.Equal(t, time.Hour, l.attempt(t.Context()))
	require.Len(t, l.lines, 2)
	require.Contains(t, l.lines[0], `"objects may be stored in an older version, rewriting all of them" "name"="kymas.example.com" "storageVersion"="v1beta2" "storedVersions"=["v1beta1"] "total"=0`)
	require.Contains(t, l.lines[1], "no object is stored in an older version any more")

	require.Equal(t, time.Hour, l.attempt(t.Context()))
	require.Len(t, l.lines, 2, "nothing is logged if nothing is to be done")
}

func TestWithoutRightsTheLeaderLogsTheCommandOnce(t *testing.T) {
	l := newLeading(t)
	l.allowed = false
	for range 3 {
		require.Equal(t, 10*time.Minute, l.attempt(t.Context()))
	}
	require.Len(t, l.lines, 1)
	require.Contains(t, l.lines[0], "lifecycle-manager crds migrate")
	require.Contains(t, l.lines[0], `may not list kymas.example.com in all namespaces, patch customresourcedefinitions/status.apiextensions.k8s.io named kymas.example.com`)

	l.allowed = true
	require.Equal(t, time.Hour, l.attempt(t.Context()), "the account gets the rights while the leader runs")
	require.Len(t, l.lines, 3)
}

func TestTheLeaderBacksOffAfterFailures(t *testing.T) {
	l := newLeading(t)
	l.failing = errors.New("the API server is busy")
	last := time.Duration(0)
	for range 10 {
		next := l.attempt(t.Context())
		require.Greater(t, next, min(last, 9*time.Minute))
		require.LessOrEqual(t, next, 11*time.Minute)
		last = next
	}
	require.Greater(t, last, 9*time.Minute)
	require.Len(t, l.lines, 10)
	require.Contains(t, l.lines[9], "the API server is busy")

	l.failing = nil
	require.Equal(t, time.Hour, l.attempt(t.Context()))
}

func TestTheLeaderEndsWithItsContext(t *testing.T) {
	l := newLeading(t)
	l.migrator.settle = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, l.Start(ctx))
	require.Empty(t, l.lines)
}
