package removal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

const (
	// namedCRs is how many custom resources that block a removal are named, and namedBytes is how long their names may
	// be in total. An Event has room for 1024 bytes.
	namedCRs   = 10
	namedBytes = 500
	// countedCRs is the maximum number of custom resources of one kind that are counted. The removal is blocked anyway.
	countedCRs = 100
)

// BlockingCRs holds the custom resources that a removal waits for.
type BlockingCRs struct {
	// module and mark identify the module and its Manifest.
	module, mark string
	// own is the existing default custom resource that we have to delete; nil if there is none.
	own *foundCR
	// stays is the default custom resource if Helm's annotation keeps it.
	stays *foundCR
	// others holds users' custom resources in order. With the policy Ignore, they include the default custom resource.
	others []foundCR
	// allowed is true if the owner allowed that users' custom resources are deleted with the module.
	allowed bool
}

// foundCR is a custom resource with its API resource.
type foundCR struct {
	kind     schema.GroupKind
	resource schema.GroupVersionResource
	meta     *metav1.PartialObjectMetadata
}

func (f foundCR) String() string {
	return objects.Describe(f.kind.Kind, types.NamespacedName{Namespace: f.meta.Namespace, Name: f.meta.Name})
}

// findCRs returns the remaining custom resources, in all namespaces, of kinds that may hold users' data
// (docs/design/deletion-and-purge.md#users-data).
func (r *Remover) findCRs(ctx context.Context, m *v1beta2.Manifest) (BlockingCRs, error) {
	seen := BlockingCRs{module: m.ModuleName(), mark: inventory.MarkOf(m)}
	found, err := r.dataKinds(ctx, m)
	if err != nil {
		return seen, err
	}
	module := r.objectsOf(m)
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(objects.ParallelLists)
	for _, kind := range found {
		group.Go(func() error {
			own, stays, others, err := r.crsOf(ctx, kind, module)
			if err != nil {
				return fmt.Errorf("list %s: %w", kind.Kind, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if own != nil {
				seen.own = own
			}
			if stays != nil {
				seen.stays = stays
			}
			seen.others = append(seen.others, others...)
			return nil
		})
	}
	err = group.Wait()
	slices.SortFunc(seen.others, func(a, b foundCR) int { return cmp.Compare(a.String(), b.String()) })
	return seen, err
}

// crsOf lists the custom resources of one kind that a removal waits for. If the API server cannot answer in one
// version, for example because its conversion webhook is down, crsOf lists the kind in another version.
func (r *Remover) crsOf(ctx context.Context, kind dataKind, module moduleObjects) (own, stays *foundCR, others []foundCR, err error) {
	_, err = inOneOf(kind.resources, func(resource kinds.Resource) error {
		own, stays, others = nil, nil, nil
		return r.eachCR(ctx, resource.GroupVersionResource, func(cr *metav1.PartialObjectMetadata) {
			found := foundCR{kind: kind.GroupKind, resource: resource.GroupVersionResource, meta: cr}
			switch {
			case kind.GroupKind == module.defaultKind && inventory.IsRecorded(module.defaultCR, cr) && inventory.IsKept(cr):
				stays = &found
			case inventory.IsKept(cr):
				// The resource's definition stays as well.
			case kind.GroupKind == module.defaultKind && inventory.IsRecorded(module.defaultCR, cr):
				own = &found
			case !module.owns(cr):
				others = append(others, found)
			}
		}, func() bool { return len(others) >= countedCRs })
	})
	return own, stays, others, err
}

// toDelete returns the custom resources that have to be deleted and are not being deleted yet.
func (b BlockingCRs) toDelete() []foundCR {
	var all []foundCR
	if b.own != nil {
		all = append(all, *b.own)
	}
	if b.allowed {
		all = append(all, b.others...)
	}
	return slices.DeleteFunc(all, func(cr foundCR) bool { return !cr.meta.DeletionTimestamp.IsZero() })
}

// usersBlock reports whether users' custom resources block the removal.
func (b BlockingCRs) usersBlock() bool { return len(b.others) > 0 && !b.allowed }

// Waiting returns what the removal waits for; nil if no custom resource remains. Clients compare the message word for
// word, so the hint names the custom resources.
func (b BlockingCRs) Waiting() *readiness.Observed {
	o := &readiness.Observed{State: shared.StateDeleting, Reason: readiness.ReasonWaitingForModuleCR, Message: shared.MessageWaitingForModuleCRsDeletion}
	switch {
	case b.usersBlock():
		o.Reason = readiness.ReasonBlockedByModuleCRs
		o.Hint = fmt.Sprintf("%s would be lost with the module: %s. Delete them, or allow their deletion by the annotation %s: %q of the Kyma, or %s: %q of Manifest %s",
			b.count(), b.names(), shared.AnnotationDeleteUserData, b.module, shared.AnnotationDeleteUserData, shared.ValueTrue, b.mark)
	case len(b.others) > 0:
		o.Hint = fmt.Sprintf("%s are being deleted, as the annotation %s allows: %s", b.count(), shared.AnnotationDeleteUserData, b.names())
	case b.own != nil:
		o.Hint = "waiting for the module's operator to remove the finalizers of " + b.own.String()
	default:
		return nil
	}
	return o
}

// count returns the number of users' custom resources, up to countedCRs.
func (b BlockingCRs) count() string {
	switch n := len(b.others); {
	case n == 1:
		return "1 custom resource"
	case n >= countedCRs:
		return fmt.Sprintf("%d or more custom resources", n)
	default:
		return fmt.Sprintf("%d custom resources", n)
	}
}

// names returns the names of the first custom resources of users.
func (b BlockingCRs) names() string {
	named, size := 0, 0
	all := make([]string, 0, namedCRs)
	for _, cr := range b.others {
		name := cr.String()
		if named == namedCRs || named > 0 && size+len(name) > namedBytes {
			break
		}
		all, named, size = append(all, name), named+1, size+len(name)
	}
	if more := len(b.others) - named; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all, ", "), more)
	}
	return strings.Join(all, ", ")
}
