package controllers

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func TestWithoutEventsAWatcherCanBeDeleted(t *testing.T) {
	for name, test := range map[string]struct {
		managedBy string
		deleted   bool
		released  bool
	}{
		"it is being deleted":  {shared.ManagedByLifecycleManager, true, true},
		"it is not":            {shared.ManagedByLifecycleManager, false, false},
		"of another instance":  {"other", true, false},
		"it never had a label": {"", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &v1beta2.Watcher{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "kymas", Finalizers: []string{shared.FinalizerWatcher, "theirs/stays"}}}
			if test.managedBy != "" {
				w.Labels = map[string]string{shared.LabelManagedBy: test.managedBy}
			}
			if test.deleted {
				now := metav1.Now()
				w.DeletionTimestamp = &now
			}
			cluster := desiredtest.NewCluster("cp", w)
			c := &controllers{settings: desired.Settings{}.WithDefaults(), reader: cluster, live: cluster, writer: cluster}
			_, err := c.reconcileWatcher(t.Context(), watcherRequest{client.ObjectKeyFromObject(w)})
			require.NoError(t, err)
			require.NoError(t, cluster.Get(t.Context(), client.ObjectKeyFromObject(w), w))
			require.Equal(t, test.released, !slices.Contains(w.Finalizers, shared.FinalizerWatcher))
			require.Contains(t, w.Finalizers, "theirs/stays")
		})
	}
	cluster := desiredtest.NewCluster("cp")
	c := &controllers{settings: desired.Settings{}.WithDefaults(), reader: cluster, live: cluster, writer: cluster}
	_, err := c.reconcileWatcher(t.Context(), watcherRequest{client.ObjectKey{Namespace: "kcp-system", Name: "gone"}})
	require.NoError(t, err, "a missing Watcher is no error")
}
