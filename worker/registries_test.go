package worker

import (
	"context"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

type watched []artifacts.Waiter

func (w watched) Watch(ctx context.Context, wake func(context.Context, []artifacts.Waiter)) {
	wake(ctx, w)
}

type kicked []string

func (k *kicked) SignalOpen(_ context.Context, id string, sent kick.Kick) error {
	at := ""
	if sent.NotBefore != nil {
		at = " later"
	}
	if sent.Work {
		id += " for " + sent.Name
	}
	*k = append(*k, id+at)
	return nil
}

func TestWorkflowsThatWaitForARegistryAreWokenEvenAfterARestart(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	var all []client.Object
	for name, reason := range map[string]string{
		"missing": artifacts.ReasonLayerNotFound, "down": artifacts.ReasonRegistryUnavailable, "failed": readiness.ReasonApplyFailed, "invalid": artifacts.ReasonInvalidReference,
	} {
		all = append(all, &v1beta2.Manifest{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "n", Name: name, UID: "u",
				OwnerReferences: []metav1.OwnerReference{{Kind: "Kyma", Name: "k", UID: "u", Controller: new(true)}},
			},
			Status: v1beta2.ManifestStatus{LastOperation: &v1beta2.LastOperation{Reason: reason}},
		})
	}
	all = append(all, &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "new", UID: "u"}})
	var woken kicked
	r := &Registries{
		Store: watched{{Workflow: "kyma/n/k/u"}}, Kicks: &woken, Log: logr.Discard(),
		Manifests: fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).Build(),
	}
	require.NoError(t, r.Start(t.Context()))
	require.Equal(t, "kyma/n/k/u for down, kyma/n/k/u for missing later, kyma/n/k/u", strings.Join(woken, ", "))
}
