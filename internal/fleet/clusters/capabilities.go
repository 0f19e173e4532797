package clusters

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// capabilitiesTTL is how long a cluster's version and APIs are cached.
const capabilitiesTTL = 10 * time.Minute

// capabilities caches the cluster's answers for charts. It reads each only on demand.
type capabilities struct {
	clock func() time.Time

	mu         sync.Mutex
	version    *version.Info
	versionAt  time.Time
	versions   []string
	versionsAt time.Time
	serves     map[string]servedAPI
}

// servedAPI records whether an API was served at a time.
type servedAPI struct {
	served bool
	at     time.Time
}

// maxServes bounds the number of cached APIs of one cluster.
const maxServes = 256

// Version returns the version of the API server, at most 10 minutes old.
func (c *Cluster) Version(ctx context.Context) (*version.Info, error) {
	k := &c.capabilities
	now := k.clock()
	k.mu.Lock()
	known := k.version
	fresh := known != nil && now.Sub(k.versionAt) < capabilitiesTTL
	k.mu.Unlock()
	if fresh {
		return known, nil
	}
	var info version.Info
	raw, err := c.Discovery.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err == nil {
		err = decodeJSON(raw, &info)
	}
	if err != nil {
		return nil, fmt.Errorf("read the version of %s: %w", c.Name, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.version, k.versionAt = &info, now
	return &info, nil
}

// APIVersions returns the served APIs in the two forms that charts ask for, "group/version" and "group/version/Kind",
// sorted, at most 10 minutes old. It omits group versions with an API server that does not answer, and returns them as
// silent, also sorted. An answer with silent APIs is not cached. The caller must not change the results.
func (c *Cluster) APIVersions(ctx context.Context) (served, silent []string, err error) {
	k := &c.capabilities
	now := k.clock()
	k.mu.Lock()
	known := k.versions
	fresh := known != nil && now.Sub(k.versionsAt) < capabilitiesTTL
	k.mu.Unlock()
	if fresh {
		return known, nil, nil
	}
	if served, silent, err = c.readAPIVersions(ctx); err != nil {
		return nil, nil, fmt.Errorf("read the APIs of %s: %w", c.Name, err)
	}
	if len(silent) > 0 {
		return served, silent, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.versions, k.versionsAt = served, now
	return served, nil, nil
}

func (c *Cluster) readAPIVersions(ctx context.Context) (served, silent []string, err error) {
	if err := c.Ready(ctx); err != nil {
		return nil, nil, err
	}
	_, lists, err := discovery.ServerGroupsAndResourcesWithContext(ctx, discovery.ToDiscoveryInterfaceWithContext(c.Discovery))
	// A dead aggregated API must not block charts that do not use it.
	failed, partly := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partly {
		return nil, nil, err
	}
	for gv := range failed {
		silent = append(silent, gv.String())
	}
	slices.Sort(silent)
	var all []string
	for _, list := range lists {
		all = append(all, list.GroupVersion)
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") {
				all = append(all, list.GroupVersion+"/"+resource.Kind)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), silent, nil
}

// Serves reports whether the cluster serves "group/version" ("v1" for the core group) or "group/version/Kind". The
// answer is at most 10 minutes old.
func (c *Cluster) Serves(ctx context.Context, api string) (bool, error) {
	k := &c.capabilities
	now := k.clock()
	k.mu.Lock()
	known, found := k.serves[api]
	k.mu.Unlock()
	if found && now.Sub(known.at) < capabilitiesTTL {
		return known.served, nil
	}
	served, err := c.readServes(ctx, api)
	if err != nil {
		return false, fmt.Errorf("ask %s for %s: %w", c.Name, api, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.serves == nil || len(k.serves) > maxServes {
		k.serves = map[string]servedAPI{}
	}
	k.serves[api] = servedAPI{served: served, at: now}
	return served, nil
}

func (c *Cluster) readServes(ctx context.Context, api string) (bool, error) {
	groupVersion, kind := api, ""
	if parts := strings.Split(api, "/"); len(parts) == 3 || (len(parts) == 2 && parts[0] == "v1") {
		groupVersion, kind = strings.Join(parts[:len(parts)-1], "/"), parts[len(parts)-1]
	}
	resources, err := c.Mapper.resourcesOf(ctx, groupVersion)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	_, hasKind := resources[kind]
	return kind == "" || hasKind, nil
}
