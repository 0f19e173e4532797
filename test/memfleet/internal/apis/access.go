package apis

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/kubernetes/pkg/apis/core"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// anyone allows everything: who has a cluster's token is its administrator.
type anyone struct{ authorizer.Authorizer }

func newAnyone() anyone { return anyone{authorizerfactory.NewAlwaysAllowAuthorizer()} }

// RulesFor implements authorizer.RuleResolver.
func (anyone) RulesFor(context.Context, user.Info, string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	all := []string{"*"}
	return []authorizer.ResourceRuleInfo{&authorizer.DefaultResourceRuleInfo{Verbs: all, APIGroups: all, Resources: all}},
		[]authorizer.NonResourceRuleInfo{&authorizer.DefaultNonResourceRuleInfo{Verbs: all, NonResourceURLs: all}}, false, nil
}

// nobody knows no tokens that are to be reviewed.
type nobody struct{}

// AuthenticateRequest implements authenticator.Request.
func (nobody) AuthenticateRequest(*http.Request) (*authenticator.Response, bool, error) {
	return nil, false, nil
}

// lifecycle is the admission plugin NamespaceLifecycle: nothing is made in a namespace that is not there or being
// deleted, and some namespaces stay. The original gets namespaces from an informer, which knows no clusters. It is also
// StorageObjectInUseProtection, which puts finalizers on volumes.
type lifecycle struct{}

var _ admission.MutationInterface = lifecycle{}

// Namespaces is the resource of namespaces.
func Namespaces() schema.GroupResource { return schema.GroupResource{Resource: "namespaces"} }

// Handles implements admission.Interface.
func (lifecycle) Handles(o admission.Operation) bool {
	return o == admission.Create || o == admission.Update || o == admission.Delete
}

// Admit implements admission.MutationInterface.
func (lifecycle) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetKind().GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
		switch name := a.GetName(); {
		case a.GetOperation() != admission.Delete:
		case name == metav1.NamespaceDefault, name == metav1.NamespaceSystem, name == metav1.NamespacePublic:
			return apierrors.NewForbidden(a.GetResource().GroupResource(), name, errors.New("this namespace may not be deleted"))
		}
		return nil
	}
	if a.GetOperation() == admission.Create && a.GetSubresource() == "" {
		protect(a.GetObject())
	}
	if a.GetNamespace() == "" || a.GetOperation() == admission.Delete || a.GetResource().Group == "authorization.k8s.io" {
		return nil
	}
	cluster := store.From(ctx)
	if cluster == nil {
		return apierrors.NewInternalError(errors.New("the request is for no cluster"))
	}
	namespace := cluster.Get(Namespaces(), a.GetNamespace())
	if namespace == nil {
		return apierrors.NewNotFound(Namespaces(), a.GetNamespace())
	}
	if a.GetOperation() != admission.Create || !namespace.Deleting() {
		return nil
	}
	forbidden := admission.NewForbidden(a, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.GetNamespace()))
	var status *apierrors.StatusError
	if errors.As(forbidden, &status) {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", a.GetNamespace()), Field: "metadata.namespace",
		})
	}
	return forbidden
}

// Finalizers that keep volumes while they are in use.
const (
	FinalizerClaim  = "kubernetes.io/pvc-protection"
	FinalizerVolume = "kubernetes.io/pv-protection"
)

func protect(object runtime.Object) {
	switch o := object.(type) {
	case *core.PersistentVolumeClaim:
		if !slices.Contains(o.Finalizers, FinalizerClaim) {
			o.Finalizers = append(o.Finalizers, FinalizerClaim)
		}
	case *core.PersistentVolume:
		if !slices.Contains(o.Finalizers, FinalizerVolume) {
			o.Finalizers = append(o.Finalizers, FinalizerVolume)
		}
	}
}
