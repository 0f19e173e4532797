package record

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMoreThanExpectedIsNamed(t *testing.T) {
	none, one, ten := 0.0, 1.0, 10.0
	p := Phase{
		Kymas:        2,
		Remote:       Requests{"get secrets": 8, "patch deployments.apps": 2, "create namespaces": 1},
		ControlPlane: Requests{"PUT kymas": 5, "GET kymas": 8, "LIST manifests": 1, "WATCH kymas": 3, "PUT leases": 100, "GET configmaps": 100},
		Histories:    map[string]History{"KymaWorkflow": {Events: 90, InPhase: 17}, "SweepWorkflow": {Events: 15, InPhase: 15}},
	}
	require.Empty(t, (*Limits)(nil).Exceeded(p))
	require.Empty(t, (&Limits{ControlPlaneWrites: &ten, ControlPlaneReads: &ten, ControlPlaneLists: &one}).Exceeded(p))
	require.Equal(t, []string{
		"remoteRequests: 11, at most 10 expected", "remoteWrites: 3, at most 0 expected", "controlPlaneReads: 9, at most 1 expected",
		"controlPlaneWrites: 5, at most 0 expected", "controlPlaneLists: 1, at most 0 expected",
		"remoteRequests per Kyma: 5.5, at most 1 expected", "controlPlaneReads per Kyma: 4.5, at most 1 expected",
		"controlPlaneWrites per Kyma: 2.5, at most 1 expected", "historyEvents per Kyma: 32, at most 10 expected",
	}, (&Limits{
		RemoteRequests: &ten, RemoteWrites: &none, ControlPlaneReads: &one, ControlPlaneWrites: &none, ControlPlaneLists: &none,
		PerKyma: &LimitsPerKyma{RemoteRequests: &one, ControlPlaneReads: &one, ControlPlaneWrites: &one, HistoryEvents: &ten},
	}).Exceeded(p))
}
