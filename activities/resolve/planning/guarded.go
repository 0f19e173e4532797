package planning

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/resolve/versions"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// GuardedRemoval says why a removal is held.
type GuardedRemoval struct {
	// Cause is the template or release meta whose change would remove too much.
	Cause client.Object
	// Change is the digest of what the change is about.
	Change string
	// Kymas would lose the module, Limit is how many may without approval.
	Kymas, Limit int
}

// Message is for people.
func (h *GuardedRemoval) Message() string {
	return fmt.Sprintf("its removal from %d Kymas (more than %d) is held: approve it on %s %s with the annotation %s, whose value is that of %s there",
		h.Kymas, h.Limit, KindOf(h.Cause), versions.NameOf(h.Cause), desired.AnnotationApproveRemoval, desired.AnnotationGuardedRemoval)
}

// KindOf is the kind of an object of the catalog, for messages.
func KindOf(object client.Object) string {
	switch object.(type) {
	case *v1beta2.ModuleReleaseMeta:
		return shared.KindModuleReleaseMeta
	case *v1beta2.ModuleTemplate:
		return shared.KindModuleTemplate
	}
	return meta.AsPartialObjectMetadata(object).Kind
}
