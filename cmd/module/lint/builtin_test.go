package lint

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

// A typed client takes a namespace exactly if the kind is namespaced.
func TestScopeOfKindsMatchesTypedClients(t *testing.T) {
	known, err := newBuiltin("v1.36.1")
	require.NoError(t, err)
	seen := 0
	clients := reflect.TypeFor[kubernetes.Interface]()
	for i := range clients.NumMethod() {
		if clients.Method(i).Type.NumIn() != 0 || clients.Method(i).Type.NumOut() != 1 || clients.Method(i).Type.Out(0).Kind() != reflect.Interface {
			continue
		}
		group := clients.Method(i).Type.Out(0)
		for j := range group.NumMethod() {
			getter := group.Method(j).Type
			if getter.NumOut() != 1 || getter.Out(0).Kind() != reflect.Interface {
				continue
			}
			create, creates := getter.Out(0).MethodByName("Create")
			if !creates || create.Type.NumIn() < 2 || create.Type.In(1).Kind() != reflect.Pointer {
				continue
			}
			example, isObject := reflect.New(create.Type.In(1).Elem()).Interface().(runtime.Object)
			require.True(t, isObject, create.Type)
			versions, _, err := known.scheme.ObjectKinds(example)
			require.NoError(t, err)
			for _, version := range versions {
				namespaced, isKnown := known.scope(version.GroupKind())
				require.True(t, isKnown, version)
				require.Equal(t, getter.NumIn() == 1, namespaced, version)
			}
			seen++
		}
	}
	require.NotZero(t, seen)
}
