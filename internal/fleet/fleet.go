// Package fleet answers which Manifests, access Secrets and Kymas exist, from informers, and knows how current these
// informers are.
//
// A process makes one Fleet with New (Register first, then start the cache). Commands and tests without informers use
// Live. Typical calls:
//
//	found, err := f.Manifests(ctx, kyma, seen)    // a Kyma's Manifests, at least as current as seen
//	all, err := f.AllManifests(ctx, kyma, seen)   // all of them, read live; required before acting on "there are none"
//	names, err := f.Secrets(ctx, namespace, name) // the names and versions of access Secrets
//
// Invariants:
//
//   - Nothing is listed at the API server for one Kyma or Manifest. The server answers such a LIST by reading every object of
//     the kind, so each piece of work would cost more the larger the fleet is.
//   - Informers provide names. Objects are read live by name before a caller acts on them.
//   - A Kyma's status records the names of its Manifests before they are created.
//   - If an action requires that nothing else exists, the informer and the record must both say so, a live read must find
//     none of the names, and the informer must have reached the last known change (Await).
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

// ReasonBehind: the informer has not reached a known change yet (kind Transient).
const ReasonBehind = "InformerBehind"

const (
	// patience is how long to wait for an informer that lags behind, usually by milliseconds.
	patience = 2 * time.Second
	// pause is the delay between two checks of the informer.
	pause = 5 * time.Millisecond
)

// Fleet answers which objects exist. It is safe for concurrent use.
type Fleet struct {
	// known is the cache of the informers, or the API server itself.
	known client.Reader
	live  client.Reader
	// version is nil if known is the API server itself, which never lags behind.
	version Version
	recent  recent
}

// Version returns the resource version up to which everything of a kind in a namespace is known. An empty namespace
// means all namespaces. The result is empty if the version is unknown.
type Version func(ctx context.Context, kind client.Object, namespace string) string

// New returns a Fleet over the informers of a cache that was prepared with Register. It reads by name with live, which
// must not be cached. limited is nil if the cache has all namespaces.
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

// Over returns a Fleet over a cache that knows everything up to a version.
func Over(known, live client.Reader, version Version) *Fleet {
	return &Fleet{known: installations.Reader(known), live: installations.Reader(live), version: version, recent: newRecent()}
}

// Live returns a Fleet that lists at the API server, for commands and tests without informers.
func Live(live client.Reader) *Fleet { return Over(live, live, nil) }

// IsLive reports whether the Fleet reads everything at the API server.
func (f *Fleet) IsLive() bool { return f.version == nil }

// Await waits until the informer of a kind knows everything in a namespace up to a resource version of that kind, and
// reports whether it does. An empty namespace means all namespaces. An empty resource version is always known.
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

// behind returns the error for an informer that has not reached a resource version.
func behind(kind, resourceVersion string) error {
	return fault.New(fault.Transient, ReasonBehind, "the informer of %s does not know of resource version %s yet", kind, resourceVersion)
}

// by selects objects by an index of the informer, or by the corresponding label at the API server.
func (f *Fleet) by(index, value, label, labelValue string) client.ListOption {
	if f.IsLive() {
		return client.MatchingLabels{label: labelValue}
	}
	return client.MatchingFields{index: value}
}

// Newest returns the newest resource version that was seen of objects of a kind. Resource versions of one kind are
// comparable.
func Newest(seen []desired.Seen, kind string) string {
	newest := ""
	for _, one := range seen {
		if one.Kind == kind && desired.Older(newest, one.ResourceVersion) {
			newest = one.ResourceVersion
		}
	}
	return newest
}

// SeenOf returns the record that a Manifest was seen in its version.
func SeenOf(m *v1beta2.Manifest) desired.Seen {
	return desired.Seen{Kind: shared.KindOfInstallation(m.Name), Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion}
}
