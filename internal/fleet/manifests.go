package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// readsAtOnce is the number of concurrent reads of one Kyma's Manifests.
const readsAtOnce = 8

// Manifests holds the Manifests of a Kyma, and foreign ones with the Kyma's name that belong to an earlier Kyma of that
// name.
type Manifests struct {
	Own, Foreign []v1beta2.Manifest
	// Absent holds recorded names that a live read did not find.
	Absent []string
}

// Replace replaces a known Manifest with the result of a live read. Nil removes it.
func (m *Manifests) Replace(name string, now *v1beta2.Manifest) {
	for _, list := range []*[]v1beta2.Manifest{&m.Own, &m.Foreign} {
		at := slices.IndexFunc(*list, func(known v1beta2.Manifest) bool { return known.Name == name })
		switch {
		case at < 0:
		case now == nil || now.UID != (*list)[at].UID:
			// Another Manifest with this name is new. Its event is on the way.
			*list = slices.Delete(slices.Clone(*list), at, at+1)
		default:
			*list = slices.Clone(*list)
			(*list)[at] = *now
		}
	}
}

// Manifests returns the Manifests of a Kyma, at least as current as those that were seen. They may lack the fields that
// informers omit (Strip). The informer's version of a Manifest may be stale, so read a Manifest by name before you act
// on it. If the informer lags behind, Manifests reads all of them live.
func (f *Fleet) Manifests(ctx context.Context, kyma *v1beta2.Kyma, seen []desired.Seen) (Manifests, error) {
	if f.awaitManifests(ctx, kyma.Namespace, seen) != nil {
		return f.LiveManifests(ctx, kyma)
	}
	known, err := f.knownManifests(ctx, kyma)
	if err != nil {
		return Manifests{}, err
	}
	found := lists.By(lists.Pointers(known), func(each *v1beta2.Manifest) string { return each.Name })
	missing := lists.Filter(onRecord(kyma), func(name string) bool { return found[name] == nil && !f.IsLive() })
	read, err := f.read(ctx, kyma.Namespace, missing)
	if err != nil {
		return Manifests{}, err
	}
	for i := range read {
		found[read[i].Name] = &read[i]
	}
	all := sorted(kyma, found)
	all.Absent = slices.DeleteFunc(missing, func(name string) bool { return found[name] != nil })
	return all, nil
}

// LiveManifests reads every Manifest live that the informer or the Kyma's record names.
func (f *Fleet) LiveManifests(ctx context.Context, kyma *v1beta2.Kyma) (Manifests, error) {
	known, err := f.knownManifests(ctx, kyma)
	if err != nil {
		return Manifests{}, err
	}
	if !f.IsLive() {
		names := lists.Set(lists.Pointers(known), func(each *v1beta2.Manifest) string { return each.Name })
		for _, name := range onRecord(kyma) {
			names[name] = true
		}
		if known, err = f.read(ctx, kyma.Namespace, slices.Sorted(maps.Keys(names))); err != nil {
			return Manifests{}, err
		}
	}
	found := lists.By(lists.Pointers(known), func(each *v1beta2.Manifest) string { return each.Name })
	return sorted(kyma, found), nil
}

// AllManifests is like LiveManifests, for callers that may act only if there are none: the informer must have reached
// seen.
func (f *Fleet) AllManifests(ctx context.Context, kyma *v1beta2.Kyma, seen []desired.Seen) (Manifests, error) {
	if err := f.awaitManifests(ctx, kyma.Namespace, seen); err != nil {
		return Manifests{}, err
	}
	return f.LiveManifests(ctx, kyma)
}

// Manifest reads one Manifest live. It is nil if the Manifest does not exist.
func (f *Fleet) Manifest(ctx context.Context, key types.NamespacedName) (*v1beta2.Manifest, error) {
	m := &v1beta2.Manifest{}
	err := f.live.Get(ctx, key, m)
	if err != nil {
		return nil, client.IgnoreNotFound(fmt.Errorf("read Manifest %s: %w", key, err))
	}
	return m, nil
}

// OfKyma returns the Manifests that a Kyma owns, at least as current as seen. They may lack the fields that informers
// omit.
func (f *Fleet) OfKyma(ctx context.Context, kyma kick.Ref, seen []desired.Seen) ([]v1beta2.Manifest, error) {
	if err := f.awaitManifests(ctx, kyma.Namespace, seen); err != nil {
		return nil, err
	}
	owner := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: kyma.Namespace, Name: kyma.Name, UID: kyma.UID}}
	known, err := f.knownManifests(ctx, owner)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(known, func(m v1beta2.Manifest) bool { return !owns(owner, &m) }), nil
}

// LeftBy returns the Manifests under deletion of a Kyma that is gone. No other workflow removes them.
func (f *Fleet) LeftBy(ctx context.Context, gone kick.Ref, seen []desired.Seen) ([]kick.Ref, error) {
	all, err := f.OfKyma(ctx, gone, seen)
	var left []kick.Ref
	for i := range all {
		if !all[i].DeletionTimestamp.IsZero() && len(all[i].Finalizers) > 0 {
			left = append(left, kick.RefOf(&all[i]))
		}
	}
	return left, err
}

// Sharing returns the Manifests with this value of the label shared-module, in all namespaces, at least as current as
// seen. They may lack the fields that informers omit.
func (f *Fleet) Sharing(ctx context.Context, module, seen string) ([]v1beta2.Manifest, error) {
	if !f.Await(ctx, &v1beta2.Manifest{}, metav1.NamespaceAll, seen) {
		return nil, behind("Manifests", seen)
	}
	var list v1beta2.ManifestList
	if err := f.known.List(ctx, &list, f.by(IndexSharedModule, module, desired.LabelSharedModule, module)); err != nil {
		return nil, fmt.Errorf("find the Manifests of a shared module: %w", err)
	}
	return list.Items, nil
}

// awaitManifests waits until the informers of Manifests and RemoteAgents have reached the versions that were seen.
func (f *Fleet) awaitManifests(ctx context.Context, namespace string, seen []desired.Seen) error {
	if newest := Newest(seen, shared.KindManifest); !f.Await(ctx, &v1beta2.Manifest{}, namespace, newest) {
		return behind("Manifests", newest)
	}
	if newest := Newest(seen, shared.KindRemoteAgent); !f.Await(ctx, &v1beta2.RemoteAgent{}, namespace, newest) {
		return behind("RemoteAgents", newest)
	}
	return nil
}

// onRecord returns the names of the Manifests in a Kyma's status.
func onRecord(kyma *v1beta2.Kyma) []string {
	var shown []string
	for _, module := range kyma.Status.Modules {
		if module.Manifest != nil && module.Manifest.Metadata.Name != "" {
			shown = append(shown, module.Manifest.Metadata.Name)
		}
	}
	return desired.Recorded(kyma.Status.Manifests, shown)
}

// knownManifests returns the Manifests that the Kyma owns, and those with its name in their label.
func (f *Fleet) knownManifests(ctx context.Context, kyma *v1beta2.Kyma) ([]v1beta2.Manifest, error) {
	selections := []client.ListOption{f.by(IndexKymaName, kyma.Name, shared.LabelKymaName, kyma.Name)}
	if !f.IsLive() {
		selections = append(selections, client.MatchingFields{IndexKymaUID: string(kyma.UID)})
	}
	found := map[string]bool{}
	var all []v1beta2.Manifest
	for _, selected := range selections {
		var list v1beta2.ManifestList
		if err := f.known.List(ctx, &list, client.InNamespace(kyma.Namespace), selected); err != nil {
			return nil, fmt.Errorf("find the Manifests of Kyma %s: %w", desired.NameOf(kyma), err)
		}
		for i := range list.Items {
			if m := &list.Items[i]; !found[m.Name] {
				found[m.Name] = true
				all = append(all, *m)
			}
		}
	}
	return all, nil
}

// read reads Manifests live by name. It omits those that do not exist.
func (f *Fleet) read(ctx context.Context, namespace string, names []string) ([]v1beta2.Manifest, error) {
	all := make([]*v1beta2.Manifest, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i, name := range names {
		group.Go(func() error {
			var err error
			all[i], err = f.Manifest(ctx, types.NamespacedName{Namespace: namespace, Name: name})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var found []v1beta2.Manifest
	for _, m := range all {
		if m != nil {
			found = append(found, *m)
		}
	}
	return found, nil
}

// sorted separates a Kyma's own Manifests from foreign ones with its name. It omits others, which a record may name
// too.
func sorted(kyma *v1beta2.Kyma, found map[string]*v1beta2.Manifest) Manifests {
	var all Manifests
	for _, name := range slices.Sorted(maps.Keys(found)) {
		switch m := found[name]; {
		case owns(kyma, m):
			all.Own = append(all.Own, *m)
		case m.KymaName() == kyma.Name:
			all.Foreign = append(all.Foreign, *m)
		}
	}
	return all
}

// owns reports whether this very Kyma is the controller of a Manifest.
func owns(kyma *v1beta2.Kyma, m *v1beta2.Manifest) bool {
	owner := metav1.GetControllerOf(m)
	return owner != nil && owner.UID == kyma.UID
}
