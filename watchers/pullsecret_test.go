package watchers

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

func TestAChangedImagePullSecretReachesEverySynchronizedKymaWithinTheSpread(t *testing.T) {
	off := false
	named := func(name string, change func(*v1beta2.Kyma)) *v1beta2.Kyma {
		return kymaWith(func(k *v1beta2.Kyma) {
			k.Name, k.UID = name, ""
			if change != nil {
				change(k)
			}
		})
	}
	w, kicks, _ := newWatcher(
		t, named("first", nil), named("second", nil),
		named("local", func(k *v1beta2.Kyma) { k.Spec.Sync = &v1beta2.Sync{Enabled: &off} }),
		named("copy", func(k *v1beta2.Kyma) { k.Annotations = map[string]string{desired.AnnotationSyncedFrom: "a/b"} }),
		named("other", func(k *v1beta2.Kyma) { k.Labels = map[string]string{shared.LabelManagedBy: "other"} }),
		named("going", func(k *v1beta2.Kyma) {
			k.DeletionTimestamp, k.Finalizers = &metav1.Time{Time: now}, []string{shared.FinalizerKyma}
		}),
	)
	_, err := w.kickForPullSecret(context.Background(), pullSecretRequest{cause{Kind: kindSecret, Namespace: "kcp-system", Name: "pull", ResourceVersion: "9"}})
	require.NoError(t, err)
	require.Len(t, kicks.sent, 2)
	for _, sent := range kicks.sent {
		require.Equal(t, "image pull Secret changed", sent.kick.Reason)
		require.False(t, sent.kick.Urgent)
		require.Empty(t, sent.kick.ResourceVersion, "waiting for the informer of access Secrets would be in vain")
		require.NotNil(t, sent.kick.NotBefore)
		require.WithinRange(t, *sent.kick.NotBefore, now, now.Add(time.Hour))
	}
}
