package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// repair is what is known of a module's objects before they are applied once more, and what became of them. The
// zero value is that of a first installation: nothing is known, everything is applied.
type repair struct {
	// only is true when there is nothing to do but to put right: the inputs are those that are installed.
	only bool
	// surveyed is true when the objects were looked at.
	surveyed bool
	before   survey
	recorded map[string]v1beta2.InventoryEntry

	mu        sync.Mutex
	corrected []corrected
	// unsettled is true when something was applied whose health matters: only a wait can say how it becomes.
	unsettled bool
}

// corrected is an object that was not as it was left, and was put right.
type corrected struct {
	at placed
	// how says in words what was wrong with it.
	how string
	// taken is what was taken from us, where anything was and it is known by whom.
	taken loss
	known bool
}

// survey looks at the objects that were applied before, so that only those are applied that are not as they
// should be. A first installation has none, and costs no request.
func (a *Activities) survey(ctx context.Context, job *installation) error {
	wanted := map[string]bool{}
	for _, e := range job.plan.entries {
		wanted[e.ID] = true
	}
	kinds := map[schema.GroupKind]schema.GroupVersionKind{}
	job.repair.recorded = map[string]v1beta2.InventoryEntry{}
	for _, e := range job.manifest.Status.Inventory {
		job.repair.recorded[e.ID] = e
		if gvk, _, err := e.Object(); err == nil && e.UID != "" && wanted[e.ID] && !runsOnce(e) {
			kinds[gvk.GroupKind()] = gvk
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	look := surveyor{cluster: job.cluster, kinds: job.kinds, selector: job.owner.selector(), inFull: nothingInFull}
	if job.repair.only {
		look.inFull = readInFull
	}
	before, err := look.look(ctx, kinds)
	if err != nil {
		return err
	}
	job.repair.surveyed, job.repair.before = true, before
	return nil
}

// asItShouldBe tells whether an object need not be applied: it is the one that was applied, what we own of it is
// ours, and it was rendered as it is now. So is one that is left to those who dispute it, as long as it is there.
func (r *repair) asItShouldBe(p placed, corrections []v1beta2.Correction, now metav1.Time) (v1beta2.InventoryEntry, bool) {
	recorded, known := r.recorded[p.entry.ID]
	if !r.surveyed || !known || recorded.UID == "" || runsOnce(recorded) || isJobKind(p.object.gvk.GroupKind()) {
		return v1beta2.InventoryEntry{}, false
	}
	// The entry is as it was; only the version of the API is the one that it is rendered in now.
	recorded.Version, recorded.Leaving = p.entry.Version, false
	seen, there := r.before.seen[p.entry.ID]
	if r.before.failed[p.object.gvk.GroupKind()] == nil && (!there || string(seen.meta.UID) != recorded.UID) {
		return v1beta2.InventoryEntry{}, false
	}
	if r.only && leftToOthers(corrections, p.entry.ID, now.Time) {
		return recorded, true
	}
	if !there || string(seen.meta.UID) != recorded.UID || seen.meta.Annotations[shared.AnnotationAppliedDigest] != p.object.digest {
		return v1beta2.InventoryEntry{}, false
	}
	return recorded, recorded.Hash != "" && objectHash(seen.meta) == recorded.Hash
}

// bodyFor is the object as it is to be applied: without what somebody else sets through a subresource.
func (r *repair) bodyFor(p placed, body []byte) ([]byte, error) {
	if seen, there := r.before.seen[p.entry.ID]; there && scaledByOthers(seen.meta) {
		return withoutReplicas(body)
	}
	return body, nil
}

// note says what applying an object came to. Only what had been applied before, and was not as it was left, was
// put right; that an object looks the same afterwards means that nothing was.
func (r *repair) note(p placed, after *metav1.PartialObjectMetadata) {
	recorded, known := r.recorded[p.entry.ID]
	if !r.surveyed || !known || recorded.UID == "" || r.before.failed[p.object.gvk.GroupKind()] != nil {
		return
	}
	seen, there := r.before.seen[p.entry.ID]
	c := corrected{at: p}
	switch {
	case !there && recorded.UID == string(after.UID):
		c.how = "had lost our labels"
	case !there:
		c.how = "had been deleted"
	case recorded.UID != string(seen.meta.UID):
		c.how = "had been replaced"
	case objectHash(seen.meta) == objectHash(after), objectHash(seen.meta) == recorded.Hash:
		return
	default:
		c.how = "had been changed"
		if r.only {
			c.taken, c.known = lossOf(seen.meta.ManagedFields, after.ManagedFields)
		}
		if c.known {
			c.how = fmt.Sprintf("%s by %s", c.taken.field, managerName(c.taken.manager))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.corrected = append(r.corrected, c)
	r.unsettled = r.unsettled || healthMatters(p.object.gvk.GroupKind())
}

// losses are the corrections that count in a dispute, by id. A deleted object is none: it is made again each time,
// for a module without it does not work, and nobody can be named.
func (r *repair) losses() map[string]loss {
	all := map[string]loss{}
	for _, c := range r.corrected {
		if c.known {
			all[c.at.entry.ID] = c.taken
		}
	}
	return all
}

// remember puts what was corrected into a status.
func (r *repair) remember(s *v1beta2.ManifestStatus, now metav1.Time) {
	if r.surveyed {
		s.Corrections = nextCorrections(s.Corrections, r.losses(), now)
	}
}

// String names the first of the corrected objects.
func (r *repair) String() string {
	all := make([]string, 0, len(r.corrected))
	for _, c := range r.corrected {
		all = append(all, c.at.String()+" ("+c.how+")")
	}
	slices.Sort(all)
	if len(all) > maxNamed {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:maxNamed], ", "), len(all)-maxNamed)
	}
	return strings.Join(all, ", ")
}

// judgeRepaired says how a settled module is after a look that only put right, by what was seen in that very look.
// It cannot say so when something was applied whose health matters, or when something could not be read.
func (a *Activities) judgeRepaired(ctx context.Context, job *installation) (Observed, bool, error) {
	m, r := job.manifest, &job.repair
	if !r.only || !r.surveyed || r.unsettled || len(r.before.failed) > 0 || !m.Status.Settled {
		return Observed{}, false, nil
	}
	o := observer{cluster: job.cluster, kinds: job.kinds, owner: job.owner, seen: map[string]*unstructured.Unstructured{}}
	o.total = staying(m.Status.Inventory)
	for _, e := range m.Status.Inventory {
		gvk, _, err := e.Object()
		if err != nil || e.Leaving || runsOnce(e) || !healthMatters(gvk.GroupKind()) {
			continue
		}
		seen, there := r.before.seen[e.ID]
		if !there {
			return Observed{}, false, nil
		}
		o.note(e, seen.body())
	}
	manager, err := o.manager(ctx, m, a.remoteNamespace(m))
	if err != nil {
		return Observed{}, false, err
	}
	cr, err := o.moduleCR(ctx, m)
	if err != nil {
		return Observed{}, false, err
	}
	observed := withDisputes(judge(o.health, manager, cr), nextCorrections(m.Status.Corrections, r.losses(), a.now()))
	settled := !observed.DefaultCRWanted && (observed.State == shared.StateReady || observed.State == shared.StateWarning)
	return observed, settled, nil
}

// body is the object for those who judge its health: of a kind of which only the existence matters, only that.
func (s sighting) body() *unstructured.Unstructured {
	if s.full != nil {
		return s.full
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(s.gvk)
	u.SetName(s.meta.Name)
	u.SetDeletionTimestamp(s.meta.DeletionTimestamp)
	return u
}
