package removal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

func TestTheRemovalNamesTheFirstTenThatBlockIt(t *testing.T) {
	t.Parallel()
	sample := func(name string) foundCR {
		return foundCR{kind: schema.GroupKind{Group: "example.com", Kind: "Sample"}, meta: &metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		}}
	}
	b := BlockingCRs{module: "keda", mark: "kcp-system/kyma-keda"}
	require.Nil(t, b.Waiting())
	own := sample("default")
	b.own = &own
	require.Equal(t, &readiness.Observed{
		State: shared.StateDeleting, Reason: readiness.ReasonWaitingForModuleCR, Message: "waiting for module crs deletion",
		Hint: "waiting for the module's operator to remove the finalizers of Sample ns/default",
	}, b.Waiting())
	for range 12 {
		b.others = append(b.others, sample("x"))
	}
	o := b.Waiting()
	require.Equal(t, shared.StateDeleting, o.State)
	require.Equal(t, readiness.ReasonBlockedByModuleCRs, o.Reason)
	require.Equal(t, "waiting for module crs deletion", o.Message, "clients compare it word for word")
	require.Equal(t, "12 custom resources would be lost with the module: "+strings.Repeat("Sample ns/x, ", 9)+"Sample ns/x and 2 more. "+
		"Delete them, or allow their deletion by the annotation operator.kyma-project.io/delete-user-data: \"keda\" of the Kyma, "+
		"or operator.kyma-project.io/delete-user-data: \"true\" of Manifest kcp-system/kyma-keda", o.Hint)

	b.others = nil
	for range 12 {
		b.others = append(b.others, sample(strings.Repeat("x", 253)))
	}
	require.Less(t, len(b.Waiting().Hint), 1000, "an Event has room for 1024 bytes")
}
