// Package fleet knows from informers which Manifests, access Secrets and Kymas there are, and how old that knowledge is.
//
// Nothing is listed at the API server for the sake of one Kyma or Manifest: it answers such a LIST by reading every
// object of the kind, so each piece of work would cost more the larger the fleet is. Informers know which names there
// are; what is acted on is read by name. What a Kyma has is also on record in its status, by name, from before it is made.
// Where something may only be done when nothing else exists, both must say so, each name must be gone by a live read, and
// the informer must be as new as the last change that is known of.
package fleet

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/installations"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// ReasonBehind: the informer does not know yet what is known to have happened (kind Transient).
const ReasonBehind = "InformerBehind"

const (
	// patience is how long an informer that is behind is waited for. It is usually so by milliseconds.
	patience = 2 * time.Second
	// pause is the pause between two reads of it.
	pause = 5 * time.Millisecond
)

// Fleet answers which objects there are. It may be shared.
type Fleet struct {
	// known is the cache behind the informers, or the API server itself.
	known client.Reader
	live  client.Reader
	// version is nil where known is the API server itself, which is never behind.
	version Version
	recent  recent
}

// Version tells the resource version up to which everything of a kind in a namespace is known, or in all namespaces where
// none is named; empty where that is not known.
type Version func(ctx context.Context, kind client.Object, namespace string) string

// New returns a Fleet that knows what the informers know, on whose cache Register was called, and reads by name with
// live, which must be uncached. Limited is nil where the cache has all namespaces.
func New(informers cache.Cache, limited *Informers, live client.Reader) *Fleet {
	if limited != nil {
		return Over(informers, live, limited.version)
	}
	return Over(informers, live, func(ctx context.Context, kind client.Object, _ string) string {
		informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return ""
		}
		stored, ok := informer.(toolscache.SharedInformer)
		if !ok {
			return ""
		}
		return versionOf(stored)
	})
}

// Over returns a Fleet that knows what a cache knows, which is everything up to a version.
func Over(known, live client.Reader, version Version) *Fleet {
	return &Fleet{known: installations.Reader(known), live: installations.Reader(live), version: version, recent: newRecent()}
}

// Live returns a Fleet that lists at the API server itself: for commands and tests that run no informers.
func Live(live client.Reader) *Fleet { return Over(live, live, nil) }

// IsLive tells whether all that the Fleet says is read at the API server.
func (f *Fleet) IsLive() bool { return f.version == nil }

// Await waits until the informer of a kind knows of everything in a namespace, or in all where none is named, up to a
// resource version of that kind, and tells whether it does. Of no version at all it knows.
func (f *Fleet) Await(ctx context.Context, kind client.Object, namespace, resourceVersion string) bool {
	if f.IsLive() || resourceVersion == "" {
		return true
	}
	err := wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		known := f.version(ctx, kind, namespace)
		return known != "" && !desired.Older(known, resourceVersion), nil
	})
	return err == nil
}

// behind is the error where the informer of a kind is not as new as it has to be.
func behind(kind, resourceVersion string) error {
	return fault.New(fault.Transient, ReasonBehind, "the informer of %s does not know of resource version %s yet", kind, resourceVersion)
}

// by selects what an informer has indexed under a value, or what has the label by which the API server lists the same.
func (f *Fleet) by(index, value, label, labelValue string) client.ListOption {
	if f.IsLive() {
		return client.MatchingLabels{label: labelValue}
	}
	return client.MatchingFields{index: value}
}

// Newest is the newest resource version that was seen of objects of a kind: resource versions of one kind are comparable.
func Newest(seen []desired.Seen, kind string) string {
	newest := ""
	for _, one := range seen {
		if one.Kind == kind && desired.Older(newest, one.ResourceVersion) {
			newest = one.ResourceVersion
		}
	}
	return newest
}

// SeenOf says that a Manifest was seen.
func SeenOf(m *v1beta2.Manifest) desired.Seen {
	return desired.Seen{Kind: shared.KindOfInstallation(m.Name), Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion}
}
