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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Registry gives access to the control plane and to the remote clusters of Kymas. Access to a remote
// cluster is made of its Secret and cached by the Secret's UID and resourceVersion. No lock is held
// during a request.
type Registry struct {
	options      Options
	controlPlane *Cluster

	flight singleflight.Group

	mu    sync.Mutex
	cache *simplelru.LRU[types.NamespacedName, *entry]
	// changed is when the access of a Kyma was last told to have changed (Evict).
	changed *simplelru.LRU[types.NamespacedName, revision]
}

// entry is one cached cluster.
type entry struct {
	secretUID     types.UID
	secretVersion string
	// read is the version of the reading that found the Secret.
	read    revision
	cluster *Cluster
	used    time.Time
}

// userAgent tells the owners of remote clusters who asks.
const userAgent = "lifecycle-manager"

// New returns a Registry. It makes no request.
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

// ControlPlane is the cluster of Lifecycle Manager's own resources.
func (r *Registry) ControlPlane() *Cluster { return r.controlPlane }

// ForKyma gives access to the remote cluster of a Kyma. Its access Secret is read live each time, in the
// Kyma's namespace, else in Options.AccessSecretNamespace; the clients are made only when it changed. No
// request goes to the remote cluster.
//
// Errors are faults: ReasonAccessSecretNotFound (Unreachable), ReasonAccessSecretAmbiguous and
// ReasonKubeconfigRejected (Rejected), ReasonAccessChanged (Transient: read again). That the control plane could
// not be read is none of them.
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

// Evict lets go of what is cached for a Kyma's cluster, ends the requests that are under way with it, and closes its
// connections. Access that was read at the given resourceVersion of the change or later stays: it has seen it.
// Without a version, any goes.
func (r *Registry) Evict(namespace, kymaName, resourceVersion string) {
	key := types.NamespacedName{Namespace: namespace, Name: kymaName}
	seen := parseVersion(resourceVersion)
	r.mu.Lock()
	defer r.mu.Unlock()
	if before, _ := r.changed.Get(key); seen > before {
		r.changed.Add(key, seen)
	}
	if e, ok := r.cache.Peek(key); ok && (seen == 0 || e.read < seen) {
		e.cluster.supersede()
		r.cache.Remove(key)
	}
}

// Len is the number of remote clusters that are cached.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cache.Len()
}

// accessSecret finds the one access Secret of a Kyma, and says at which version of the control plane.
func (r *Registry) accessSecret(ctx context.Context, namespace, kymaName string) (*corev1.Secret, revision, error) {
	places := []string{namespace}
	if other := r.options.AccessSecretNamespace; other != "" && other != namespace {
		places = append(places, other)
	}
	var first revision
	for i, place := range places {
		found, err := r.secretsIn(ctx, place, kymaName)
		if err != nil {
			return nil, 0, fmt.Errorf("list the access Secrets of Kyma %s/%s in namespace %s: %w", namespace, kymaName, place, err)
		}
		if i == 0 {
			// That there was none in the first place is as old as this reading.
			first = parseVersion(found.ResourceVersion)
		}
		switch len(found.Items) {
		case 0:
			continue
		case 1:
			return &found.Items[0], first, nil
		default:
			return nil, 0, fault.New(fault.Rejected, ReasonAccessSecretAmbiguous,
				"more than one access secret is labelled for Kyma %s/%s: %s", namespace, kymaName, names(found.Items))
		}
	}
	return nil, 0, fault.New(fault.Unreachable, ReasonAccessSecretNotFound, shared.MessageAccessSecretNotFound).
		WithHint("no Secret in namespace %s has the label %s=%s: create it there, and it is taken up at once",
			strings.Join(places, " or "), shared.LabelKymaName, kymaName)
}

func (r *Registry) secretsIn(ctx context.Context, namespace, kymaName string) (*corev1.SecretList, error) {
	var found corev1.SecretList
	err := r.controlPlane.Client.List(ctx, &found, client.InNamespace(namespace), client.MatchingLabels{shared.LabelKymaName: kymaName})
	return &found, err
}

func names(secrets []corev1.Secret) string {
	all := make([]string, 0, len(secrets))
	for i := range secrets {
		all = append(all, secrets[i].Namespace+"/"+secrets[i].Name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// cached returns the cluster that was made from this very Secret, if it is still good, or from one that was read
// later than this.
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

// serves tells whether an entry is what somebody is to work with who has read this Secret.
func (e *entry) serves(secret *corev1.Secret, read revision) bool {
	if e.cluster.spoiled.Load() {
		return false
	}
	return e.secretUID == secret.UID && e.secretVersion == secret.ResourceVersion || e.read > read
}

// keep stores a cluster, unless another caller was faster: all callers shall share one. Access that it takes the
// place of ends. It fails where the Secret is known to have changed since it was read.
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
			e.cluster.supersede()
		}
	}
	// Remove first: adding over an entry would not call the eviction.
	r.cache.Remove(key)
	r.cache.Add(key, &entry{secretUID: secret.UID, secretVersion: secret.ResourceVersion, read: read, cluster: cluster, used: now})
	return cluster, nil
}

// dropIdle evicts what was not used for long; the least recently used are first.
func (r *Registry) dropIdle(now time.Time) {
	for {
		_, oldest, ok := r.cache.GetOldest()
		if !ok || now.Sub(oldest.used) < r.options.Limits.IdleAfter {
			return
		}
		r.cache.RemoveOldest()
	}
}

// connect makes the clients for one kubeconfig. It makes no request.
func (r *Registry) connect(name string, kubeconfig []byte) (*Cluster, error) {
	config, err := configFrom(kubeconfig, r.options.Allow)
	if err != nil {
		return nil, err
	}
	limits := r.options.Limits
	config.QPS, config.Burst = limits.QPS, limits.Burst
	config.Timeout = 0 // each request has a limit of its own, see guard
	config.UserAgent = userAgent
	// What a remote API server warns about is the module's business; it would be a log line per object.
	config.WarningHandler = rest.NoWarnings{}

	base, err := newTransport(config, limits)
	if err != nil {
		return nil, rejected("its certificates cannot be used")
	}
	spoiled := &atomic.Bool{}
	var next http.RoundTripper = base
	if r.options.WrapTransport != nil {
		next = r.options.WrapTransport(name, next)
	}
	lease := newLease()
	next = &guard{
		next: next, limit: limits.MaxResponseBytes, turns: make(chan struct{}, limits.Concurrency), lease: lease.ctx,
		spoiled: spoiled, masks: masksOf(config), within: limits.Within,
	}
	authenticated, err := rest.HTTPWrappersForConfig(config, next)
	if err != nil {
		return nil, rejected("its credentials cannot be used")
	}
	httpClient := &http.Client{Transport: authenticated, CheckRedirect: refuseRedirects}
	cluster, err := assemble(name, config, httpClient, r.options.Scheme, r.options.Clock, spoiled, base.CloseIdleConnections)
	if err != nil {
		return nil, err
	}
	cluster.lease = lease
	return cluster, nil
}
