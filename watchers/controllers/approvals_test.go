package controllers

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func TestTheRemovalGuardsMarksAreRemovedWithTheirChange(t *testing.T) {
	ctx := context.Background()
	meta := desiredtest.ReleaseMeta("keda", "regular=1.0.0")
	meta.Annotations = map[string]string{
		desired.AnnotationGuardedRemoval: "7", desired.AnnotationGuardedChange: "of an earlier change", desired.AnnotationApprovedRemoval: "7", "theirs": "stays",
	}
	cluster := desiredtest.NewCluster("cp", meta)
	c := &controllers{settings: desired.Settings{}.WithDefaults(), reader: cluster, live: cluster, writer: cluster}
	request := approvalRequest{shared.KindModuleReleaseMeta, client.ObjectKeyFromObject(meta)}
	_, err := c.keepMarks(ctx, request)
	require.NoError(t, err)
	require.NoError(t, cluster.Get(ctx, request.NamespacedName, meta))
	require.Equal(t, map[string]string{"theirs": "stays"}, meta.Annotations)

	cluster.Forget()
	_, err = c.keepMarks(ctx, request)
	require.NoError(t, err)
	require.Empty(t, cluster.Writes())
}

// approving approves one change.
type approving string

func (a approving) Keep(context.Context) (time.Duration, error) { return 0, nil }
func (a approving) Approves(_ context.Context, change string, noted bool) (bool, error) {
	return noted && change == string(a), nil
}

func TestAnApprovalInTheRemovalBudgetIsRecordedOnTheChangedObject(t *testing.T) {
	ctx := context.Background()
	settings := desired.Settings{}.WithDefaults()
	meta := desiredtest.ReleaseMeta("keda", "regular=1.0.0")
	cluster := desiredtest.NewCluster("cp", meta)
	require.NoError(t, cluster.Get(ctx, client.ObjectKeyFromObject(meta), meta))
	meta.Annotations = map[string]string{desired.AnnotationGuardedRemoval: "7", desired.AnnotationGuardedChange: desired.DigestOf(meta.Generation, false, "", "", "", false)}
	require.NoError(t, cluster.Update(ctx, meta))
	c := &controllers{settings: settings, reader: cluster, live: cluster, writer: cluster, budget: approving("6")}
	keep := func() string {
		_, err := c.keepMarks(ctx, approvalRequest{shared.KindModuleReleaseMeta, client.ObjectKeyFromObject(meta)})
		require.NoError(t, err)
		require.NoError(t, cluster.Get(ctx, client.ObjectKeyFromObject(meta), meta))
		return meta.Annotations[desired.AnnotationApprovedRemoval]
	}
	require.Empty(t, keep(), "only another change is approved")
	c.budget = approving("7")
	require.Equal(t, "7", keep())
	c.budget = approving("")
	require.Empty(t, keep(), "the approval was withdrawn or forged")
	require.Equal(t, "7", meta.Annotations[desired.AnnotationGuardedRemoval])
}
