package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
)

func TestInstancesThatShareAControlPlaneLeadEachForItself(t *testing.T) {
	first := leaseName(desired.Settings{})
	require.Equal(t, "lifecycle-manager.operator.kyma-project.io", first)
	require.Equal(t, first, leaseName(desired.Settings{ManagedBy: "lifecycle-manager"}))
	second, third := leaseName(desired.Settings{ManagedBy: "Team_B"}), leaseName(desired.Settings{ManagedBy: "team-b"})
	require.NotEqual(t, first, second)
	require.NotEqual(t, second, third)
	require.Equal(t, second, leaseName(desired.Settings{ManagedBy: "Team_B"}))
	require.Empty(t, validation.IsDNS1123Subdomain(second))
}
