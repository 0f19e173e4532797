package advance

import (
	"context"
	"fmt"

	"github.com/Masterminds/semver/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// readCatalog reads from the catalog what matters to a rollout.
func (a *Activities) readCatalog(ctx context.Context, r *v1beta2.ModuleRollout, s *rollout.Situation) error {
	index := desired.NewCached(a.Informers)
	metas, err := index.ReleaseMetas(ctx, r.Spec.ModuleName)
	if err != nil {
		return err
	}
	for _, known := range metas {
		if known.Namespace != r.Namespace || !a.Settings.Ours(known.Labels) {
			continue
		}
		// Read live, because the kick may be about an edit that this process's informers have not seen yet.
		meta := &v1beta2.ModuleReleaseMeta{}
		if err := a.ControlPlane.Get(ctx, client.ObjectKeyFromObject(known), meta); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read ModuleReleaseMeta %s: %w", desired.NameOf(known), err)
		}
		s.Desired = channelVersion(meta, r.Spec.Channel)
		all, err := desired.RolloutsOf(ctx, index, a.Settings, known)
		if err != nil {
			return err
		}
		inForce := rollout.InForce(all, r.Spec.Channel, s.Desired)
		// If informers do not list this rollout at all, it may be newer than they are.
		if len(inForce) > 0 && inForce[0].UID != r.UID {
			s.Superseded = rollout.IsNewer(inForce[0], r) || r.IsByHand() && !inForce[0].IsByHand()
		}
	}
	template, err := a.template(ctx, index, r)
	if err != nil {
		return err
	}
	if s.NotRevertible = notRevertible(template, r); template != nil {
		s.Urgency = rollout.UrgencyOf(template)
	}
	return nil
}

// ChannelsOf returns the versions of a release meta by channel. The channel of a mandatory module has no name.
func ChannelsOf(meta *v1beta2.ModuleReleaseMeta) []v1beta2.ChannelVersion {
	if meta.Spec.Mandatory != nil {
		return []v1beta2.ChannelVersion{{Version: desired.WithoutBuild(meta.Spec.Mandatory.Version)}}
	}
	return meta.Spec.Channels
}

// channelVersion returns the version that a release meta gives a channel, or "" if it gives none.
func channelVersion(meta *v1beta2.ModuleReleaseMeta, channel string) string {
	return lists.First(ChannelsOf(meta), func(assignment v1beta2.ChannelVersion) bool { return assignment.Channel == channel }).Version
}

// template returns the ModuleTemplate of a rollout's new version, or nil if there is none. It reads live, because
// somebody may have just annotated the template after the rollout asked for it.
func (a *Activities) template(ctx context.Context, index desired.Index, r *v1beta2.ModuleRollout) (*v1beta2.ModuleTemplate, error) {
	templates, err := index.Templates(ctx, r.Spec.ModuleName)
	if err != nil {
		return nil, err
	}
	for _, known := range templates {
		if !isOfRollout(a.Settings, known, r) {
			continue
		}
		template := &v1beta2.ModuleTemplate{}
		err := a.ControlPlane.Get(ctx, client.ObjectKeyFromObject(known), template)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("read ModuleTemplate %s: %w", desired.NameOf(known), err)
		}
		return template, nil
	}
	return nil, nil //nolint:nilnil // having none is an ordinary case
}

// isOfRollout reports whether a template of the module has the version that the rollout brings.
func isOfRollout(settings desired.Settings, template *v1beta2.ModuleTemplate, r *v1beta2.ModuleRollout) bool {
	return template.Namespace == r.Namespace && template.Spec.Version == r.Spec.To && settings.Ours(template.Labels)
}

// notRevertible returns why clusters cannot be reverted to their earlier version, or "" if they can. The template of the
// new version must allow it, because only the module's authors know whether the older version understands the data of the
// newer one.
func notRevertible(template *v1beta2.ModuleTemplate, r *v1beta2.ModuleRollout) string {
	if template == nil {
		return fmt.Sprintf("no ModuleTemplate of module %s in version %s found", r.Spec.ModuleName, r.Spec.To)
	}
	text := template.Annotations[shared.AnnotationRevertibleTo]
	if text == "" {
		return fmt.Sprintf("ModuleTemplate %s has no annotation %s", template.Name, shared.AnnotationRevertibleTo)
	}
	versions, err := semver.NewConstraint(text)
	if err != nil {
		return fmt.Sprintf("annotation %s of ModuleTemplate %s is not a valid version range: %v", shared.AnnotationRevertibleTo, template.Name, err)
	}
	versions.IncludePrerelease = true
	if !contains(versions, r.Spec.From) {
		return fmt.Sprintf("annotation %s of ModuleTemplate %s allows %s, but not %s", shared.AnnotationRevertibleTo, template.Name, text, r.Spec.From)
	}
	return ""
}

// contains reports whether a range contains a version. An invalid version is in no range.
func contains(versions *semver.Constraints, version string) bool {
	read, err := semver.NewVersion(version)
	return err == nil && versions.Check(read)
}
