package install

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// ofAccess says why no module may bring what gives Lifecycle Manager access to the cluster: applied over what is
// there, or removed with the module, it would lock us out.
const ofAccess = "it is part of Lifecycle Manager's access to this cluster"

// spareAccess takes out of the plan what gives us access: our own ServiceAccount, its tokens, and what binds rights to
// the account. The cluster says which one it is; where it does not, nothing is known of that. What the module has
// already stays as it is. Only bindings that are new cost a request each.
func (job *installation) spareAccess(ctx context.Context) error {
	has := map[string]bool{}
	for _, e := range job.manifest.Status.Inventory {
		has[e.ID] = has[e.ID] || e.UID != ""
	}
	refused := map[string]bool{}
	for _, objects := range job.plan.stages {
		for _, p := range objects {
			if has[p.entry.ID] || !mayBeOfAccess(p.object.gvk.GroupKind()) {
				continue
			}
			account, err := job.cluster.Account(ctx)
			if err != nil {
				return clusters.Classify(err)
			}
			of, err := isOfAccess(ctx, job, p, account)
			if err != nil {
				return err
			}
			if of {
				refused[p.entry.ID] = true
				job.refused = append(job.refused, failure{object: p.String(), message: ofAccess})
			}
		}
	}
	if len(refused) == 0 {
		return nil
	}
	for number, objects := range job.plan.stages {
		job.plan.stages[number] = slices.DeleteFunc(objects, func(p placed) bool { return refused[p.entry.ID] })
	}
	job.plan.entries = slices.DeleteFunc(job.plan.entries, func(e v1beta2.InventoryEntry) bool { return refused[e.ID] })
	return nil
}

func mayBeOfAccess(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Kind: "ServiceAccount"}, schema.GroupKind{Kind: "Secret"}:
		return true
	}
	return isBinding(kind)
}

func isBinding(kind schema.GroupKind) bool {
	return kind.Group == rbacv1.GroupName && (kind.Kind == "ClusterRoleBinding" || kind.Kind == "RoleBinding")
}

func isOfAccess(ctx context.Context, job *installation, p placed, account clusters.Account) (bool, error) {
	kind := p.object.gvk.GroupKind()
	switch {
	case account.User == "":
		return false, nil
	case kind.Kind == "ServiceAccount":
		return account.Is(p.name), nil
	}
	// Both kinds of bindings, and the metadata of a Secret, are read alike.
	var brought struct {
		metav1.ObjectMeta `json:"metadata"`
		Subjects          []rbacv1.Subject `json:"subjects"`
	}
	if err := json.Unmarshal(p.object.body.fill(job.owner), &brought); err != nil {
		return false, nil //nolint:nilerr // the API server says what is wrong with it
	}
	if !isBinding(kind) {
		of := brought.Annotations[corev1.ServiceAccountNameKey]
		return of != "" && account.Is(types.NamespacedName{Namespace: p.name.Namespace, Name: of}), nil
	}
	if account.IsAmong(brought.Subjects, p.name.Namespace) {
		return true, nil
	}
	there, err := subjectsOf(ctx, job.cluster, p)
	return account.IsAmong(there, p.name.Namespace), err
}

// subjectsOf are those of the binding that is there under the name of a module's. Where that may not be read, nobody is.
func subjectsOf(ctx context.Context, c *clusters.Cluster, p placed) ([]rbacv1.Subject, error) {
	object, err := c.Dynamic.Resource(p.resource.GroupVersionResource).Namespace(p.name.Namespace).Get(ctx, p.name.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, clusters.Classify(fmt.Errorf("read %s: %w", p, err))
	}
	var there struct {
		Subjects []rbacv1.Subject `json:"subjects"`
	}
	body, err := object.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(body, &there)
	}
	if err != nil {
		return nil, fmt.Errorf("read the subjects of %s: %w", p, err)
	}
	return there.Subjects, nil
}
