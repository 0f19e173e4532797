package harness

import (
	temporal "go.temporal.io/sdk/client"

	"github.com/kyma-project/lifecycle-manager/test/harness/temporaltest"
)

// NewTemporalNamespace returns a new namespace for an instance, in which sweeps are triggered.
func (s *Environment) NewTemporalNamespace() (string, temporal.Client) {
	s.T.Helper()
	name, namespace := temporaltest.Take(s.T, s.Fleet.Temporal.Address)
	s.TriggerSweeps(namespace)
	return name, namespace
}
