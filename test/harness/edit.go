package harness

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
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

// EditRemote edits the remote Kyma as its owner does. Without events, only the sweep finds the edit. Where it does not walk often,
// the Kyma is kicked as the sweep would do it.
func (s *Environment) EditRemote(change func(*v1beta2.Kyma)) {
	s.T.Helper()
	s.EditRemoteKyma(s.RemoteKyma(), change)
}

// EditRemoteKyma does the same with one of several remote Kymas.
func (s *Environment) EditRemoteKyma(remote *v1beta2.Kyma, change func(*v1beta2.Kyma)) {
	s.T.Helper()
	Edit(s.T, s.Remote, remote, change)
	if s.sweeps.often.Load() || s.sweeps.never.Load() {
		return
	}
	var kymas v1beta2.KymaList
	require.NoError(s.T, s.ControlPlane.List(s.T.Context(), &kymas))
	for i := range kymas.Items {
		kyma := &kymas.Items[i]
		if kyma.Status.Remote == nil || kyma.Status.Remote.UID != string(remote.UID) {
			continue
		}
		err := s.Temporal.SignalWorkflow(s.T.Context(), kick.KymaWorkflowID(kick.RefOf(kyma)), "", kick.Signal, kick.Kick{Reason: "the remote Kyma was edited", Urgent: true})
		if _, ok := errors.AsType[*serviceerror.NotFound](err); !ok { // it is to be started yet
			require.NoError(s.T, err)
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
