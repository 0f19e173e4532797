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
}

// entry is one cached cluster.
type entry struct {
	secretUID     types.UID
	secretVersion string
	cluster       *Cluster
	used          time.Time
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
	return &Registry{options: o, controlPlane: controlPlane, cache: cache}, nil
}

// ControlPlane is the cluster of Lifecycle Manager's own resources.
func (r *Registry) ControlPlane() *Cluster { return r.controlPlane }

// ForKyma gives access to the remote cluster of a Kyma. Its access Secret is read live each time, in the
// Kyma's namespace, else in Options.AccessSecretNamespace; the clients are made only when it changed. No
// request goes to the remote cluster.
//
// Errors are faults: ReasonAccessSecretNotFound (Unreachable), ReasonAccessSecretAmbiguous and
// ReasonKubeconfigRejected (Rejected). That the control plane could not be read is neither.
func (r *Registry) ForKyma(ctx context.Context, namespace, kymaName string) (*Cluster, error) {
	secret, err := r.accessSecret(ctx, namespace, kymaName)
	if err != nil {
		return nil, err
	}
	key := types.NamespacedName{Namespace: namespace, Name: kymaName}
	if cluster := r.cached(key, secret); cluster != nil {
		return cluster, nil
	}
	made, err, _ := r.flight.Do(key.String()+"@"+secret.ResourceVersion, func() (any, error) {
		return r.connect(key.String(), secret.Data[shared.AccessSecretKey])
	})
	if err != nil {
		return nil, err
	}
	cluster, _ := made.(*Cluster)
	return r.keep(key, secret, cluster), nil
}

// Evict lets go of what is cached for a Kyma's cluster and closes its idle connections.
func (r *Registry) Evict(namespace, kymaName string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cache.Remove(types.NamespacedName{Namespace: namespace, Name: kymaName})
}

// Len is the number of remote clusters that are cached.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cache.Len()
}

func (r *Registry) accessSecret(ctx context.Context, namespace, kymaName string) (*corev1.Secret, error) {
	places := []string{namespace}
	if other := r.options.AccessSecretNamespace; other != "" && other != namespace {
		places = append(places, other)
	}
	for _, place := range places {
		var found corev1.SecretList
		err := r.controlPlane.Client.List(ctx, &found, client.InNamespace(place), client.MatchingLabels{shared.LabelKymaName: kymaName})
		if err != nil {
			return nil, fmt.Errorf("list the access Secrets of Kyma %s/%s in namespace %s: %w", namespace, kymaName, place, err)
		}
		switch len(found.Items) {
		case 0:
			continue
		case 1:
			return &found.Items[0], nil
		default:
			return nil, fault.New(fault.Rejected, ReasonAccessSecretAmbiguous,
				"more than one access secret is labelled for Kyma %s/%s: %s", namespace, kymaName, names(found.Items))
		}
	}
	return nil, fault.New(fault.Unreachable, ReasonAccessSecretNotFound, "%s: no Secret in namespace %s has the label %s=%s",
		shared.MessageAccessSecretNotFound, strings.Join(places, " or "), shared.LabelKymaName, kymaName)
}

func names(secrets []corev1.Secret) string {
	all := make([]string, 0, len(secrets))
	for i := range secrets {
		all = append(all, secrets[i].Namespace+"/"+secrets[i].Name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// cached returns the cluster that was made from this very Secret, if it is still good.
func (r *Registry) cached(key types.NamespacedName, secret *corev1.Secret) *Cluster {
	now := r.options.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropIdle(now)
	e, ok := r.cache.Get(key)
	if !ok || e.secretUID != secret.UID || e.secretVersion != secret.ResourceVersion || e.cluster.spoiled.Load() {
		return nil
	}
	e.used = now
	return e.cluster
}

// keep stores a cluster, unless another caller was faster: all callers shall share one.
func (r *Registry) keep(key types.NamespacedName, secret *corev1.Secret, cluster *Cluster) *Cluster {
	now := r.options.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.cache.Get(key)
	if ok && e.secretUID == secret.UID && e.secretVersion == secret.ResourceVersion && !e.cluster.spoiled.Load() {
		return e.cluster
	}
	// Remove first: adding over an entry would not call the eviction.
	r.cache.Remove(key)
	r.cache.Add(key, &entry{secretUID: secret.UID, secretVersion: secret.ResourceVersion, cluster: cluster, used: now})
	return cluster
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
	config.Timeout = limits.RequestTimeout
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
	next = &guard{next: next, limit: limits.MaxResponseBytes, spoiled: spoiled}
	authenticated, err := rest.HTTPWrappersForConfig(config, next)
	if err != nil {
		return nil, rejected("its credentials cannot be used")
	}
	httpClient := &http.Client{Transport: authenticated, Timeout: limits.RequestTimeout, CheckRedirect: refuseRedirects}
	return assemble(name, config, httpClient, r.options.Scheme, r.options.Clock, spoiled, base.CloseIdleConnections)
}
