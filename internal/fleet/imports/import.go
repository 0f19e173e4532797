package imports

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/catalog"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

// Limits of what the owner of a remote cluster can put into the control plane by user-provided templates.
const (
	// MaxTemplates is how many are imported for one Kyma.
	MaxTemplates = 32
	// maxTemplateBytes is how large the spec of one may be, as JSON.
	maxTemplateBytes = 1 << 20
	// maxTemplatesBytes is how large they may be together.
	maxTemplatesBytes = 4 << 20
)

// Import keeps copies, in the control plane, of the user-provided templates of the remote cluster that
// the Kyma's modules ask for: see desired.UserProvided. Where nothing changed, it costs no request for those in the remote
// namespace, whose metadata were listed with the catalog, and one for their metadata for others. A copy that
// nothing asks for, whose template is positively gone or may not be used, is deleted; that removes no module.
//
// Where the remote cluster is the control plane's own, nothing is imported: there are no templates there that
// are not the control plane's, and its rules would be evaded.
func (m *Importer) Import(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote.Cluster, listed catalog.Lists) (Result, error) {
	var result Result
	wanted := desired.WantedBy(kyma, s)
	if !wanted.Complete {
		return result, nil
	}
	copies, err := m.copiesOf(ctx, kyma)
	if err != nil {
		return result, err
	}
	var asked []request
	if !r.Own {
		if asked, err = m.requested(ctx, s, wanted, &result); err != nil {
			return result, err
		}
	}
	var failed []error
	size := 0
	for i, ask := range asked {
		name := desired.ImportedName(kyma, ask.place.Namespace, ask.place.Name)
		existing := copies[name]
		var why string
		var err error
		if i < MaxTemplates {
			why, err = m.importOne(ctx, kyma, s, r, listed, ask, existing, &size, &result)
		} else {
			why = fmt.Sprintf("at most %d user-provided templates are used", MaxTemplates)
		}
		if errors.Is(err, errNotFound) {
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
		failed = append(failed, m.deleteCopy(ctx, copies[name]))
	}
	return result, errors.Join(failed...)
}

// importOne imports one template, if it differs from its copy. It returns why it may not be used, or
// errNotFound.
func (m *Importer) importOne(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote.Cluster, listed catalog.Lists,
	ask request, existing *v1beta2.ModuleTemplate, size *int, result *Result,
) (string, error) {
	found, err := findTemplate(ctx, r, s, listed, ask.place)
	if err != nil {
		return "", err
	}
	if existing != nil && m.isCurrent(kyma, existing, found) && !descriptor.IsEmpty(existing.Spec.Descriptor) {
		if *size += sizeOf(existing); *size <= maxTemplatesBytes {
			return "", nil
		}
		return tooMuch(), nil
	}
	template := &v1beta2.ModuleTemplate{}
	err = r.Get(ctx, ask.place, template)
	switch {
	case apierrors.IsNotFound(err) && !remote.KindMissing(err):
		return "", errNotFound
	case err != nil:
		return "", fmt.Errorf("read ModuleTemplate %s: %w", ask.place, err)
	case !isUserProvided(template):
		return "", errNotFound
	}
	bytes, err := specSize(template)
	if err != nil {
		return "", err
	}
	if *size += bytes; bytes > maxTemplateBytes {
		return fmt.Sprintf("its spec has %d bytes, at most %d are possible", bytes, maxTemplateBytes), nil
	}
	if *size > maxTemplatesBytes {
		return tooMuch(), nil
	}
	if why := unusable(template); why != "" {
		return why, nil
	}
	if why := refuse(template, m.registries); why != "" {
		return why, nil
	}
	version, err := m.writeCopy(ctx, kyma, template, existing)
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) {
		// The definition in the remote cluster is laxer than ours, or admission does not let it in.
		return "the control plane does not accept it: " + err.Error(), nil
	}
	if err != nil {
		return "", controlPlaneFault(fmt.Sprintf("import ModuleTemplate %s of the remote cluster", ask.place), err)
	}
	result.Versions = append(result.Versions, version)
	return "", nil
}

// unusable says why a user-provided template can never be installed from, so that it is not worth a copy; empty where it
// may be. What it lacks nobody else can give it: a release meta and a registry of the control plane are not for it.
func unusable(template *v1beta2.ModuleTemplate) string {
	if descriptor.IsEmpty(template.Spec.Descriptor) {
		return "it has no descriptor: a user-provided one needs it embedded, in spec.descriptor"
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
	return fmt.Sprintf("the user-provided templates have more than %d bytes together", maxTemplatesBytes)
}

// Changed tells whether a user-provided template differs from its copy, by metadata: without a request for
// those in the remote namespace where the catalog was listed. One that has no copy, for it is refused or not yet
// imported, differs once in each of its versions.
func (m *Importer) Changed(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote.Cluster, listed catalog.Lists) (bool, string, error) {
	asked, err := m.requested(ctx, s, desired.WantedBy(kyma, s), &Result{})
	if err != nil || len(asked) == 0 {
		return false, "", err
	}
	copies, err := m.copiesOf(ctx, kyma)
	if err != nil {
		return false, "", err
	}
	for _, ask := range asked[:min(len(asked), MaxTemplates)] {
		name := desired.ImportedName(kyma, ask.place.Namespace, ask.place.Name)
		existing := copies[name]
		found, err := findTemplate(ctx, r, s, listed, ask.place)
		gone := errors.Is(err, errNotFound)
		switch {
		case gone && existing == nil:
		case gone:
			return true, "template " + ask.place.String() + " of the remote cluster is gone", nil
		case err != nil:
			return false, "", err
		case existing != nil && !m.isCurrent(kyma, existing, found),
			existing == nil && m.reported.once(name, m.importedVersion(found)):
			return true, "template " + ask.place.String() + " of the remote cluster was changed", nil
		}
	}
	return false, "", nil
}
