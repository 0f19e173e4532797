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

// Limits on what the owner of a remote cluster can put into the control plane with user-provided templates.
const (
	// MaxTemplates is the greatest number of imported templates per Kyma.
	MaxTemplates = 32
	// maxTemplateBytes is the greatest size of one template's spec as JSON.
	maxTemplateBytes = 1 << 20
	// maxTemplatesBytes is the greatest size of all templates of a Kyma together.
	maxTemplatesBytes = 4 << 20
)

// Import maintains copies, in the control plane, of the user-provided templates in the remote cluster that the Kyma's
// modules request: see desired.UserProvided. Without changes, templates in the remote namespace cost no request,
// because their metadata was listed with the catalog. Each template in another namespace costs one request for its
// metadata. Import deletes a copy that no module requests, or with a template that is known to be gone or may not be
// used. That removes no module.
//
// If the remote cluster is the control plane's own, Import imports nothing: all templates there belong to the control
// plane, and an import would bypass its rules.
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
	run := importing{Importer: m, kyma: kyma, sync: s, remote: r, listed: listed}
	for i, ask := range asked {
		name := desired.ImportedName(kyma, ask.place.Namespace, ask.place.Name)
		existing := copies[name]
		var why string
		var err error
		if i < MaxTemplates {
			why, err = run.importOne(ctx, ask, existing)
		} else {
			why = fmt.Sprintf("at most %d user-provided templates can be used", MaxTemplates)
		}
		if errors.Is(err, errNotFound) {
			why, err = "", nil
			if ask.byReference {
				why = "not found"
			}
		} else if err == nil && why == "" {
			delete(copies, name) // keep the copy
			continue
		}
		if err != nil {
			// A failed read says nothing about the template.
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
	result.Versions = run.versions
	return result, errors.Join(failed...)
}

// importing is one import of all templates that a Kyma requests.
type importing struct {
	*Importer
	kyma   *v1beta2.Kyma
	sync   desired.Sync
	remote *remote.Cluster
	listed catalog.Lists

	// size is the size of all imported templates, in bytes.
	size int
	// versions are the versions of the copies that were written.
	versions []desired.Seen
}

// importOne imports one template if it differs from its copy. It returns the reason why the template may not be used,
// or errNotFound.
func (m *importing) importOne(ctx context.Context, ask request, existing *v1beta2.ModuleTemplate) (string, error) {
	found, err := findTemplate(ctx, m.remote, m.sync, m.listed, ask.place)
	if err != nil {
		return "", err
	}
	if existing != nil && m.isCurrent(m.kyma, existing, found) && !descriptor.IsEmpty(existing.Spec.Descriptor) {
		if m.size += sizeOf(existing); m.size <= maxTemplatesBytes {
			return "", nil
		}
		return tooMuch(), nil
	}
	template := &v1beta2.ModuleTemplate{}
	err = m.remote.Get(ctx, ask.place, template)
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
	if m.size += bytes; bytes > maxTemplateBytes {
		return fmt.Sprintf("its spec has %d bytes, at most %d are allowed", bytes, maxTemplateBytes), nil
	}
	if m.size > maxTemplatesBytes {
		return tooMuch(), nil
	}
	if why := unusable(template); why != "" {
		return why, nil
	}
	if why := refuse(template, m.registries); why != "" {
		return why, nil
	}
	version, err := m.writeCopy(ctx, m.kyma, template, existing)
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) {
		// The definition in the remote cluster is laxer than ours, or admission refuses the template.
		return "the control plane refuses it: " + err.Error(), nil
	}
	if err != nil {
		return "", controlPlaneFault(fmt.Sprintf("import ModuleTemplate %s of the remote cluster", ask.place), err)
	}
	m.versions = append(m.versions, version)
	return "", nil
}

// unusable returns the reason why a user-provided template can never be installed, so that a copy is pointless. It is
// empty if the template is usable. Nothing can supplement missing parts: the release metas and the registry of the
// control plane do not apply to the template.
func unusable(template *v1beta2.ModuleTemplate) string {
	if descriptor.IsEmpty(template.Spec.Descriptor) {
		return "it has no descriptor: embed the descriptor in spec.descriptor"
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
	return fmt.Sprintf("all user-provided templates together exceed %d bytes", maxTemplatesBytes)
}

// Changed reports by metadata whether a user-provided template differs from its copy. Templates in the remote namespace
// cost no request if the catalog was listed. A template without a copy, because it was refused or not yet imported,
// differs once per version.
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
