package clusters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Registry gives access to the control plane and to the remote clusters of Kymas. It makes access to a remote cluster
// from the Kyma's access Secret, and caches the access by the Secret's UID and resourceVersion. It holds no lock during
// a request.
type Registry struct {
	options      Options
	controlPlane *Cluster

	flight singleflight.Group

	mu    sync.Mutex
	cache *simplelru.LRU[types.NamespacedName, *entry]
	// changed records the resource version of the last known change of a Kyma's access (Evict).
	changed *simplelru.LRU[types.NamespacedName, revision]
}

// entry is one cached cluster.
type entry struct {
	secretUID     types.UID
	secretVersion string
	// read is the resource version of the read that found the Secret.
	read    revision
	cluster *Cluster
	used    time.Time
}

// userAgent identifies us to the owners of remote clusters.
const userAgent = "lifecycle-manager"

// New returns a Registry. It sends no request.
func New(o Options) (*Registry, error) {
	if o.ControlPlane == nil || o.Scheme == nil {
		return nil, errors.New("clusters: ControlPlane and Scheme must be given")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Limits = o.Limits.withDefaults()
	controlPlane, err := newControlPlane(o.ControlPlane, o.Scheme, o.Clock)
	if err != nil {
		return nil, err
	}
	if o.Fleet == nil {
		o.Fleet = fleet.Live(controlPlane.Client)
	}
	cache, err := simplelru.NewLRU(o.Limits.MaxClusters, func(_ types.NamespacedName, e *entry) { e.cluster.closeIdle() })
	if err != nil {
		return nil, fmt.Errorf("make the cache of clusters: %w", err)
	}
	changed, err := simplelru.NewLRU[types.NamespacedName, revision](maxChanges, nil)
	if err != nil {
		return nil, fmt.Errorf("make the memory of changes: %w", err)
	}
	return &Registry{options: o, controlPlane: controlPlane, cache: cache, changed: changed}, nil
}

// ControlPlane returns the cluster of Lifecycle Manager's own resources.
func (r *Registry) ControlPlane() *Cluster { return r.controlPlane }

// Reach is like ForKyma, but sends no request to the control plane if the cached access was made from the version of
// the Secret that the informer knows. Use it for reads, for writes right after a step that read the Secret live, and
// for work that nobody waits for.
func (r *Registry) Reach(ctx context.Context, namespace, kymaName string) (*Cluster, error) {
	if r.options.Fleet.IsLive() {
		return r.ForKyma(ctx, namespace, kymaName)
	}
	read := parseVersion(r.options.Fleet.SecretsVersion(ctx))
	for _, place := range r.places(namespace) {
		known, err := r.options.Fleet.Secrets(ctx, place, kymaName)
		if err != nil {
			return nil, err
		}
		if len(known) != 1 {
			continue
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: known[0].UID, ResourceVersion: known[0].ResourceVersion}}
		if cluster := r.cached(types.NamespacedName{Namespace: namespace, Name: kymaName}, secret, read); cluster != nil {
			return cluster, nil
		}
		break
	}
	return r.ForKyma(ctx, namespace, kymaName)
}

// ForKyma returns access to the remote cluster of a Kyma. It reads the access Secret live each time, in the Kyma's
// namespace, or else in Options.AccessSecretNamespace. It makes new clients only if the Secret changed, and sends no
// request to the remote cluster.
//
// Errors are faults: ReasonAccessSecretNotFound (Unreachable), ReasonAccessSecretAmbiguous and ReasonKubeconfigRejected
// (Rejected), ReasonAccessChanged (Transient: read again). A failed read of the control plane has none of these
// reasons.
func (r *Registry) ForKyma(ctx context.Context, namespace, kymaName string) (*Cluster, error) {
	secret, read, err := r.accessSecret(ctx, namespace, kymaName)
	if err != nil {
		return nil, err
	}
	key := types.NamespacedName{Namespace: namespace, Name: kymaName}
	if cluster := r.cached(key, secret, read); cluster != nil {
		return cluster, nil
	}
	if secret.Namespace != namespace {
		if err := r.checkShared(ctx, secret, key); err != nil {
			return nil, err
		}
	}
	made, err, _ := r.flight.Do(key.String()+"@"+secret.ResourceVersion, func() (any, error) {
		return r.connect(key.String(), secret.Data[shared.AccessSecretKey])
	})
	if err != nil {
		return nil, err
	}
	cluster, _ := made.(*Cluster)
	return r.keep(key, secret, read, cluster)
}

// Evict drops the cached access of a Kyma, aborts its requests in progress, and closes its connections. Access that was
// read at the given resourceVersion of the change, or later, stays, because it includes the change. Without a version,
// Evict drops any access.
func (r *Registry) Evict(namespace, kymaName, resourceVersion string) {
	key := types.NamespacedName{Namespace: namespace, Name: kymaName}
	seen := parseVersion(resourceVersion)
	r.mu.Lock()
	defer r.mu.Unlock()
	if before, _ := r.changed.Get(key); seen > before {
		r.changed.Add(key, seen)
	}
	if e, ok := r.cache.Peek(key); ok && (seen == 0 || e.read < seen) {
		e.cluster.replace()
		r.cache.Remove(key)
	}
}

// Len returns the number of cached remote clusters.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cache.Len()
}

// places returns the namespaces that may have the access Secret of a Kyma. The first with a Secret wins.
func (r *Registry) places(namespace string) []string {
	if other := r.options.AccessSecretNamespace; other != "" && other != namespace {
		return []string{namespace, other}
	}
	return []string{namespace}
}

// accessSecret returns the only access Secret of a Kyma, and the control plane's version of the read.
func (r *Registry) accessSecret(ctx context.Context, namespace, kymaName string) (*corev1.Secret, revision, error) {
	places := r.places(namespace)
	found, read, err := r.secretsIn(ctx, places, kymaName)
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("find the access Secret of Kyma %s/%s: %w", namespace, kymaName, err)
	case len(found) == 0:
		return nil, 0, fault.New(fault.Unreachable, ReasonAccessSecretNotFound, shared.MessageAccessSecretNotFound).
			WithHint("no Secret in namespace %s has the label %s=%s: create it there, it takes effect at once",
				strings.Join(places, " or "), shared.LabelKymaName, kymaName)
	case len(found) > 1:
		return nil, 0, fault.New(fault.Rejected, ReasonAccessSecretAmbiguous,
			"more than one access secret is labelled for Kyma %s/%s, remove the label from all but one: %s", namespace, kymaName, names(found))
	}
	return &found[0], read, nil
}

// secretsIn returns the access Secrets in the first of these namespaces that has any, and the least version of the
// control plane that they reflect. The informer provides their names. A live read of each verifies the informer's
// knowledge.
func (r *Registry) secretsIn(ctx context.Context, places []string, kymaName string) ([]corev1.Secret, revision, error) {
	if r.options.Fleet.IsLive() {
		return r.listSecrets(ctx, places, kymaName)
	}
	// Reads after this one return at least this version.
	read := parseVersion(r.options.Fleet.SecretsVersion(ctx))
	for len(places) > 0 {
		known, err := r.options.Fleet.AccessSecrets(ctx, places, kymaName)
		if err != nil || len(known) == 0 {
			return nil, read, err
		}
		var found []corev1.Secret
		for _, version := range known {
			secret := corev1.Secret{}
			err := r.controlPlane.Client.Get(ctx, types.NamespacedName{Namespace: version.Namespace, Name: version.Name}, &secret)
			switch {
			case apierrors.IsNotFound(err):
			case err != nil:
				return nil, 0, err
			case secret.Labels[shared.LabelKymaName] == kymaName:
				found = append(found, secret)
			}
		}
		if len(found) > 0 {
			return found, read, nil
		}
		// All Secrets that the informer knew in this namespace are gone.
		places = places[slices.Index(places, known[0].Namespace)+1:]
	}
	return nil, read, nil
}

// listSecrets is secretsIn without an informer.
func (r *Registry) listSecrets(ctx context.Context, places []string, kymaName string) ([]corev1.Secret, revision, error) {
	var first revision
	for i, place := range places {
		var found corev1.SecretList
		err := r.controlPlane.Client.List(ctx, &found, client.InNamespace(place), client.MatchingLabels{shared.LabelKymaName: kymaName})
		if err != nil {
			return nil, 0, fmt.Errorf("list Secrets in namespace %s: %w", place, err)
		}
		if i == 0 {
			// The absence of a Secret in the first namespace is known as of this list.
			first = parseVersion(found.ResourceVersion)
		}
		if len(found.Items) > 0 {
			return found.Items, first, nil
		}
	}
	return nil, first, nil
}

func names(secrets []corev1.Secret) string {
	all := lists.Map(lists.Pointers(secrets), func(each *corev1.Secret) string { return each.Namespace + "/" + each.Name })
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// cached returns the cluster that was made from this version of the Secret, if it is still valid, or from a later one.
func (r *Registry) cached(key types.NamespacedName, secret *corev1.Secret, read revision) *Cluster {
	now := r.options.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropIdle(now)
	e, ok := r.cache.Get(key)
	if !ok || !e.serves(secret, read) {
		return nil
	}
	e.used, e.read = now, max(e.read, read)
	return e.cluster
}

// serves reports whether a caller that has read this Secret should use the entry.
func (e *entry) serves(secret *corev1.Secret, read revision) bool {
	if e.cluster.invalidated.Load() {
		return false
	}
	return e.secretUID == secret.UID && e.secretVersion == secret.ResourceVersion || e.read > read
}

// keep stores a cluster, unless another caller was faster, because all callers must share one. It ends the access that
// the new one replaces. It fails if the Secret is known to have changed after it was read.
func (r *Registry) keep(key types.NamespacedName, secret *corev1.Secret, read revision, cluster *Cluster) (*Cluster, error) {
	now := r.options.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if changed, _ := r.changed.Get(key); read != 0 && read < changed {
		return nil, fault.New(fault.Transient, ReasonAccessChanged, "%w while it was read", ErrAccessChanged)
	}
	if e, ok := r.cache.Get(key); ok {
		if e.serves(secret, read) {
			return e.cluster, nil
		}
		if e.secretUID != secret.UID || e.secretVersion != secret.ResourceVersion {
			e.cluster.replace()
		}
	}
	// Remove first: adding over an existing entry would not call the eviction function.
	r.cache.Remove(key)
	r.cache.Add(key, &entry{secretUID: secret.UID, secretVersion: secret.ResourceVersion, read: read, cluster: cluster, used: now})
	return cluster, nil
}

// dropIdle evicts clusters that were not used for Limits.IdleAfter, the least recently used first.
func (r *Registry) dropIdle(now time.Time) {
	for {
		_, oldest, ok := r.cache.GetOldest()
		if !ok || now.Sub(oldest.used) < r.options.Limits.IdleAfter {
			return
		}
		r.cache.RemoveOldest()
	}
}

// connect makes the clients for one kubeconfig. It sends no request.
func (r *Registry) connect(name string, kubeconfig []byte) (*Cluster, error) {
	config, err := configFrom(kubeconfig, r.options.Allow)
	if err != nil {
		return nil, err
	}
	limits := r.options.Limits
	config.QPS, config.Burst = limits.QPS, limits.Burst
	config.Timeout = 0 // each request has its own timeout, see guard
	config.UserAgent = userAgent
	// Warnings of a remote API server concern the module's author, and would cause a log line per object.
	config.WarningHandler = rest.NoWarnings{}

	base, err := newTransport(config, limits)
	if err != nil {
		return nil, rejected("its certificates cannot be used")
	}
	invalidated := &atomic.Bool{}
	var next http.RoundTripper = base
	if r.options.WrapTransport != nil {
		next = r.options.WrapTransport(name, next)
	}
	lease, validity := newLease(), ValidityOf(config)
	next = &guard{
		next: next, limit: limits.MaxResponseBytes, turns: make(chan struct{}, limits.Concurrency), lease: lease.ctx,
		invalidated: invalidated, masks: masksOf(config), validity: validity, clock: r.options.Clock, within: limits.Within,
	}
	authenticated, err := rest.HTTPWrappersForConfig(config, next)
	if err != nil {
		return nil, rejected("its credentials cannot be used")
	}
	httpClient := &http.Client{Transport: authenticated, CheckRedirect: refuseRedirects}
	cluster, err := assemble(name, config, httpClient, r.options.Scheme, r.options.Clock, invalidated, base.CloseIdleConnections)
	if err != nil {
		return nil, err
	}
	cluster.lease, cluster.Validity = lease, validity
	return cluster, nil
}
