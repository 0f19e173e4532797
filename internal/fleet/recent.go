package fleet

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lately"
)

const (
	// keptObjects is the greatest number of objects that are kept for the next step.
	keptObjects = 256
	// keptKyma is how long a Kyma is kept. The next step names the version that it needs.
	keptKyma = 10 * time.Second
	// keptManifest is how long a Manifest is kept. It is short because the next step does not name the version that it
	// needs: the informer must have shown all writes of others.
	keptManifest = time.Second
)

// recent keeps objects as one step received them from the API server, for the next step of the same work in this
// process.
type recent struct {
	objects *lately.Cache[types.UID, keptObject]
}

type keptObject struct {
	client.Object
	at time.Time
}

func newRecent() recent { return recent{lately.New[types.UID, keptObject](keptObjects)} }

// Keep keeps a Kyma or a Manifest as the API server has just returned it, so that the next step of the same work does
// not need to read it. A step that fails must not call Keep, so that the next step reads live.
func (f *Fleet) Keep(object client.Object) {
	copied, ok := object.DeepCopyObject().(client.Object)
	if !ok || f.IsLive() {
		return
	}
	for _, oldest, found := f.recent.objects.GetOldest(); found && time.Since(oldest.at) > keptKyma; _, oldest, found = f.recent.objects.GetOldest() {
		f.recent.objects.RemoveOldest()
	}
	f.recent.objects.Add(object.GetUID(), keptObject{copied, time.Now()})
}

// TakeKyma returns the Kyma that the previous step kept, if it is the newest version in seen, and the informer has no
// newer one. Otherwise it returns nil. A Kyma can be taken once, so a repeated step reads live.
func (f *Fleet) TakeKyma(ctx context.Context, ref kick.Ref, seen []desired.Seen) *v1beta2.Kyma {
	kyma, _ := f.take(ref.UID, keptKyma).Object.(*v1beta2.Kyma)
	if kyma == nil || kyma.ResourceVersion != Newest(seen, shared.KindKyma) || f.knowsNewer(ctx, kyma, &v1beta2.Kyma{}) {
		return nil
	}
	return kyma
}

// TakeManifest returns the Manifest that the previous step wrote within the last second, and the time of that write, if
// the informer has no newer version. Otherwise it returns nil. A Manifest can be taken once.
func (f *Fleet) TakeManifest(ctx context.Context, ref kick.Ref) (*v1beta2.Manifest, time.Time) {
	kept := f.take(ref.UID, keptManifest)
	m, _ := kept.Object.(*v1beta2.Manifest)
	if m == nil || f.knowsNewer(ctx, m, &v1beta2.Manifest{}) {
		return nil, time.Time{}
	}
	return m, kept.at
}

// NewKyma returns a Kyma from the informer. It may be stale, so the caller must first write at its resource version.
func (f *Fleet) NewKyma(ctx context.Context, ref kick.Ref) *v1beta2.Kyma {
	kyma := &v1beta2.Kyma{}
	if f.IsLive() || f.known.Get(ctx, ref.Key(), kyma) != nil || kyma.UID != ref.UID {
		return nil
	}
	return kyma
}

// take removes and returns the kept version of an object, unless it is too old.
func (f *Fleet) take(uid types.UID, within time.Duration) keptObject {
	kept, found := f.recent.objects.Peek(uid)
	if !found {
		return keptObject{}
	}
	f.recent.objects.Remove(uid)
	if time.Since(kept.at) > within {
		return keptObject{}
	}
	return kept
}

// IsNewest reports whether the informer knows a Manifest that was read live, and no newer version.
func (f *Fleet) IsNewest(ctx context.Context, m *v1beta2.Manifest) bool {
	known := &v1beta2.Manifest{}
	return !f.IsLive() && f.known.Get(ctx, client.ObjectKeyFromObject(m), known) == nil && isAtLeast(m, known)
}

// knowsNewer reports whether the informer knows a newer version of an object, or another object with its name. The
// informer may not know the object yet.
func (f *Fleet) knowsNewer(ctx context.Context, object, known client.Object) bool {
	err := f.known.Get(ctx, client.ObjectKeyFromObject(object), known)
	return client.IgnoreNotFound(err) != nil || err == nil && !isAtLeast(object, known)
}

func isAtLeast(object, known client.Object) bool {
	return object.GetUID() == known.GetUID() && !desired.Older(object.GetResourceVersion(), known.GetResourceVersion())
}
