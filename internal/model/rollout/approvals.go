package rollout

import (
	"fmt"
	"slices"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// approvers returns the persons who have approved a stage, or the promotion; none if approvals are not possible.
func (s Situation) approvers(r *v1beta2.ModuleRollout, stage string) []string {
	var persons []string
	for _, approval := range r.Spec.Approvals {
		if s.NoApprovals == "" && approval.Stage == stage && approval.By != "" && !slices.Contains(persons, approval.By) {
			persons = append(persons, approval.By)
		}
	}
	return persons
}

// missingApproval describes the missing approvals of a stage, or of the promotion; empty if none is missing. What and
// when are parts of the message.
func (s Situation) missingApproval(r *v1beta2.ModuleRollout, stage string, persons int32, what, when string) string {
	missing := int(max(persons, 1)) - len(s.approvers(r, stage))
	if missing <= 0 {
		return ""
	}
	by := "one more person"
	if missing > 1 {
		by = fmt.Sprintf("%d more persons", missing)
	}
	waits := fmt.Sprintf("the approval of %s by %s%s", what, by, when)
	if s.NoApprovals != "" {
		waits += "; approvals are not possible: " + s.NoApprovals
	}
	return waits
}
