package clusters

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Account is the identity of Lifecycle Manager in a cluster.
type Account struct {
	// User is empty if the cluster does not say.
	User   string
	Groups []string
}

// Account returns our identity in the cluster. It asks once per access. Clusters older than Kubernetes 1.28, and
// clusters that forbid the request, yield an empty Account.
func (c *Cluster) Account(ctx context.Context) (Account, error) {
	if known := c.account.Load(); known != nil {
		return *known, nil
	}
	review := &authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{
		APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectReview",
	}}
	body, err := json.Marshal(review)
	if err != nil {
		return Account{}, fmt.Errorf("encode the SelfSubjectReview for %s: %w", c.Name, err)
	}
	answer, err := c.Discovery.RESTClient().Post().AbsPath("/apis/authentication.k8s.io/v1/selfsubjectreviews").
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body(body).DoRaw(ctx)
	var account Account
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
	case err != nil:
		return Account{}, fmt.Errorf("ask %s for our identity: %w", c.Name, otherAnswer(err))
	default:
		if err := json.Unmarshal(answer, review); err != nil {
			return Account{}, fmt.Errorf("ask %s for our identity: %w", c.Name, otherAnswer(err))
		}
		account = Account{User: review.Status.UserInfo.Username, Groups: review.Status.UserInfo.Groups}
	}
	c.account.Store(&account)
	return account, nil
}

// Is reports whether the account is this ServiceAccount.
func (a Account) Is(account types.NamespacedName) bool {
	return a.User == serviceAccountPrefix+account.Namespace+":"+account.Name
}

// IsIn reports whether the account is a ServiceAccount in the namespace.
func (a Account) IsIn(namespace string) bool {
	return namespace != "" && strings.HasPrefix(a.User, serviceAccountPrefix+namespace+":")
}

// IsAmong reports whether a binding to these subjects gives rights to the account. Groups that contain everybody do not
// count. The given namespace is the default for a ServiceAccount without one.
func (a Account) IsAmong(subjects []rbacv1.Subject, namespace string) bool {
	return a.User != "" && slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		switch s.Kind {
		case rbacv1.UserKind:
			return s.Name == a.User
		case rbacv1.ServiceAccountKind:
			return a.Is(types.NamespacedName{Namespace: cmp.Or(s.Namespace, namespace), Name: s.Name})
		case rbacv1.GroupKind:
			return slices.Contains(a.Groups, s.Name) && !isEverybody(s.Name)
		}
		return false
	})
}

// Prefixes of the names of ServiceAccounts, and of the groups that contain all of them.
const (
	serviceAccountPrefix  = "system:serviceaccount:"
	serviceAccountsPrefix = "system:serviceaccounts"
)

// isEverybody reports whether accounts are in a group automatically.
func isEverybody(group string) bool {
	return group == "system:authenticated" || group == "system:unauthenticated" || strings.HasPrefix(group, serviceAccountsPrefix)
}
