package collectors

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

// rolling returns a rollout of keda to a channel, in a phase.
func rolling(channel, to string, sequence int64, phase v1beta2.RolloutPhase, stages ...v1beta2.RolloutStageStatus) *v1beta2.ModuleRollout {
	return &v1beta2.ModuleRollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: desiredtest.Namespace, Name: "keda-" + channel + "-" + to},
		Spec:       v1beta2.ModuleRolloutSpec{ModuleName: "keda", Channel: channel, To: to, Policy: "all", Sequence: sequence},
		Status:     v1beta2.ModuleRolloutStatus{Phase: phase, Stages: stages},
	}
}

func TestTheNewestRolloutOfEachChannelIsCounted(t *testing.T) {
	others := rolling("slow", "1.0.0", 1, v1beta2.RolloutHeld)
	others.Labels = map[string]string{shared.LabelManagedBy: "another"}
	byHand := rolling("regular", "1.2.0", 0, v1beta2.RolloutPending)
	byHand.Spec.Policy = ""
	leads := make(chan struct{})
	held := fleettest.NewCache(t, desiredtest.Scheme(), others, byHand,
		rolling("regular", "1.0.0", 1, v1beta2.RolloutHeld),
		rolling("regular", "1.1.0", 2, v1beta2.RolloutProgressing,
			v1beta2.RolloutStageStatus{Total: 1, Released: 1, Ready: 1},
			v1beta2.RolloutStageStatus{Total: 20, Released: 9, Ready: 1, Updating: 2, Failed: 1, Broken: 1, Waiting: 3, Deferred: 2, Unreachable: 1},
		),
		rolling("fast", "1.1.0", 3, v1beta2.RolloutCompleted), rolling("new", "1.1.0", 1, ""),
	)
	held.Hold(t, &v1beta2.ModuleRollout{})
	held.Run(t)
	collector := NewRollouts(held, leads, desired.Settings{})
	require.Zero(t, testutil.CollectAndCount(collector), "before this process leads")
	close(leads)
	require.NoError(t, testutil.CollectAndCompare(collector, strings.NewReader(`
# HELP lifecycle_mgr_rollout_clusters Clusters of the newest rollout of each channel, by state.
# TYPE lifecycle_mgr_rollout_clusters gauge
lifecycle_mgr_rollout_clusters{channel="regular",module="keda",name="keda-regular-1.1.0",namespace="kcp-system",state="Broken",version="1.1.0"} 1
lifecycle_mgr_rollout_clusters{channel="regular",module="keda",name="keda-regular-1.1.0",namespace="kcp-system",state="Failed",version="1.1.0"} 1
lifecycle_mgr_rollout_clusters{channel="regular",module="keda",name="keda-regular-1.1.0",namespace="kcp-system",state="NotReleased",version="1.1.0"} 11
lifecycle_mgr_rollout_clusters{channel="regular",module="keda",name="keda-regular-1.1.0",namespace="kcp-system",state="Ready",version="1.1.0"} 2
lifecycle_mgr_rollout_clusters{channel="regular",module="keda",name="keda-regular-1.1.0",namespace="kcp-system",state="Unreachable",version="1.1.0"} 1
lifecycle_mgr_rollout_clusters{channel="regular",module="keda",name="keda-regular-1.1.0",namespace="kcp-system",state="Updating",version="1.1.0"} 2
lifecycle_mgr_rollout_clusters{channel="regular",module="keda",name="keda-regular-1.1.0",namespace="kcp-system",state="Waiting",version="1.1.0"} 3
# HELP lifecycle_mgr_rollout_phase Is 1 for the current phase of the newest rollout of each channel.
# TYPE lifecycle_mgr_rollout_phase gauge
lifecycle_mgr_rollout_phase{channel="fast",module="keda",name="keda-fast-1.1.0",namespace="kcp-system",phase="Completed",version="1.1.0"} 1
lifecycle_mgr_rollout_phase{channel="regular",module="keda",name="keda-regular-1.1.0",namespace="kcp-system",phase="Progressing",version="1.1.0"} 1
lifecycle_mgr_rollout_phase{channel="regular",module="keda",name="keda-regular-1.2.0",namespace="kcp-system",phase="Pending",version="1.2.0"} 1
`)))
}
