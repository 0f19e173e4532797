package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// partOfAccess is why a module must not contain an object that gives Lifecycle Manager access to the cluster: if the
// module replaced that object, or its removal deleted it, we would be locked out.
const partOfAccess = "it is part of Lifecycle Manager's access to this cluster"

// ExcludeAccess removes from the plan whatever gives us access to the cluster: our ServiceAccount, its tokens,
// bindings that name the account, and roles bound to it. The cluster tells us which account we use; if it does not,
// ExcludeAccess removes nothing. Objects that the module has already applied are left alone. If bindings or roles are
// new, ExcludeAccess lists the bindings of their namespace once. A new Secret that may be a token of the account
// costs one request.
func (job *Installation) ExcludeAccess(ctx context.Context) error {
	has := map[string]bool{}
	for _, e := range job.Manifest.Status.Inventory {
		has[e.ID] = has[e.ID] || e.UID != ""
	}
	refused, bindings := map[string]bool{}, bindings{}
	for _, p := range job.Plan.All() {
		if has[p.Entry.ID] || refused[p.Entry.ID] || !mayBePartOfAccess(p.Object.GVK.GroupKind()) {
			continue
		}
		account, err := job.Cluster.Account(ctx)
		if err != nil {
			return clusters.Classify(err)
		}
		isPart, err := isPartOfAccess(ctx, job, p, account, bindings)
		if err != nil {
			return err
		}
		if isPart {
			refused[p.Entry.ID] = true
			job.Refused = append(job.Refused, bundle.Failure{Object: p.String(), Message: partOfAccess})
		}
	}
	if len(refused) == 0 {
		return nil
	}
	job.Plan.Withhold(refused)
	job.Plan.Entries = slices.DeleteFunc(job.Plan.Entries, func(e v1beta2.InventoryEntry) bool { return refused[e.ID] })
	return nil
}

func mayBePartOfAccess(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Kind: "ServiceAccount"}, schema.GroupKind{Kind: "Secret"}:
		return true
	}
	return isBinding(kind) || isRole(kind)
}

func isBinding(kind schema.GroupKind) bool {
	return kind.Group == rbacv1.GroupName && (kind.Kind == "ClusterRoleBinding" || kind.Kind == "RoleBinding")
}

func isRole(kind schema.GroupKind) bool {
	return kind.Group == rbacv1.GroupName && (kind.Kind == "ClusterRole" || kind.Kind == "Role")
}

// rights holds the fields that we read from a binding or a Secret, both rendered and live.
type rights struct {
	metav1.ObjectMeta `json:"metadata"`
	Type              corev1.SecretType `json:"type"`
	Subjects          []rbacv1.Subject  `json:"subjects"`
	RoleRef           rbacv1.RoleRef    `json:"roleRef"`
}

// isTokenOf reports whether a Secret holds, or will hold, a token of the account.
func (r *rights) isTokenOf(account clusters.Account, namespace string) bool {
	of := r.Annotations[corev1.ServiceAccountNameKey]
	return of != "" && account.Is(types.NamespacedName{Namespace: namespace, Name: of})
}

func isPartOfAccess(ctx context.Context, job *Installation, p bundle.Placed, account clusters.Account, known bindings) (bool, error) {
	kind, namespace := p.Object.GVK.GroupKind(), p.Name.Namespace
	switch {
	case account.User == "":
		return false, nil
	case kind.Kind == "ServiceAccount":
		return account.Is(p.Name), nil
	case isRole(kind):
		return known.nameAccount(ctx, job.Cluster, account, namespace, func(b *rights) bool {
			return b.RoleRef.Kind == kind.Kind && b.RoleRef.Name == p.Name.Name
		})
	}
	var rendered rights
	if err := json.Unmarshal(p.Object.Body.Fill(job.Owner), &rendered); err != nil {
		return false, nil //nolint:nilerr // the API server reports what is wrong with it
	}
	if isBinding(kind) {
		if account.IsAmong(rendered.Subjects, namespace) {
			return true, nil
		}
		return known.nameAccount(ctx, job.Cluster, account, namespace, func(b *rights) bool { return b.Name == p.Name.Name })
	}
	if rendered.isTokenOf(account, namespace) {
		return true, nil
	}
	// A token is in its account's namespace, and no Secret of another type can be applied over a token.
	if !account.IsIn(namespace) || rendered.Type != "" && rendered.Type != corev1.SecretTypeServiceAccountToken {
		return false, nil
	}
	return isExistingToken(ctx, job.Cluster, p, account)
}

// isExistingToken reports whether the live Secret with the name of a module's Secret is a token of the account. A
// Secret that we may not read does not count as one.
func isExistingToken(ctx context.Context, c *clusters.Cluster, p bundle.Placed, account clusters.Account) (bool, error) {
	existing, err := c.Metadata.Resource(p.Resource.GroupVersionResource).Namespace(p.Name.Namespace).Get(ctx, p.Name.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, clusters.Classify(fmt.Errorf("read %s: %w", p, err))
	}
	return (&rights{ObjectMeta: existing.ObjectMeta}).isTokenOf(account, p.Name.Namespace), nil
}

// bindings holds the live bindings by namespace. ClusterRoleBindings are under the empty namespace.
type bindings map[string][]rights

// nameAccount reports whether one of the selected bindings in a namespace names the account. If we may not list the
// bindings, it returns false.
func (known bindings) nameAccount(ctx context.Context, c *clusters.Cluster, account clusters.Account, namespace string, selected func(*rights) bool) (bool, error) {
	all, listed := known[namespace]
	if !listed {
		var err error
		if all, err = listBindings(ctx, c, namespace); err != nil && !apierrors.IsForbidden(err) {
			return false, clusters.Classify(fmt.Errorf("list the bindings of the cluster: %w", err))
		}
		known[namespace] = all
	}
	return slices.ContainsFunc(all, func(b rights) bool { return selected(&b) && account.IsAmong(b.Subjects, namespace) }), nil
}

func listBindings(ctx context.Context, c *clusters.Cluster, namespace string) ([]rights, error) {
	resource := "rolebindings"
	if namespace == "" {
		resource = "clusterrolebindings"
	}
	client := c.Dynamic.Resource(rbacv1.SchemeGroupVersion.WithResource(resource)).Namespace(namespace)
	var all []rights
	err := objects.Pages(metav1.ListOptions{}, func(options metav1.ListOptions) (string, error) {
		page, err := client.List(ctx, options)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			var b rights
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(page.Items[i].Object, &b); err != nil {
				return "", err
			}
			all = append(all, b)
		}
		return page.GetContinue(), nil
	})
	return all, err
}
