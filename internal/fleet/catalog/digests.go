package catalog

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lately"
)

// cachedDigests is how many digests are kept: several times as many as a catalog has objects, of some 300 bytes. A cache
// that is smaller than what is gone through in order would have forgotten each object when its turn comes again.
const cachedDigests = 32_768

// digests keeps the digest of each version of each catalog object, so that it is encoded once and not once
// per Kyma and sweep.
type digests struct {
	known *lately.Cache[objectVersion, string]
}

type objectVersion struct {
	uid             types.UID
	resourceVersion string
	// channels are those of a release meta that a Kyma may see: not all see the same.
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
