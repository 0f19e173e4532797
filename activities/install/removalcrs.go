package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// namedCRs is how many of the custom resources that block a removal are named.
	namedCRs = 10
	// countedCRs is after how many of them no more are counted: the removal is blocked.
	countedCRs = 100
)

// blockingCRs are the custom resources of the default one's kind, as a removal sees them.
type blockingCRs struct {
	kind string
	// own is the default custom resource that is ours to delete, while it is there.
	own *metav1.PartialObjectMetadata
	// others are those that users made, "namespace/name"; with the policy Ignore the default one is among them.
	others []string
}

// lookAtCRs finds what is left of the default custom resource's kind in all namespaces (contract, section 6).
func (r *remover) lookAtCRs(ctx context.Context, m *v1beta2.Manifest) (blockingCRs, error) {
	gvk, ok := crKind(m)
	if !ok {
		return blockingCRs{}, nil
	}
	seen := blockingCRs{kind: gvk.Kind}
	ours := m.Status.DefaultCR
	if m.Spec.EffectivePolicy() != v1beta2.CustomResourcePolicyCreateAndDelete {
		ours = nil
	}
	show := func(cr *metav1.PartialObjectMetadata) {
		switch {
		case isRecorded(ours, cr):
			seen.own = cr
		case r.owner.owns(cr):
			// It came with the module's resources and goes with them.
		default:
			seen.others = append(seen.others, strings.TrimPrefix(cr.Namespace+"/"+cr.Name, "/"))
		}
	}
	if err := r.moduleCRs(ctx, gvk, show, func() bool { return len(seen.others) >= countedCRs }); err != nil {
		return seen, fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	slices.Sort(seen.others)
	return seen, nil
}

// isRecorded tells whether an object is the default custom resource that we made or adopted. One that was
// intended only is ours when it carries our labels.
func isRecorded(recorded *v1beta2.DefaultCRRecord, cr *metav1.PartialObjectMetadata) bool {
	if recorded == nil || recorded.Name != cr.Name || recorded.Namespace != cr.Namespace {
		return false
	}
	if recorded.UID == "" {
		return madeByUs(cr)
	}
	return recorded.UID == string(cr.UID)
}

// crKind is the kind whose objects block the removal: that of the default custom resource as it was made,
// else as the Manifest has it.
func crKind(m *v1beta2.Manifest) (schema.GroupVersionKind, bool) {
	if recorded := m.Status.DefaultCR; recorded != nil {
		gvk, name := recordedCR(recorded)
		return gvk, !isProtected(gvk, name)
	}
	// What cannot be read cannot have been made, and its kind cannot be told.
	cr, err := m.Spec.DefaultCR()
	if err != nil || cr == nil {
		return schema.GroupVersionKind{}, false
	}
	return cr.GroupVersionKind(), true
}

// waits says what the removal waits for; nil when no custom resource is left.
func (b blockingCRs) waits() *Observed {
	if len(b.others) > 0 {
		named := b.others
		more := ""
		if len(named) > namedCRs {
			more = fmt.Sprintf(" and %d more", len(named)-namedCRs)
			named = named[:namedCRs]
		}
		return &Observed{
			State: shared.StateWarning, Reason: ReasonBlockedByModuleCRs,
			Message: fmt.Sprintf("%s: %s %s%s must be deleted first", shared.MessageWaitingForModuleCRsDeletion, b.kind, strings.Join(named, ", "), more),
		}
	}
	if b.own != nil {
		name := types.NamespacedName{Namespace: b.own.Namespace, Name: b.own.Name}
		return &Observed{
			State: shared.StateDeleting, Reason: ReasonWaitingForModuleCR,
			Message: shared.MessageWaitingForModuleCRsDeletion + ": " + describe(b.kind, name),
		}
	}
	return nil
}
