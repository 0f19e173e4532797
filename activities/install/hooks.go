package install

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// hookPause is the pause between two reads of a hook.
const hookPause = 500 * time.Millisecond

// When a hook runs: before the objects of its chart are applied, or after.
const (
	momentBefore = "before"
	momentAfter  = "after"
)

// hook is a hook of a chart, encoded like the other objects (https://helm.sh/docs/topics/charts_hooks/).
type hook struct {
	object
	// moment is when it runs: before the chart's objects are applied, or after.
	moment           string
	install, upgrade bool
	deleteOnSuccess  bool
}

func encodeHooks(hooks []artifacts.Hook) ([]hook, int64, error) {
	var all []hook
	size := int64(0)
	for _, h := range hooks {
		next := hook{moment: momentAfter, install: h.Install, upgrade: h.Upgrade, deleteOnSuccess: h.DeleteOnSuccess}
		if h.Before {
			next.moment = momentBefore
		}
		annotations := h.Object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[shared.AnnotationHookRun] = runPlace + "-" + next.moment
		h.Object.SetAnnotations(annotations)
		var err error
		if next.object, err = encode(h.Object); err != nil {
			return nil, 0, err
		}
		all = append(all, next)
		size += next.body.size()
	}
	return all, size, nil
}

// runOf names the run of the hooks and Jobs of a Manifest's layers, in a form that fits into an annotation.
func runOf(m *v1beta2.Manifest) string {
	hash := fnv.New64a()
	// A hash.Hash never returns an error from Write.
	_, _ = hash.Write([]byte(layersRef(m)))
	return strconv.FormatUint(hash.Sum64(), 16)
}

// planHooks places the hooks. A hook that does not run this time is part of the plan only when it has run
// before: then it stays until the module no longer has it.
func (p *plan) planHooks(ctx context.Context, m *v1beta2.Manifest, b *bundle, k kinds, remoteNamespace string, seen map[string]bool) error {
	installs := m.Status.InstalledVersion == "" && m.Status.InstalledRef == ""
	upgrades := !installs && (m.Status.InstalledRef != layersRef(m) || m.Status.InstalledVersion != m.Spec.Version)
	before := map[string]v1beta2.InventoryEntry{}
	for _, e := range m.Status.Inventory {
		before[e.ID] = e
	}
	mine := map[string]bool{}
	for i := range b.hooks {
		h := &b.hooks[i]
		at, err := placeObject(ctx, &h.object, k, remoteNamespace)
		if p.refuses(at) {
			continue
		}
		runs := h.install && installs || h.upgrade && upgrades
		if meta.IsNoMatchError(err) {
			if runs && !h.optional {
				p.unknown = append(p.unknown, at)
			}
			continue
		}
		if err != nil {
			return err
		}
		at.hook = h
		known, ran := before[at.entry.ID]
		switch {
		case seen[at.entry.ID]:
			return fault.New(fault.Rejected, artifacts.ReasonInvalidManifest, "%s is there twice, once as a hook", at)
		case !runs && !ran:
			continue
		}
		if !mine[at.entry.ID] {
			mine[at.entry.ID] = true
			p.entries = append(p.entries, at.entry)
		}
		if !runs || ranFor(known.Ran, m, h.moment) {
			continue
		}
		if h.moment == momentBefore {
			p.before = append(p.before, at)
		} else {
			p.after = append(p.after, at)
		}
	}
	return nil
}

// ranFor tells whether a hook ran, by what its inventory entry says.
func ranFor(ran string, m *v1beta2.Manifest, moment string) bool {
	ref := layersRef(m)
	return ran == hookRan(ref, moment) || ran == hookRan(ref, momentAfter)
}

func hookRan(ref, moment string) string { return ref + " " + moment }

// runHooks runs hooks one after the other, each when the one before is done, as Helm does. The first that
// fails, or takes longer than a pass waits, is noted; then false is returned.
func (a *Activities) runHooks(ctx context.Context, job *installation, hooks []placed, all *outcomes) (bool, error) {
	deadline := time.Now().Add(a.options.HookPatience)
	for _, p := range hooks {
		entry, f, err := runHook(ctx, job, p, deadline)
		if err != nil {
			if endsPass(ctx, err) {
				return false, fmt.Errorf("run hook %s: %w", p, err)
			}
			failed := failureOf(p, job.kinds, err)
			f = &failed
		}
		if f != nil {
			f.object = "hook " + f.object
			all.failed(*f)
			return false, nil
		}
		all.applied(entry)
		if p.hook.deleteOnSuccess {
			all.done = append(all.done, p.with(entry))
		}
	}
	return true, nil
}

// runHook makes the hook's object, unless an earlier pass did, and waits until it is done.
func runHook(ctx context.Context, job *installation, p placed, deadline time.Time) (v1beta2.InventoryEntry, *failure, error) {
	client := job.cluster.Dynamic.Resource(p.resource.GroupVersionResource).Namespace(p.name.Namespace)
	runs := isRun(p.object.gvk.GroupKind())
	begun := false
	for {
		live, err := client.Get(ctx, p.name.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			live, err = nil, nil
		}
		if err != nil {
			return p.entry, nil, err
		}
		ours := live != nil && job.owner.owns(live) && live.GetAnnotations()[shared.AnnotationHookRun] == job.owner.run+"-"+p.hook.moment
		switch {
		case live != nil && !job.owner.owns(live):
			return p.entry, &failure{object: p.String(), message: "an object of this name is there that is not this module's"}, nil
		case ours && runs:
			done, failed := ended(live)
			if failed != "" {
				return p.entry, &failure{object: p.String(), message: failed, hook: true}, nil
			}
			if done {
				entry := p.entry
				entry.UID, entry.Ran = string(live.GetUID()), hookRan(layersRef(job.manifest), p.hook.moment)
				return entry, nil, nil
			}
		case live != nil && runs:
			// What an earlier version left: what ran cannot be run again, it is replaced.
			if live.GetDeletionTimestamp().IsZero() {
				if err := replaceJob(ctx, job, p); err != nil {
					return p.entry, nil, err
				}
			}
		case live == nil && begun:
			return p.entry, &failure{object: p.String(), message: "it was gone before it was seen to be done", passing: true}, nil
		default:
			applied, err := applyInto(ctx, job, p, p.object.body.fill(job.owner))
			if err != nil {
				return p.entry, nil, err
			}
			if !runs {
				entry := p.entry
				entry.UID, entry.Hash = string(applied.UID), objectHash(applied)
				entry.Ran = hookRan(layersRef(job.manifest), p.hook.moment)
				return entry, nil, nil
			}
			begun = true
		}
		if time.Now().After(deadline) {
			return p.entry, &failure{object: p.String(), message: "it is not done yet", passing: true, hook: true}, nil
		}
		if err := pause(ctx, hookPause); err != nil {
			return p.entry, nil, err
		}
	}
}

// isRun tells of which kinds a hook is something that runs to an end; of others, making it is all.
func isRun(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: groupBatch, Kind: kindJob} || kind == schema.GroupKind{Kind: kindPod}
}

// ended tells whether a Job or Pod is done, or why it failed, in its own words.
func ended(u *unstructured.Unstructured) (done bool, failed string) {
	if u.GetKind() == kindPod {
		phase, _, _ := unstructured.NestedString(u.Object, pathStatus, "phase")
		return phase == string(corev1.PodSucceeded), failedText(phase == string(corev1.PodFailed), nestedText(u, "reason"), nestedText(u, "message"))
	}
	for _, c := range conditionsOf(u) {
		if c.Status != metav1.ConditionTrue {
			continue
		}
		switch c.Type {
		case "Complete", "SuccessCriteriaMet":
			return true, ""
		case "Failed":
			return false, failedText(true, c.Reason, c.Message)
		}
	}
	return false, ""
}

func nestedText(u *unstructured.Unstructured, field string) string {
	text, _, _ := unstructured.NestedString(u.Object, pathStatus, field)
	return text
}

func failedText(failed bool, reason, message string) string {
	switch {
	case !failed:
		return ""
	case reason == "" && message == "":
		return "it failed"
	case message == "":
		return "it failed: " + short(reason)
	case reason == "":
		return "it failed: " + short(message)
	default:
		return "it failed: " + short(reason+": "+message)
	}
}

// deleteDone deletes the hooks that are to go once they are done, after it was recorded that they ran.
func deleteDone(ctx context.Context, job *installation, done []placed) error {
	for _, p := range done {
		background := metav1.DeletePropagationBackground
		options := metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: metav1.NewUIDPreconditions(p.entry.UID)}
		err := job.cluster.Metadata.Resource(p.resource.GroupVersionResource).Namespace(p.name.Namespace).Delete(ctx, p.name.Name, options)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && endsPass(ctx, err) {
			return fmt.Errorf("delete hook %s: %w", p, err)
		}
	}
	return nil
}
