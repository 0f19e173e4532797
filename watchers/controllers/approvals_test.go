package controllers

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

func TestTheMarksOfARemovalGuardGoWithTheChangeThatTheyWereAbout(t *testing.T) {
	ctx := context.Background()
	meta := desiredtest.ReleaseMeta("keda", "regular=1.0.0")
	meta.Annotations = map[string]string{
		desired.AnnotationGuardedRemoval: "7", desired.AnnotationGuardedChange: "of an earlier change", desired.AnnotationApproveRemoval: "7", "theirs": "stays",
	}
	cluster := desiredtest.NewCluster("cp", meta)
	c := &controllers{settings: desired.Settings{}.WithDefaults(), reader: cluster, live: cluster, writer: cluster}
	request := approvalRequest{shared.KindModuleReleaseMeta, client.ObjectKeyFromObject(meta)}
	_, err := c.clearMarks(ctx, request)
	require.NoError(t, err)
	require.NoError(t, cluster.Get(ctx, request.NamespacedName, meta))
	require.Equal(t, map[string]string{"theirs": "stays"}, meta.Annotations)

	cluster.Forget()
	_, err = c.clearMarks(ctx, request)
	require.NoError(t, err)
	require.Empty(t, cluster.Writes())
}
