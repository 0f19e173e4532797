package planning

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// GuardedRemoval says why a removal is held.
type GuardedRemoval struct {
	// Cause is the template or release meta with the change that would remove too much.
	Cause client.Object
	// Change is the digest of the change.
	Change string
	// Kymas is how many Kymas would lose the module. Limit is how many may lose it without approval.
	Kymas, Limit int
}

// Message describes the hold for people, with the remedy.
func (h *GuardedRemoval) Message() string {
	return fmt.Sprintf("its removal from %d Kymas (more than %d) is held: approve it in the RemovalBudget of the instance, with the value of the annotation %s on %s %s",
		h.Kymas, h.Limit, desired.AnnotationGuardedRemoval, desired.KindOf(h.Cause), desired.NameOf(h.Cause))
}
