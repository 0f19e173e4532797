package worker

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
)

func TestCredentialsAreCountedByExpiry(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	c := &credentials{
		now: func() time.Time { return now }, counts: metrics.ClusterCredentials(),
		validities: func() map[types.NamespacedName]clusters.Validity {
			return map[types.NamespacedName]clusters.Validity{
				{Namespace: "a", Name: "later"}:   {Until: now.AddDate(1, 0, 0)},
				{Namespace: "a", Name: "soon"}:    {Until: now.Add(time.Hour)},
				{Namespace: "b", Name: "soon"}:    {Until: now.Add(time.Minute)},
				{Namespace: "a", Name: "over"}:    {Until: now.Add(-time.Minute)},
				{Namespace: "a", Name: "unknown"}: {},
			}
		},
	}
	require.NoError(t, prometheus.NewPedanticRegistry().Register(c))
	counts := `
# HELP lifecycle_mgr_cluster_credentials Remote clusters that this process has sent requests to in the last half hour, by the expiry of the credentials in their access Secrets: Later, Soon (in less than 7 days and less than a fifth of their lifetime), Expired, or Unknown if the credentials do not say.
# TYPE lifecycle_mgr_cluster_credentials gauge
lifecycle_mgr_cluster_credentials{expiry="Expired"} 1
lifecycle_mgr_cluster_credentials{expiry="Later"} 1
lifecycle_mgr_cluster_credentials{expiry="Soon"} 2
lifecycle_mgr_cluster_credentials{expiry="Unknown"} 1
`
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(counts)), "no series per cluster unless switched on")

	c.ends = metrics.ClusterCredentialsEnd()
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP lifecycle_mgr_cluster_credentials_not_after_timestamp_seconds Expiry of the credentials in a Kyma's access Secret, if this process has used them in the last half hour, in Unix time.
# TYPE lifecycle_mgr_cluster_credentials_not_after_timestamp_seconds gauge
lifecycle_mgr_cluster_credentials_not_after_timestamp_seconds{kyma_name="later"} 1.831536e+09
lifecycle_mgr_cluster_credentials_not_after_timestamp_seconds{kyma_name="over"} 1.79999994e+09
lifecycle_mgr_cluster_credentials_not_after_timestamp_seconds{kyma_name="soon"} 1.80000006e+09
`), "lifecycle_mgr_cluster_credentials_not_after_timestamp_seconds"))
}
