package imports

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/catalog"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// maxRefusalLength is the greatest length of a message about a foreign template, in bytes, so that it fits a status.
const maxRefusalLength = 512

// Result is the outcome of importing user-provided templates.
type Result struct {
	// Refused maps module entries to the reason why their template is not used.
	Refused map[string]string
	// Versions are the versions of the written copies.
	Versions []desired.Seen
}

// request is a template of the remote cluster that module entries request.
type request struct {
	place types.NamespacedName
	// modules are the names of the entries, in order. byReference says whether any of them requests the template by
	// reference.
	modules     []string
	byReference bool
}

// errNotFound means that there is no user-provided template of this name.
var errNotFound = errors.New("not found")

// requested returns the templates that module entries request from the remote cluster, each once.
func (m *Importer) requested(ctx context.Context, s desired.Sync, wanted desired.Wanted, result *Result) ([]request, error) {
	index := desired.NewCached(m.catalog)
	var all []request
	for _, module := range wanted.Modules {
		namespace, name, asked, err := desired.AskedRemote(ctx, index, m.settings, module, s.Namespace)
		switch {
		case err != nil:
			return nil, err
		case asked == desired.AskedNot:
			continue
		case asked == desired.AskedInvalid:
			result.refuse([]string{module.Name}, fmt.Sprintf(
				"remoteModuleTemplateRef %q is neither the name nor the namespace/name of a ModuleTemplate", module.RemoteModuleTemplateRef))
			continue
		}
		place := types.NamespacedName{Namespace: namespace, Name: name}
		at := slices.IndexFunc(all, func(one request) bool { return one.place == place })
		if at < 0 {
			at = len(all)
			all = append(all, request{place: place})
		}
		all[at].byReference = all[at].byReference || asked == desired.AskedByReference
		all[at].modules = append(all[at].modules, module.Name)
	}
	return all, nil
}

func (t *Result) refuse(modules []string, why string) {
	why = fault.Shorten(why, maxRefusalLength)
	if t.Refused == nil {
		t.Refused = map[string]string{}
	}
	for _, module := range modules {
		t.Refused[module] = why
	}
}

// findTemplate returns the metadata of a user-provided template in the remote cluster. It returns errNotFound if there
// is none with that name, or if that is a copy of the control plane's catalog.
func findTemplate(ctx context.Context, r client.Reader, s desired.Sync, listed catalog.Lists, place types.NamespacedName) (
	*metav1.PartialObjectMetadata, error,
) {
	found := remote.MetadataOf(remote.Kind(shared.KindModuleTemplate))
	if list, read := listed[shared.KindModuleTemplate]; read && place.Namespace == s.Namespace {
		at := slices.IndexFunc(list, func(o metav1.PartialObjectMetadata) bool { return o.Name == place.Name })
		if at < 0 {
			return nil, errNotFound
		}
		found = &list[at]
	} else if err := r.Get(ctx, place, found); apierrors.IsNotFound(err) && !remote.KindMissing(err) {
		return nil, errNotFound
	} else if err != nil {
		return nil, fmt.Errorf("read ModuleTemplate %s: %w", place, err)
	}
	if !isUserProvided(found) {
		return nil, errNotFound
	}
	return found, nil
}

// isUserProvided reports whether a template in a remote cluster did not come from the catalog's synchronization.
func isUserProvided(object client.Object) bool {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.ManagedFields = object.GetManagedFields()
	return !desired.IsSyncedCopy(object) && !catalog.IsApplied(metadata)
}
