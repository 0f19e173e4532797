package injection_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/injection"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func secret(labels map[string]string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "pull", UID: "uid", Labels: labels},
		Data:       map[string][]byte{"password": []byte("hidden")},
	}
}

func TestAModuleGetsTheDataOfASecretThatIsLabelledForIt(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "pull", errors.New("no right"))
	for name, test := range map[string]struct {
		secret  *corev1.Secret
		fails   error
		kind    fault.Kind
		message string
	}{
		"labelled": {secret: secret(map[string]string{shared.LabelModuleName: "deployer"})},
		"missing": {
			kind:    fault.Rejected,
			message: `inject-data-from-kcp transform failed: failed to fetch kcp secret "pull": failed to get secret pull-kcp-system: secrets "pull" not found`,
		},
		"not labelled": {
			secret: secret(nil), kind: fault.Rejected,
			message: "inject-data-from-kcp transform failed: kcp source secret is missing the required operator.kyma-project.io/module-name label: secret=pull",
		},
		"for another module": {
			secret: secret(map[string]string{shared.LabelModuleName: "other"}), kind: fault.Rejected,
			message: "inject-data-from-kcp transform failed: kcp source secret operator.kyma-project.io/module-name label does not match the manifest module: secret=pull expected=deployer actual=other",
		},
		"forbidden": {
			fails: forbidden, kind: fault.Rejected,
			message: `inject-data-from-kcp transform failed: failed to fetch kcp secret "pull": failed to get secret pull-kcp-system: ` + forbidden.Error(),
		},
		"the API server is down": {fails: errors.New("connection refused"), kind: fault.Transient, message: "read Secret kcp-system/pull of the control plane: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			builder := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
				if test.fails != nil {
					return test.fails
				}
				return c.Get(ctx, key, o, options...)
			}})
			if test.secret != nil {
				builder.WithObjects(test.secret)
			}
			reader := builder.Build()
			data, version, err := injection.New(reader, nil).Read(t.Context(), "pull", "deployer")
			seen, seeErr := injection.New(reader, nil).Version(t.Context(), "pull", "deployer")
			if test.kind == "" {
				require.NoError(t, err)
				require.Equal(t, map[string][]byte{"password": []byte("hidden")}, data)
				require.NoError(t, seeErr)
				require.NotEmpty(t, version)
				require.Equal(t, version, seen, "Version does not read the data")
				return
			}
			require.EqualError(t, err, test.message)
			require.Equal(t, test.kind, fault.Of(err).Kind)
			require.Nil(t, data)
			require.Empty(t, version)
			require.Empty(t, seen)
			require.Equal(t, test.kind == fault.Transient, seeErr != nil)
		})
	}
}

func TestAVersionIsReadOnceForAWholePassAndAgainAfterwards(t *testing.T) {
	now, reads := time.Now(), 0
	reader := fake.NewClientBuilder().WithObjects(secret(map[string]string{shared.LabelModuleName: "deployer"})).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, o, options...)
		},
	}).Build()
	s := injection.New(reader, func() time.Time { return now })
	version := func() string {
		found, err := s.Version(t.Context(), "pull", "deployer")
		require.NoError(t, err)
		return found
	}
	first := version()
	changed := &corev1.Secret{}
	require.NoError(t, reader.Get(t.Context(), injection.Key("pull"), changed))
	changed.Data["password"] = []byte("rotated")
	require.NoError(t, reader.Update(t.Context(), changed))
	reads = 0
	require.Equal(t, first, version())
	require.Zero(t, reads)
	now = now.Add(time.Minute)
	second := version()
	require.NotEqual(t, first, second)
	require.Equal(t, 1, reads)

	delete(changed.Labels, shared.LabelModuleName)
	require.NoError(t, reader.Update(t.Context(), changed))
	_, _, err := s.Read(t.Context(), "pull", "deployer")
	require.Error(t, err)
	require.Empty(t, version(), "Read updates the known version at once")
}
