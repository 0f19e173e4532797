package sync

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// prepared returns a bench with a cluster that was synchronized once. Its later synchronizations run in the background.
func prepared(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.Template("keda", "1.0.0"), desiredtest.ReleaseMeta("keda", "regular=1.0.0"))
	b.sync(t)
	b.forget()
	b.in.Background = true
	return b
}

func readInFull() []string {
	return []string{
		"get Namespace kube-system", "get Namespace kyma-system", "list CustomResourceDefinitionList",
		"get Kyma default", "list ModuleTemplateList", "list ModuleReleaseMetaList",
	}
}

func TestABackgroundSynchronizationRecognizesTheClusterByItsKyma(t *testing.T) {
	b := prepared(t)
	require.Equal(t, Result{Outcome: OutcomeSynced, Cluster: "remote-uid"}, b.sync(t))
	require.Equal(t, []string{"get Kyma default", "list ModuleTemplateList", "list ModuleReleaseMetaList"}, b.remote.Reads())

	b.forget()
	b.in.Background = false
	b.sync(t)
	require.Equal(t, readInFull(), b.remote.Reads(), "a user waits, and may have repaired something")

	b.forget()
	b.in.Background, b.access = true, nil
	b.sync(t)
	require.Equal(t, readInFull(), b.remote.Reads(), "another process may have other CRDs, or the access changed")
}

func TestARecognizedClusterGetsTheCatalogAndItsOwnersEdits(t *testing.T) {
	b := prepared(t)
	b.editRemote(t, func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" })
	require.NoError(t, b.control.Create(t.Context(), desiredtest.Template("btp", "1.0.0")))
	require.NoError(t, b.control.Create(t.Context(), desiredtest.ReleaseMeta("btp", "regular=1.0.0")))
	b.forget()
	require.True(t, b.sync(t).AcceptedChange)
	require.Equal(t, []string{"apply ModuleReleaseMeta btp", "apply ModuleTemplate btp-1.0.0"}, b.remote.Writes())
	require.NotContains(t, b.remote.Reads(), "get Namespace kube-system")
}

func TestAClusterIsNotRecognized(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, b *bench){
		"by a Kyma that was created again": func(t *testing.T, b *bench) {
			require.NoError(t, b.remote.Delete(t.Context(), b.remoteKyma(t)))
			anew := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "kyma-system", UID: "another"}}
			require.NoError(t, b.remote.Create(t.Context(), anew))
		},
		"by a Kyma under deletion": func(t *testing.T, b *bench) {
			b.editRemote(t, func(k *v1beta2.Kyma) { k.Finalizers = []string{"example.com/held"} })
			require.NoError(t, b.remote.Delete(t.Context(), b.remoteKyma(t)))
		},
		"after a synchronization that failed in part": func(t *testing.T, b *bench) {
			b.remote.Fail = func(verb, object string) error {
				if verb == "list" && strings.HasPrefix(object, "ModuleTemplate") {
					return apierrors.NewInternalError(errors.New("etcd is tired"))
				}
				return nil
			}
			require.Equal(t, fault.Transient, b.sync(t).Faults[fault.PartCatalog].Kind)
			b.remote.Fail = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := prepared(t)
			change(t, b)
			b.forget()
			b.sync(t)
			for _, read := range readInFull() {
				require.Contains(t, b.remote.Reads(), read)
			}
		})
	}
}

func TestAnotherClusterBehindTheSameAccessIsNotRecognized(t *testing.T) {
	b := prepared(t)
	b.remote = desiredtest.NewCluster("replaced")
	require.Equal(t, "replaced", b.sync(t).Cluster)
	require.Equal(t, "replaced", b.kyma(t).Status.Remote.Cluster)
}

func TestAClusterThatFailsDuringRecognitionIsNotAskedTwice(t *testing.T) {
	b := prepared(t)
	b.remote.Fail = func(string, string) error { return apierrors.NewUnauthorized("expired") }
	_, err := b.syncRemote(t.Context(), b.in)
	require.Equal(t, fault.Unreachable, fault.Of(err).Kind)
	require.Equal(t, []string{"get Kyma default"}, b.remote.Reads())
}
