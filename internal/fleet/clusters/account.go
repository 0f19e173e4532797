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

// Account is whom a cluster takes us for.
type Account struct {
	// User is empty where the cluster does not say.
	User   string
	Groups []string
}

// Account asks the cluster whom it takes us for. It is asked once for each access. One that cannot say, because it is
// older than Kubernetes 1.28 or forbids the question, is taken to have said nothing.
func (c *Cluster) Account(ctx context.Context) (Account, error) {
	if known := c.account.Load(); known != nil {
		return *known, nil
	}
	review := &authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{
		APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectReview",
	}}
	body, err := json.Marshal(review)
	if err != nil {
		return Account{}, fmt.Errorf("encode the question whom %s takes us for: %w", c.Name, err)
	}
	answer, err := c.Discovery.RESTClient().Post().AbsPath("/apis/authentication.k8s.io/v1/selfsubjectreviews").
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body(body).DoRaw(ctx)
	var account Account
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
	case err != nil:
		return Account{}, fmt.Errorf("ask %s whom it takes us for: %w", c.Name, otherAnswer(err))
	default:
		if err := json.Unmarshal(answer, review); err != nil {
			return Account{}, fmt.Errorf("ask %s whom it takes us for: %w", c.Name, otherAnswer(err))
		}
		account = Account{User: review.Status.UserInfo.Username, Groups: review.Status.UserInfo.Groups}
	}
	c.account.Store(&account)
	return account, nil
}

// Is tells whether the account is that ServiceAccount.
func (a Account) Is(account types.NamespacedName) bool {
	return a.User == serviceAccountPrefix+account.Namespace+":"+account.Name
}

// IsIn tells whether the account is a ServiceAccount in that namespace.
func (a Account) IsIn(namespace string) bool {
	return namespace != "" && strings.HasPrefix(a.User, serviceAccountPrefix+namespace+":")
}

// IsAmong tells whether the account has rights by what is bound to these subjects, and not only because it is one of
// many. A ServiceAccount without a namespace is in the given one.
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

// What the names of ServiceAccounts, and of the groups that all of them are in, begin with.
const (
	serviceAccountPrefix  = "system:serviceaccount:"
	serviceAccountsPrefix = "system:serviceaccounts"
)

// isEverybody tells whether accounts are in a group without anybody having put them there.
func isEverybody(group string) bool {
	return group == "system:authenticated" || group == "system:unauthenticated" || strings.HasPrefix(group, serviceAccountsPrefix)
}
