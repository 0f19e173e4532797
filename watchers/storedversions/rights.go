package storedversions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// NotAllowedError lists the rights that the account lacks. Nothing was rewritten.
type NotAllowedError struct {
	Missing []string
}

// Error implements error.
func (e *NotAllowedError) Error() string {
	const most = 3
	missing := e.Missing[:min(most, len(e.Missing))]
	more := ""
	if len(e.Missing) > most {
		more = fmt.Sprintf(" and %d more", len(e.Missing)-most)
	}
	return "the account may not " + strings.Join(missing, ", ") + more
}

// mayMigrate checks that the account may list all objects of a kind in all namespaces, and patch the status of the
// definition. An account that sees only some namespaces cannot know whether others have objects.
func (m *Migrator) mayMigrate(ctx context.Context, d Definition) error {
	return m.allowed(ctx,
		authorizationv1.ResourceAttributes{Verb: "list", Group: d.Kind.Group, Resource: d.Resource},
		authorizationv1.ResourceAttributes{
			Verb: "patch", Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions", Subresource: "status", Name: d.Name,
		})
}

// mayRewrite checks that the account may rewrite the objects, in all namespaces or in each one that has some.
func (m *Migrator) mayRewrite(ctx context.Context, d Definition, objects []object) error {
	in := func(namespace string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Verb: "patch", Group: d.Kind.Group, Resource: d.Resource, Namespace: namespace}
	}
	everywhere, err := m.review(ctx, in(metav1.NamespaceAll))
	if everywhere || err != nil {
		return err
	}
	var each []authorizationv1.ResourceAttributes
	for _, namespace := range namespacesOf(objects) {
		each = append(each, in(namespace))
	}
	return m.allowed(ctx, each...)
}

func namespacesOf(objects []object) []string {
	var all []string
	all = append(all, lists.Map(objects, func(o object) string { return o.key.Namespace })...)
	slices.Sort(all)
	return slices.Compact(all)
}

// allowed returns a NotAllowedError with all rights that the account lacks.
func (m *Migrator) allowed(ctx context.Context, all ...authorizationv1.ResourceAttributes) error {
	var missing []string
	for _, asked := range all {
		allowed, err := m.review(ctx, asked)
		if err != nil {
			return err
		}
		if !allowed {
			missing = append(missing, text(asked))
		}
	}
	if len(missing) > 0 {
		return &NotAllowedError{Missing: missing}
	}
	return nil
}

func text(asked authorizationv1.ResourceAttributes) string {
	resource := asked.Resource
	if asked.Subresource != "" {
		resource += "/" + asked.Subresource
	}
	where := "in all namespaces"
	switch {
	case asked.Name != "":
		where = "named " + asked.Name
	case asked.Namespace != "":
		where = "in namespace " + asked.Namespace
	}
	return fmt.Sprintf("%s %s.%s %s", asked.Verb, resource, asked.Group, where)
}

// review asks the API server, which every account may do, so that a missing right is not first noticed by a refused
// write.
func (m *Migrator) review(ctx context.Context, asked authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &asked}}
	if err := m.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask whether the account may %s: %w", text(asked), err)
	}
	return review.Status.Allowed, nil
}
