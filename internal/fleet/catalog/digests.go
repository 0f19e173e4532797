package catalog

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lately"
)

// cachedDigests is the number of cached digests, of some 300 bytes each: several times the number of objects in a
// catalog. A smaller cache would be useless: each pass goes through the catalog in order, and would find each object
// evicted.
const cachedDigests = 32_768

// digests caches the digest of each version of each catalog object, so that an object is encoded once, not once per
// Kyma and sweep.
type digests struct {
	known *lately.Cache[objectVersion, string]
}

type objectVersion struct {
	uid             types.UID
	resourceVersion string
	// channels are the channels of a release meta that a Kyma may see. They differ between Kymas.
	channels string
}

func newDigests() *digests {
	return &digests{known: lately.New[objectVersion, string](cachedDigests)}
}

func (d *digests) of(object client.Object) (string, error) {
	version := objectVersion{uid: object.GetUID(), resourceVersion: object.GetResourceVersion()}
	if meta, ok := object.(*v1beta2.ModuleReleaseMeta); ok {
		version.channels = desired.ChannelsColumn(meta)
	}
	if version.uid != "" {
		if digest, ok := d.known.Get(version); ok {
			return digest, nil
		}
	}
	digest, err := contentDigest(object)
	if err != nil {
		return "", err
	}
	if version.uid != "" {
		d.known.Add(version, digest)
	}
	return digest, nil
}
