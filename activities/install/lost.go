package install

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// older is how long before a pass an object must have been made to have been there already, whatever the
// clocks of two clusters say.
const older = 10 * time.Minute

// recoverRemoval looks for what a Manifest without an inventory has in its cluster, before it goes: it may have
// been restored from a backup, which has no status. A cluster that cannot be reached, of which nothing is known,
// keeps no Manifest.
func (a *Activities) recoverRemoval(ctx context.Context, m *v1beta2.Manifest) error {
	cluster, err := a.target(ctx, m)
	if err == nil {
		var found []v1beta2.InventoryEntry
		found, err = marked(ctx, cluster, ownerOf(m), nil)
		if err == nil {
			return a.recordLost(ctx, cluster, m, found)
		}
	}
	f := fault.Of(clusters.Classify(err))
	if f.Kind == fault.Unreachable || f.Kind == fault.Rejected && f.Reason != clusters.ReasonClusterChanged {
		a.teller.unseen(m, f)
		return nil
	}
	return clusters.Classify(err)
}

// recordLost writes what was found in the cluster into the status, as if it had never been lost.
func (a *Activities) recordLost(ctx context.Context, c *clusters.Cluster, m *v1beta2.Manifest, found []v1beta2.InventoryEntry) error {
	if len(found) == 0 {
		return nil
	}
	made, err := a.intended(ctx, c, m)
	if err != nil {
		return err
	}
	return a.recordStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		setInventory(s, found)
		if s.DefaultCR == nil {
			s.DefaultCR = made
		}
	})
}

// intended is the record of a default custom resource that may have been made; see isRecorded.
func (a *Activities) intended(ctx context.Context, c *clusters.Cluster, m *v1beta2.Manifest) (*v1beta2.DefaultCRRecord, error) {
	wanted, err := defaultCROf(m)
	if err != nil || wanted == nil {
		return nil, err
	}
	resource, err := c.Mapper.Resource(ctx, wanted.GroupVersionKind())
	if meta.IsNoMatchError(err) {
		return nil, nil //nolint:nilnil // without its kind there is none
	}
	if err != nil {
		return nil, clusters.Classify(err)
	}
	place(wanted, resource, a.remoteNamespace(m))
	return recordOf(wanted, ""), nil
}

// recoverUpgrade finds what a Manifest has in its cluster that its layers no longer have, when its first
// installation met objects that were there already: then it is no first installation, but the inventory is
// lost. What is found is pruned as if it had been in the inventory.
func (a *Activities) recoverUpgrade(ctx context.Context, job *installation) error {
	if !job.first || !job.met.Load() {
		return nil
	}
	var kinds []schema.GroupVersionKind
	for _, e := range job.plan.entries {
		if gvk, _, err := e.Object(); err == nil {
			kinds = append(kinds, gvk)
		}
	}
	found, err := marked(ctx, job.cluster, job.owner, kinds)
	if err != nil {
		return clusters.Classify(err)
	}
	lost := superseded(found, job.plan.entries)
	if len(lost) == 0 {
		return nil
	}
	for i := range lost {
		lost[i].Leaving = true
	}
	return a.recordStatus(ctx, job.manifest, func(s *v1beta2.ManifestStatus) {
		all := append(superseded(lost, s.Inventory), s.Inventory...)
		setInventory(s, record(all, nil, nil))
	})
}

// marked finds the objects in a cluster that carry our mark, with one request per kind: of the kinds that modules
// are made of, of those that are given, and of those that the found definitions define. What another object
// controls is a copy that has its annotations, as a ReplicaSet has those of its Deployment.
func marked(ctx context.Context, c *clusters.Cluster, owner owner, given []schema.GroupVersionKind) ([]v1beta2.InventoryEntry, error) {
	byID := map[string]v1beta2.InventoryEntry{}
	seen := map[schema.GroupKind]bool{}
	look := func(gvk schema.GroupVersionKind) error {
		if seen[gvk.GroupKind()] {
			return nil
		}
		seen[gvk.GroupKind()] = true
		resource, err := c.Mapper.Resource(ctx, gvk)
		if meta.IsNoMatchError(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look up kind %s: %w", gvk.Kind, err)
		}
		return metadataOf(ctx, c, resource, owner.selector(), func(live *metav1.PartialObjectMetadata) {
			entry, err := v1beta2.NewInventoryEntry(gvk, types.NamespacedName{Namespace: live.Namespace, Name: live.Name})
			if err != nil || !owner.owns(live) || metav1.GetControllerOf(live) != nil {
				return
			}
			entry.UID = string(live.UID)
			byID[entry.ID] = entry
		})
	}
	for _, gvk := range append(usualKinds(), given...) {
		if err := look(gvk); err != nil {
			return nil, err
		}
	}
	for _, e := range sorted(byID) {
		gvk, name, err := e.Object()
		if err != nil || !onlyExistence(gvk) {
			continue
		}
		defined, err := kindDefinedBy(ctx, c, name.Name)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err == nil {
			err = look(defined)
		}
		if err != nil {
			return nil, err
		}
	}
	return sorted(byID), nil
}

// kindDefinedBy is the kind that a definition defines, by the definition's name: <plural>.<group>.
func kindDefinedBy(ctx context.Context, c *clusters.Cluster, name string) (schema.GroupVersionKind, error) {
	return c.Mapper.Kind(ctx, definedBy(name))
}

// metadataOf shows the metadata of all objects of a kind that a selector selects, with one request per page.
func metadataOf(ctx context.Context, c *clusters.Cluster, resource clusters.Resource, selector string, show func(*metav1.PartialObjectMetadata)) error {
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		page, err := c.Metadata.Resource(resource.GroupVersionResource).List(ctx, options)
		if err != nil {
			if err = ignoreUnserved(err); err != nil {
				return fmt.Errorf("list %s: %w", resource.Resource, err)
			}
			return nil
		}
		for i := range page.Items {
			show(&page.Items[i])
		}
		if page.Continue == "" {
			return nil
		}
		options.Continue = page.Continue
	}
}

// usualKinds are the built-in kinds that modules are made of.
func usualKinds() []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for group, kinds := range map[string][]string{
		"": {
			kindNamespace, "ConfigMap", "Secret", "Service", "ServiceAccount", "PersistentVolumeClaim", "LimitRange", "ResourceQuota",
			kindPod, "ReplicationController",
		},
		groupApps:        {kindDeployment, kindStatefulSet, "DaemonSet", kindReplicaSet},
		groupBatch:       {kindJob, "CronJob"},
		groupAutoscaling: {kindAutoscaler},
		groupExtensions:  {kindDefinition},
		groupAdmission: {
			"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		},
		groupAggregation:            {"APIService"},
		"policy":                    {"PodDisruptionBudget"},
		"networking.k8s.io":         {"NetworkPolicy", "Ingress", "IngressClass"},
		"rbac.authorization.k8s.io": {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"},
		"scheduling.k8s.io":         {"PriorityClass"},
		"storage.k8s.io":            {"StorageClass"},
	} {
		for _, kind := range kinds {
			if builtIn, ok := clusters.BuiltIn(schema.GroupKind{Group: group, Kind: kind}); ok {
				all = append(all, schema.GroupVersionKind{Group: group, Version: builtIn.Version, Kind: kind})
			}
		}
	}
	return all
}
