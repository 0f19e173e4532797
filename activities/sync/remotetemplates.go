package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/descriptor"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Limits of what the owner of a remote cluster can put into the control plane by templates made by hand.
const (
	// maxRemoteTemplates is how many are taken in for one Kyma.
	maxRemoteTemplates = 32
	// maxRemoteTemplateBytes is how large the spec of one may be, as JSON.
	maxRemoteTemplateBytes = 1 << 20
	// maxRemoteTemplatesBytes is how large they may be together.
	maxRemoteTemplatesBytes = 4 << 20
	// maxRefusalLength keeps what is said about a template of others, in bytes, fit for a status.
	maxRefusalLength = 512
)

// takenTemplates is the outcome of taking in templates made by hand.
type takenTemplates struct {
	// refused says by module entry why a template is not used.
	refused map[string]string
	// versions are those of the copies that were written.
	versions []resolve.Version
}

// askedTemplate is a template of the remote cluster that module entries ask for.
type askedTemplate struct {
	place types.NamespacedName
	// modules are the entries, in order; byReference those of them that name it by reference.
	modules     []string
	byReference bool
}

// takeInTemplates keeps copies, in the control plane, of the templates made by hand in the remote cluster that
// the Kyma's modules ask for: see desired.HandMade. A steady look costs no request for those in the remote
// namespace, whose metadata were listed with the catalog, and one for their metadata for others. A copy that
// nothing asks for, whose template is positively gone or may not be used, is deleted; that removes no module.
//
// Where the remote cluster is the control plane's own, nothing is taken in: there are no templates there that
// are not the control plane's, and its rules would be evaded.
func (a *Activities) takeInTemplates(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote, listed catalogLists) (takenTemplates, error) {
	var result takenTemplates
	wanted := desired.WantedBy(kyma, s)
	if !wanted.Complete {
		return result, nil
	}
	copies, err := a.copiesOf(ctx, kyma)
	if err != nil {
		return result, err
	}
	var asked []askedTemplate
	if !r.own {
		if asked, err = a.askedTemplates(ctx, s, wanted, &result); err != nil {
			return result, err
		}
	}
	var failed []error
	size := 0
	for i, ask := range asked {
		name := desired.TakenInName(kyma, ask.place.Namespace, ask.place.Name)
		existing := copies[name]
		var why string
		var err error
		if i < maxRemoteTemplates {
			why, err = a.takeInTemplate(ctx, kyma, s, r, listed, ask, existing, &size, &result)
		} else {
			why = fmt.Sprintf("at most %d templates made by hand are used", maxRemoteTemplates)
		}
		if errors.Is(err, errNotThere) {
			why, err = "", nil
			if ask.byReference {
				why = "is not in the remote cluster"
			}
		} else if err == nil && why == "" {
			delete(copies, name) // it stays
			continue
		}
		if err != nil {
			// What could not be read says nothing.
			failed = append(failed, err)
			delete(copies, name)
			continue
		}
		if why != "" {
			result.refuse(ask.modules, fmt.Sprintf("ModuleTemplate %s of the remote cluster: %s", ask.place, why))
		}
	}
	for _, name := range sortedKeys(copies) {
		failed = append(failed, a.deleteTakenIn(ctx, copies[name]))
	}
	return result, errors.Join(failed...)
}

// errNotThere: there is no such template made by hand.
var errNotThere = errors.New("not there")

// takeInTemplate takes in one template, if it differs from its copy. It returns why it may not be used, or
// errNotThere.
func (a *Activities) takeInTemplate(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote, listed catalogLists,
	ask askedTemplate, existing *v1beta2.ModuleTemplate, size *int, result *takenTemplates,
) (string, error) {
	found, err := findTemplate(ctx, r, s, listed, ask.place)
	if err != nil {
		return "", err
	}
	if existing != nil && a.takenInAs(kyma, existing, found) && !descriptor.IsEmpty(existing.Spec.Descriptor) {
		if *size += sizeOf(existing); *size <= maxRemoteTemplatesBytes {
			return "", nil
		}
		return tooMuch(), nil
	}
	template := &v1beta2.ModuleTemplate{}
	err = r.Get(ctx, ask.place, template)
	switch {
	case apierrors.IsNotFound(err) && !kindMissing(err):
		return "", errNotThere
	case err != nil:
		return "", fmt.Errorf("read ModuleTemplate %s: %w", ask.place, err)
	case !madeByHand(template):
		return "", errNotThere
	}
	bytes, err := specSize(template)
	if err != nil {
		return "", err
	}
	if *size += bytes; bytes > maxRemoteTemplateBytes {
		return fmt.Sprintf("its spec has %d bytes, at most %d are possible", bytes, maxRemoteTemplateBytes), nil
	}
	if *size > maxRemoteTemplatesBytes {
		return tooMuch(), nil
	}
	if why := unusable(template); why != "" {
		return why, nil
	}
	if why := a.registries.refuse(template); why != "" {
		return why, nil
	}
	version, err := a.writeTakenIn(ctx, kyma, template, existing)
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) {
		// The definition in the remote cluster is laxer than ours, or admission does not let it in.
		return "the control plane does not accept it: " + err.Error(), nil
	}
	if err != nil {
		return "", controlPlaneFault(fmt.Sprintf("take in ModuleTemplate %s of the remote cluster", ask.place), err)
	}
	result.versions = append(result.versions, version)
	return "", nil
}

// unusable says why a template made by hand can never be installed from, so that it is not worth a copy; empty where it
// may be. What it lacks nobody else can give it: a release meta and a registry of the control plane are not for it.
func unusable(template *v1beta2.ModuleTemplate) string {
	if descriptor.IsEmpty(template.Spec.Descriptor) {
		return "it has no descriptor: one made by hand needs it embedded, in spec.descriptor"
	}
	parsed, err := descriptor.Parse(template.Spec.Descriptor.Raw)
	if err != nil {
		return err.Error()
	}
	problems := descriptor.Validate(parsed, descriptor.Expectations{Version: template.Spec.Version, Module: template.Spec.ModuleName})
	if len(problems) > 0 {
		return "spec.descriptor: " + problems.ToAggregate().Error()
	}
	if _, err := template.Spec.DefaultCR(); err != nil {
		return fmt.Sprintf("spec.data: %v", err)
	}
	return ""
}

func tooMuch() string {
	return fmt.Sprintf("the templates made by hand have more than %d bytes together", maxRemoteTemplatesBytes)
}

// askedTemplates lists the templates that module entries ask the remote cluster for, each once.
func (a *Activities) askedTemplates(ctx context.Context, s desired.Sync, wanted desired.Wanted, result *takenTemplates) ([]askedTemplate, error) {
	index := desired.NewCached(a.catalog)
	var all []askedTemplate
	for _, module := range wanted.Modules {
		namespace, name, asked, err := desired.AskedRemote(ctx, index, a.settings, module, s.Namespace)
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
		at := slices.IndexFunc(all, func(one askedTemplate) bool { return one.place == place })
		if at < 0 {
			at = len(all)
			all = append(all, askedTemplate{place: place})
		}
		all[at].byReference = all[at].byReference || asked == desired.AskedByReference
		all[at].modules = append(all[at].modules, module.Name)
	}
	return all, nil
}

func (t *takenTemplates) refuse(modules []string, why string) {
	why = fault.Shorten(why, maxRefusalLength)
	if t.refused == nil {
		t.refused = map[string]string{}
	}
	for _, module := range modules {
		t.refused[module] = why
	}
}

// findTemplate returns the metadata of a template made by hand in the remote cluster; errNotThere where there is
// none of that name, or a copy of the control plane's catalog.
func findTemplate(ctx context.Context, r client.Reader, s desired.Sync, listed catalogLists, place types.NamespacedName) (
	*metav1.PartialObjectMetadata, error,
) {
	found := metadataOf(ourKind(shared.KindModuleTemplate))
	if list, read := listed[shared.KindModuleTemplate]; read && place.Namespace == s.Namespace {
		at := slices.IndexFunc(list, func(o metav1.PartialObjectMetadata) bool { return o.Name == place.Name })
		if at < 0 {
			return nil, errNotThere
		}
		found = &list[at]
	} else if err := r.Get(ctx, place, found); apierrors.IsNotFound(err) && !kindMissing(err) {
		return nil, errNotThere
	} else if err != nil {
		return nil, fmt.Errorf("read ModuleTemplate %s: %w", place, err)
	}
	if !madeByHand(found) {
		return nil, errNotThere
	}
	return found, nil
}

// madeByHand tells whether a template in a remote cluster is none that the catalog's synchronization brought.
func madeByHand(object client.Object) bool {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.ManagedFields = object.GetManagedFields()
	return !desired.IsSyncedCopy(object) && !appliedByUs(metadata)
}
