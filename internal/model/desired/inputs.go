package desired

import (
	"context"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// annotationsThatMatter returns the annotations of a Kyma that change what is done for it.
func annotationsThatMatter() []string {
	return []string{
		shared.AnnotationRecreateDefaultCR,
		shared.AnnotationPurgeGracePeriod,
		shared.AnnotationSKRDomain,
		shared.AnnotationDeferUpgradesUntil,
		AnnotationAllowDowngrade,
		AnnotationSyncedFrom,
	}
}

// InputsDigest returns a digest of everything that decides what is done for a Kyma (docs/design/sweep.md#seen-already).
// It leaves out what our own writes change: status, finalizers, resource versions.
func InputsDigest(kyma *v1beta2.Kyma, settings Settings, catalog Catalog, secrets []SecretVersion,
	trusted, agents string,
) string {
	annotations := lists.Keep(kyma.Annotations, annotationsThatMatter())
	labels := labelInputs(kyma.Labels)
	if settings.Ours(kyma.Labels) {
		// The first reconcile writes this label, so a missing label must not differ from ours.
		delete(labels, shared.LabelManagedBy)
	}
	own := []any{
		"kyma", kyma.UID, kyma.Generation, !kyma.DeletionTimestamp.IsZero(), labels, annotations,
		remoteInputs(kyma.Status.Remote),
	}
	common := []any{settings.Digest(), trusted}
	for _, secret := range secrets {
		if secret.Namespace == shared.NamespaceControlPlane && secret.Name == settings.ImagePullSecret {
			common = append(common, secret)
		} else {
			own = append(own, secret)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(catalog)) {
		if !strings.HasPrefix(name, "@") { // a new or removed mandatory module is not a change of the Kyma's own inputs
			own = append(own, "module", name, catalog[name].userProvidedInputs())
		}
	}
	if agents != "" {
		common = append(common, "agents", agents)
	}
	common = append(common, catalog.inputs(settings)...)
	return DigestOf(own...) + digestSeparator + DigestOf(common...)
}

func remoteInputs(remote *v1beta2.RemoteStatus) any {
	if remote == nil {
		return nil
	}
	modules := append([]v1beta2.Module{}, remote.Modules...)
	inputs := []any{remote.Name, remote.Namespace, remote.Generation, remote.UID != "", remote.Channel, modules}
	if remote.DeferUpgradesUntil != "" {
		inputs = append(inputs, remote.DeferUpgradesUntil)
	}
	return inputs
}

// labelInputs copies labels, so that nil and empty labels have the same digest.
func labelInputs(labels map[string]string) map[string]string {
	copied := make(map[string]string, len(labels))
	maps.Copy(copied, labels)
	return copied
}

// inputs returns the inputs of all modules that many Kymas share.
func (c Catalog) inputs(settings Settings) []any {
	var inputs []any
	for _, name := range slices.Sorted(maps.Keys(c)) {
		inputs = append(inputs, "module", name, c[name].inputs())
		if settings.Injects(strings.TrimPrefix(name, "@")) || slices.ContainsFunc(c[name].Templates, func(t *v1beta2.ModuleTemplate) bool { return settings.Injects(ModuleNameOf(t)) }) {
			inputs = append(inputs, "injects data")
		}
	}
	return inputs
}

// inputs returns the inputs from the catalog that many Kymas share.
func (c Candidates) inputs() []any {
	var inputs []any
	if len(c.Rollouts) > 0 {
		return c.rolloutInputs()
	}
	inputs = append(inputs, lists.Map(c.ReleaseMetas, func(meta *v1beta2.ModuleReleaseMeta) any { return objectInputs(meta) })...)
	inputs = append(inputs, lists.Map(c.Templates, func(template *v1beta2.ModuleTemplate) any { return objectInputs(template) })...)
	inputs = append(inputs, lists.Map(c.Owners, func(meta *v1beta2.ModuleReleaseMeta) any { return objectInputs(meta) })...)
	return inputs
}

// userProvidedInputs returns the inputs from the Kyma's own cluster.
func (c Candidates) userProvidedInputs() []any {
	var inputs []any
	if c.OnlyUserProvided {
		inputs = append(inputs, "only by hand")
	}
	for _, template := range c.UserProvided {
		inputs = append(inputs, "by hand", objectInputs(template))
	}
	return inputs
}

// objectInputs must return the same as in earlier releases, so that an update of Lifecycle Manager reconciles no Kyma.
func objectInputs(object client.Object) any { return inputsOf(object, object.GetGeneration()) }

// inputsOf returns an object's metadata and a value that stands for its content.
func inputsOf(object client.Object, content any) any {
	labels := labelInputs(object.GetLabels())
	delete(labels, shared.LabelManagedBy) // the instance was checked before, and we write this label ourselves
	return []any{
		object.GetUID(), content, labels,
		object.GetAnnotations()[shared.AnnotationIsClusterScoped],
		object.GetAnnotations()[AnnotationApprovedRemoval],
		!object.GetDeletionTimestamp().IsZero(),
	}
}

// Inputs computes the inputs digest of Kymas from an index and a cache of Secret metadata. Watchers (at start) and the
// sweep use it to find out whether a Kyma's inputs were already handled.
type Inputs struct {
	Settings Settings
	Index    Index
	// Secrets finds access Secrets.
	Secrets AccessSource
	// PullSecret is nil if no image pull Secret is configured.
	PullSecret PullSecret
	// Trusted returns the fingerprint of the keys that verify descriptors; may be nil.
	Trusted func(ctx context.Context) (string, error)
	// Agents returns the version of the desired state of agents in remote clusters. AgentCertificate returns the
	// version of the certificate of a Kyma's agent. Both are nil if there are no agents.
	Agents           func(ctx context.Context) (string, error)
	AgentCertificate func(ctx context.Context, kyma *v1beta2.Kyma) (SecretVersion, error)
}

// Digest returns the inputs digest of a Kyma. It equals `.status.inputsDigest` if the last completed reconcile saw the
// same inputs.
func (i Inputs) Digest(ctx context.Context, kyma *v1beta2.Kyma) (string, error) {
	wanted := WantedBy(kyma, SyncOf(kyma, i.Settings))
	catalog, err := Gather(ctx, i.Index, i.Settings, wanted)
	if err != nil {
		return "", err
	}
	secrets, err := Secrets(ctx, i.Secrets, i.PullSecret, i.Settings, kyma)
	if err != nil {
		return "", err
	}
	agents := ""
	if i.Agents != nil && SyncOf(kyma, i.Settings).Enabled {
		if agents, err = i.Agents(ctx); err != nil {
			return "", err
		}
		certificate, err := i.AgentCertificate(ctx, kyma)
		if err != nil {
			return "", err
		}
		secrets = append(secrets, certificate)
	}
	trusted := ""
	if i.Trusted != nil {
		if trusted, err = i.Trusted(ctx); err != nil {
			return "", err
		}
	}
	return InputsDigest(kyma, i.Settings, catalog, secrets, trusted, agents), nil
}
