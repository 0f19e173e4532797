package kube

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASilentNodeIsWaitedForLongerThanAnybodyPausesACluster(t *testing.T) {
	var period string
	for _, argument := range (Cluster{}).controllerManager().Args {
		if value, found := strings.CutPrefix(argument, "--node-monitor-grace-period="); found {
			period = value
		}
	}
	grace, err := time.ParseDuration(period)
	require.NoError(t, err)
	require.GreaterOrEqual(t, grace, time.Hour)
}
