package objects

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestARefusedApplyIsPostedAndAnUnansweredApplyIsNotRepeated(t *testing.T) {
	unreachable := errors.New("no route to host")
	for applied, posts := range map[error]int{apierrors.NewBadRequest("field not declared in schema"): 1, unreachable: 0} {
		posted := 0
		c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				return applied
			},
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				posted++
				return nil
			},
		}).Build()
		err := CreateTyped(t.Context(), c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b"}}, "test")
		require.Equal(t, posts == 0, errors.Is(err, unreachable))
		require.Equal(t, posts, posted)
	}
}
