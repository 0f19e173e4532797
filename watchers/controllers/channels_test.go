package controllers

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func TestAReleaseMetaShowsItsChannelsInAColumn(t *testing.T) {
	ctx := context.Background()
	meta := desiredtest.ReleaseMeta("keda", "regular=1.1.0", "fast=1.2.0")
	theirs := desiredtest.ReleaseMeta("other", "regular=1.0.0")
	theirs.Labels = map[string]string{shared.LabelManagedBy: "another-instance"}
	cluster := desiredtest.NewCluster("cp", meta, theirs)
	c := &controllers{settings: desired.Settings{}.WithDefaults(), reader: cluster, live: cluster, writer: cluster}
	show := func() string {
		t.Helper()
		_, err := c.showChannels(ctx, channelsRequest{client.ObjectKeyFromObject(meta)})
		require.NoError(t, err)
		require.NoError(t, cluster.Get(ctx, client.ObjectKeyFromObject(meta), meta))
		return meta.Annotations["operator.kyma-project.io/channels"]
	}
	require.Equal(t, "fast=1.2.0 regular=1.1.0", show())
	cluster.Forget()
	show()
	require.Empty(t, cluster.Writes(), "the annotation is written once")

	meta.Spec.Channels = append(meta.Spec.Channels, v1beta2.ChannelVersion{Channel: "beta", Version: "2.0.0"})
	require.NoError(t, cluster.Update(ctx, meta))
	require.Equal(t, "beta=2.0.0 fast=1.2.0 regular=1.1.0", show())
	meta.Spec.Channels, meta.Spec.Mandatory = nil, &v1beta2.MandatoryVersion{Version: "1.0.0"}
	require.NoError(t, cluster.Update(ctx, meta))
	require.Empty(t, show(), "the version of a mandatory module has its own column")
	require.False(t, c.wrongChannels(theirs), "another instance manages its own release metas")
}
