package harness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
)

// Edit changes a Kyma as somebody with an editor does: again on the newest version if another wrote meanwhile.
func Edit(t testing.TB, c cluster.Cluster, kyma *v1beta2.Kyma, change func(*v1beta2.Kyma)) {
	t.Helper()
	EditObject(t, c, kyma, func() { change(kyma) })
}

// EditObject does the same with any object; change changes the object that it was given.
func EditObject(t testing.TB, c cluster.Cluster, object client.Object, change func()) {
	t.Helper()
	patiently := wait.Backoff{Steps: 300, Duration: 50 * time.Millisecond, Jitter: 1}
	require.NoError(t, retry.RetryOnConflict(patiently, func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change()
		return c.Update(t.Context(), object)
	}))
}

// EditRemote edits the remote Kyma as its owner does, and triggers a pass of the sweep: without events, only that finds the edit.
func (s *Environment) EditRemote(change func(*v1beta2.Kyma)) {
	s.T.Helper()
	s.EditRemoteKyma(s.RemoteKyma(), change)
}

// EditRemoteKyma does the same with one of several remote Kymas.
func (s *Environment) EditRemoteKyma(kyma *v1beta2.Kyma, change func(*v1beta2.Kyma)) {
	s.T.Helper()
	Edit(s.T, s.Remote, kyma, change)
	shards, err := s.shards(s.T.Context())
	require.NoError(s.T, err)
	for shard := range shards {
		if s.Instance.Running() {
			s.sweepNow(shard)
		} else {
			_ = s.signalSweep(shard) // until an instance has started, there may be no sweep
		}
	}
}

// EditEntry edits a module entry as its owner does, in the remote Kyma.
func (s *Environment) EditEntry(module string, change func(*v1beta2.Module)) {
	s.T.Helper()
	s.EditRemote(func(k *v1beta2.Kyma) {
		for i := range k.Spec.Modules {
			if k.Spec.Modules[i].Name == module {
				change(&k.Spec.Modules[i])
			}
		}
	})
}
