package sweep

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestTheStatesOfManifestsFollowTheReachabilityOfTheirCluster(t *testing.T) {
	no, yes := false, true
	silent := func() (bool, string, error) {
		return false, "", fault.New(fault.Unreachable, "UnreachableTimeout", "%w", errors.New("no answer"))
	}
	for name, test := range map[string]struct {
		reachable *bool
		silent    bool
		change    func(f *fixture, m *v1beta2.Manifest)
		marks     []string
		kicked    string
	}{
		"a Kyma that was just found unreachable is kicked first": {reachable: &yes, silent: true},
		"then its Manifests follow":                              {reachable: &no, silent: true, marks: []string{"demo-m is unreachable since 12:00:00"}},
		"each once": {reachable: &no, silent: true, change: func(_ *fixture, m *v1beta2.Manifest) {
			m.Status.State, m.Status.LastKnownState = shared.StateError, shared.StateReady
		}},
		"a Manifest in error keeps its own reason": {reachable: &no, silent: true, change: func(_ *fixture, m *v1beta2.Manifest) {
			m.Status.State = shared.StateError
		}},
		"not those in the control plane": {reachable: &no, silent: true, change: func(_ *fixture, m *v1beta2.Manifest) {
			m.Status.Target = &v1beta2.TargetRecord{Cluster: v1beta2.TargetClusterControlPlane}
		}},
		"not skipped or deleted Manifests": {reachable: &no, silent: true, change: func(_ *fixture, m *v1beta2.Manifest) {
			m.Labels = map[string]string{shared.LabelSkipReconciliation: "true"}
		}},
		"an unchanged module gets its state back": {reachable: &yes, marks: []string{"demo-m is reachable"}, change: func(_ *fixture, m *v1beta2.Manifest) {
			m.Status.State, m.Status.LastKnownState = shared.StateError, shared.StateReady
		}},
		"a changed module is reconciled": {reachable: &yes, kicked: "the module changed its state", change: func(f *fixture, m *v1beta2.Manifest) {
			f.module = shared.StateWarning
			m.Status.State, m.Status.LastKnownState = shared.StateError, shared.StateReady
		}},
		"a module that was not ready is reconciled": {reachable: &yes, kicked: "the remote cluster can be reached again", change: func(_ *fixture, m *v1beta2.Manifest) {
			m.Status.State, m.Status.LastKnownState = shared.StateError, shared.StateWarning
		}},
		"an unreadable module waits for the next pass": {reachable: &yes, change: func(f *fixture, m *v1beta2.Manifest) {
			f.err = errors.New("no answer")
			m.Status.State, m.Status.LastKnownState = shared.StateError, shared.StateReady
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f, kyma, m := quiet(), quietKyma(), quietManifest()
			since := metav1.NewTime(runStarted)
			kyma.Status.Remote.Reachable, kyma.Status.Remote.Since = test.reachable, &since
			if test.silent {
				f.probe = silent
			}
			if test.change != nil {
				test.change(f, m)
				m.Status.InputsDigest = manifests.InputsDigest(m)
			}
			_, err := walkShard(t, activitiesFor(t, f, kyma, m), shardOf("uid"))
			require.NoError(t, err)
			require.Equal(t, test.marks, f.marks)
			require.Equal(t, test.kicked, f.kicked[manifestID])
		})
	}
}
