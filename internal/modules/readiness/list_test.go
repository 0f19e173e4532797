package readiness

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

func TestModulesOfARoundShareTheListOfAKind(t *testing.T) {
	const modules = 5
	var names []string
	var objects []runtime.Object
	object := func(name, manifest string) {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, Labels: map[string]string{shared.LabelManagedBy: shared.ManagedByKyma, shared.LabelComponent: manifest},
		}})
	}
	for i := range modules {
		names = append(names, fmt.Sprintf("kyma-module-%d", i))
		object(fmt.Sprintf("settings-%d", i), names[i])
	}
	object("of-another", "kyma-another")
	client := fake.NewSimpleDynamicClient(clientgoscheme.Scheme, objects...)
	c := &clusters.Cluster{Dynamic: client}
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	resource := kinds.Resource{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("configmaps")}

	// The reader that began the LIST gives up while the LIST is in progress.
	asked, answer := make(chan struct{}), make(chan struct{})
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		close(asked) // panics if there is a second LIST
		<-answer
		return false, nil, nil
	})
	round := NewRound(names)
	impatient, giveUp := context.WithCancel(t.Context())
	go func() { <-asked; giveUp() }()
	_, err := round.list(impatient, c, gvk, resource)
	require.ErrorIs(t, err, context.Canceled)

	var readers sync.WaitGroup
	for i, name := range names {
		readers.Go(func() {
			found, _ := round.list(t.Context(), c, gvk, resource)
			assert.Len(t, found, modules, "only the requested modules")
			assert.Len(t, found[name], 1)
			assert.NotNil(t, found[name][types.NamespacedName{Namespace: "ns", Name: fmt.Sprintf("settings-%d", i)}])
		})
	}
	close(answer)
	readers.Wait()
	require.Len(t, client.Actions(), 1)
}
