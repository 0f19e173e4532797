package clusters

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// capabilitiesTTL is for how long a cluster's version and APIs are believed.
const capabilitiesTTL = 10 * time.Minute

// capabilities caches what charts may ask of a cluster. Each is read only when it is asked for.
type capabilities struct {
	clock func() time.Time

	mu         sync.Mutex
	version    *version.Info
	versionAt  time.Time
	versions   []string
	versionsAt time.Time
}

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

// APIVersions returns what the cluster serves in the two forms that charts ask for, "group/version" and
// "group/version/Kind", sorted, at most 10 minutes old. Groups whose API server does not answer are left out.
// The caller must not change the result.
func (c *Cluster) APIVersions(ctx context.Context) ([]string, error) {
	k := &c.capabilities
	now := k.clock()
	k.mu.Lock()
	known := k.versions
	fresh := known != nil && now.Sub(k.versionsAt) < capabilitiesTTL
	k.mu.Unlock()
	if fresh {
		return known, nil
	}
	versions, err := c.readAPIVersions(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the APIs of %s: %w", c.Name, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.versions, k.versionsAt = versions, now
	return versions, nil
}

func (c *Cluster) readAPIVersions(ctx context.Context) ([]string, error) {
	var groups metav1.APIGroupList
	if err := c.Mapper.get(ctx, &groups, "/apis"); err != nil {
		return nil, err
	}
	served := []string{"v1"}
	for _, group := range groups.Groups {
		for _, v := range group.Versions {
			served = append(served, v.GroupVersion)
		}
	}
	all := slices.Clone(served)
	for _, groupVersion := range served {
		resources, err := c.Mapper.resourcesOf(ctx, groupVersion)
		if err != nil {
			// A dead aggregated API must not block the charts of others.
			continue
		}
		for kind := range resources {
			all = append(all, groupVersion+"/"+kind)
		}
	}
	slices.SortFunc(all, strings.Compare)
	return all, nil
}
