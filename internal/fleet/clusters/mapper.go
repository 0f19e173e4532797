package clusters

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// Mapper maps kinds to resources. Built-in kinds and our own kinds need no request, and are mapped even if the cluster
// does not serve them (yet). For other kinds, the mapper discovers and caches only their group version, so that an idle
// cluster needs almost no memory. A kind missing from a cached group version is requested again. Mapper is safe for
// concurrent use.
type Mapper struct {
	*discovered
	// confirms: see Confirmed.
	confirms bool
}

// discovered is the part that the mappers of one cluster share.
type discovered struct {
	client rest.Interface
	flight singleflight.Group

	mu sync.RWMutex
	// known maps group versions to resources by kind.
	known map[string]map[string]kindInfo
}

// kindInfo is the discovery information of a kind.
type kindInfo struct {
	plural     string
	namespaced bool
	// stored is a hash that identifies the kind's storage version (see storedAs). It is empty if the cluster does not
	// say.
	stored string
}

var _ meta.ResettableRESTMapper = (*Mapper)(nil)

// NewMapper returns a mapper that sends its requests with this client.
func NewMapper(api rest.Interface) *Mapper {
	return &Mapper{discovered: &discovered{client: api, known: map[string]map[string]kindInfo{}}}
}

// Confirmed returns a mapper for callers that treat a kind that is not served as a kind without objects, for example a
// removal. It reports a kind as unknown only after the server says that it is ready, because a server that has just
// started accepts requests before its discovery is complete. It shares the discovered kinds with m.
func (m *Mapper) Confirmed() *Mapper { return &Mapper{discovered: m.discovered, confirms: true} }

// Resource returns the resource of a kind. Without a version it uses the built-in version, or else the preferred one.
// For an unknown kind it returns a *meta.NoKindMatchError (see meta.IsNoMatchError).
func (m *Mapper) Resource(ctx context.Context, gvk schema.GroupVersionKind) (kinds.Resource, error) {
	if builtIn, ok := kinds.BuiltIn(gvk.GroupKind()); ok {
		gvk.Version = cmp.Or(gvk.Version, builtIn.Version)
		return kinds.Resource{GroupVersionResource: gvk.GroupVersion().WithResource(builtIn.Plural), Namespaced: builtIn.Namespaced}, nil
	}
	if plural, ok := ownPlural(gvk); ok {
		return kinds.Resource{GroupVersionResource: gvk.GroupVersion().WithResource(plural), Namespaced: true}, nil
	}
	versions := []string{gvk.Version}
	if gvk.Version == "" {
		var err error
		if versions, err = m.versionsOf(ctx, gvk.Group); err != nil {
			return kinds.Resource{}, fmt.Errorf("discover the versions of group %q: %w", gvk.Group, err)
		}
	}
	for _, version := range versions {
		gv := schema.GroupVersion{Group: gvk.Group, Version: version}
		info, found, err := m.lookup(ctx, gv, gvk.Kind)
		if err != nil {
			return kinds.Resource{}, fmt.Errorf("discover %s: %w", gv, err)
		}
		if found {
			return kinds.Resource{GroupVersionResource: gv.WithResource(info.plural), Namespaced: info.namespaced}, nil
		}
	}
	return kinds.Resource{}, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: versions}
}

// Kind returns the kind of a resource with this plural name. Without a version it uses the preferred one. For an
// unknown resource it returns a *meta.NoResourceMatchError (see meta.IsNoMatchError).
func (m *Mapper) Kind(ctx context.Context, resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	versions := []string{resource.Version}
	if resource.Version == "" {
		var err error
		if versions, err = m.versionsOf(ctx, resource.Group); err != nil {
			return schema.GroupVersionKind{}, err
		}
	}
	for _, version := range versions {
		gv := schema.GroupVersion{Group: resource.Group, Version: version}
		served, err := m.resourcesOf(ctx, gv.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return schema.GroupVersionKind{}, err
		}
		for kind, info := range served {
			if info.plural == resource.Resource {
				return gv.WithKind(kind), nil
			}
		}
	}
	return schema.GroupVersionKind{}, &meta.NoResourceMatchError{PartialResource: resource}
}

// Served is a kind that a cluster serves.
type Served struct {
	Kind       string
	Namespaced bool
	// Versions are the served versions: the storage version first, if the cluster says which one that is, then the
	// others in the order of preference.
	Versions []string
}

// Served returns the currently served kinds of a group by plural name. It is empty for an unknown group.
func (m *Mapper) Served(ctx context.Context, group string) (map[string]Served, error) {
	versions, err := m.versionsOf(ctx, group)
	if err != nil {
		return nil, fmt.Errorf("discover the versions of group %q: %w", group, err)
	}
	all := map[string]Served{}
	for _, version := range versions {
		gv := schema.GroupVersion{Group: group, Version: version}
		served, err := m.resourcesOf(ctx, gv.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("discover %s: %w", gv, err)
		}
		for kind, info := range served {
			served := all[info.plural]
			served.Kind, served.Namespaced = kind, info.namespaced
			if info.stored != "" && info.stored == storedAs(gv.WithKind(kind)) {
				served.Versions = append([]string{version}, served.Versions...)
			} else {
				served.Versions = append(served.Versions, version)
			}
			all[info.plural] = served
		}
	}
	return all, nil
}

// storedAs returns the hash by which discovery identifies the storage version of a kind (k8s.io/apiserver,
// discovery.StorageVersionHash). If a server computes other hashes, its storage versions stay unknown.
func storedAs(gvk schema.GroupVersionKind) string {
	sum := sha256.Sum256([]byte(gvk.Group + "/" + gvk.Version + "/" + gvk.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// Forget forgets one kind after a response that the cluster does not serve it, because its definition may be gone. The
// next use asks the cluster again.
func (m *Mapper) Forget(gvk schema.GroupVersionKind) {
	gv := gvk.GroupVersion().String()
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.known[gv][gvk.Kind]; !known {
		return
	}
	// Concurrent callers of resourcesOf share the map, so do not change it.
	others := maps.Clone(m.known[gv])
	delete(others, gvk.Kind)
	m.known[gv] = others
}

// Reset forgets all discovered kinds.
func (m *Mapper) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = map[string]map[string]kindInfo{}
}

func (m *Mapper) lookup(ctx context.Context, gv schema.GroupVersion, kind string) (kindInfo, bool, error) {
	m.mu.RLock()
	info, found := m.known[gv.String()][kind]
	m.mu.RUnlock()
	if found {
		return info, true, nil
	}
	resources, err := m.resourcesOf(ctx, gv.String())
	if err != nil {
		return kindInfo{}, false, client.IgnoreNotFound(err)
	}
	info, found = resources[kind]
	if found {
		m.mu.Lock()
		m.known[gv.String()] = resources
		m.mu.Unlock()
	}
	return info, found, nil
}

// resourcesOf reads the resources of one group version by kind. Concurrent callers share one request.
func (m *Mapper) resourcesOf(ctx context.Context, groupVersion string) (map[string]kindInfo, error) {
	path := "/apis/" + groupVersion
	if !strings.Contains(groupVersion, "/") {
		path = "/api/" + groupVersion
	}
	answer, err, _ := m.flight.Do(fmt.Sprint(path, m.confirms), func() (any, error) {
		var list metav1.APIResourceList
		// Callers share the request, so it does not end with the context of the first caller. The HTTP client's timeout
		// bounds it.
		if err := m.get(context.WithoutCancel(ctx), &list, path); err != nil {
			return nil, err
		}
		resources := make(map[string]kindInfo, len(list.APIResources))
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				resources[r.Kind] = kindInfo{plural: r.Name, namespaced: r.Namespaced, stored: r.StorageVersionHash}
			}
		}
		return resources, nil
	})
	if err != nil {
		return nil, err
	}
	resources, _ := answer.(map[string]kindInfo)
	return resources, nil
}

// versionsOf returns the versions of a group, the preferred one first. It returns none for an unknown group.
func (m *Mapper) versionsOf(ctx context.Context, group string) ([]string, error) {
	if group == "" {
		return []string{"v1"}, nil
	}
	var g metav1.APIGroup
	err := m.get(ctx, &g, "/apis/"+group)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	versions := []string{g.PreferredVersion.Version}
	for _, v := range g.Versions {
		if v.Version != g.PreferredVersion.Version {
			versions = append(versions, v.Version)
		}
	}
	return versions, nil
}

// get reads a path of the discovery API.
func (m *Mapper) get(ctx context.Context, into any, path string) error {
	read := func() ([]byte, error) {
		return m.client.Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw()
	}
	raw, err := read()
	if m.confirms && apierrors.IsNotFound(err) {
		if err := ready(ctx, m.client); err != nil {
			return err
		}
		raw, err = read()
	}
	if err != nil {
		return err
	}
	return decodeJSON(raw, into)
}

// Ready returns an error while the cluster's API server says that it is not ready. Before it is, discovery may lack
// kinds that the cluster does serve.
func (c *Cluster) Ready(ctx context.Context) error { return ready(ctx, c.Discovery.RESTClient()) }

// ready returns an error while the API server is not ready. A server without information about its readiness counts as
// ready.
func ready(ctx context.Context, api rest.Interface) error {
	err := api.Get().AbsPath("/readyz").Do(ctx).Error()
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return err
	}
	switch code := answer.Status().Code; {
	case code >= http.StatusInternalServerError:
		return apierrors.NewServiceUnavailable("the API server is not ready: its discovery may be incomplete")
	case code == http.StatusTooManyRequests:
		return err
	}
	return nil
}

func decodeJSON(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("the answer is not the expected JSON: %w", err)
	}
	return nil
}

// ownPlural returns the plural of a kind that we install in clusters ourselves, in our version of it. All of them are
// namespaced.
func ownPlural(gvk schema.GroupVersionKind) (string, bool) {
	if gvk.GroupVersion() != v1beta2.GroupVersion {
		return "", false
	}
	switch gvk.Kind {
	case shared.KindKyma, shared.KindModuleTemplate, shared.KindModuleReleaseMeta:
		return kinds.PluralOf(gvk), true
	}
	return "", false
}
