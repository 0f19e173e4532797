package admission

import (
	"fmt"

	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	pathModuleTemplate = "/validate/moduletemplate"
	pathKyma           = "/validate/kyma"
	pathReleaseMeta    = "/validate/modulereleasemeta"
	pathRolloutPolicy  = "/validate/rolloutpolicy"
	pathModuleRollout  = "/validate/modulerollout"
	pathApproval       = "/mutate/approval"
	// pathRemovalApproval is for RemovalBudgets.
	pathRemovalApproval = "/mutate/removalapproval"

	// servicePort is the Service's.
	servicePort = 443
	// answerWithin is how long the API server waits, in seconds. A check takes milliseconds.
	answerWithin = 5
)

// webhooks are the entries of the ValidatingWebhookConfiguration, without CA.
func (o Options) webhooks() []admissionv1.ValidatingWebhook {
	entry := func(name, path string, rules []admissionv1.RuleWithOperations) admissionv1.ValidatingWebhook {
		return admissionv1.ValidatingWebhook{
			Name:         name + "." + shared.OperatorGroup,
			ClientConfig: o.clientConfig(path),
			Rules:        rules,
			// Ignore, not Fail: what is not refused here is refused at resolution by the same function and shown in
			// the status, so nothing wrong gets installed. With Fail, nobody could correct the catalog while we are
			// down, and our own finalizers could not be taken off.
			FailurePolicy:           ptr.To(admissionv1.Ignore),
			MatchPolicy:             ptr.To(admissionv1.Equivalent),
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To[int32](answerWithin),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       inNamespaces(o.Settings.Namespaces),
			ObjectSelector:          &metav1.LabelSelector{}, // as the API server stores it
		}
	}
	kyma := entry("kyma", pathKyma, rules(shared.ResourceKymas, admissionv1.Update))
	// A fleet's Kymas are labelled and annotated all the time; only an edit of the spec, or of a deferral, is of interest.
	kyma.MatchConditions = []admissionv1.MatchCondition{{Name: "wishes-change", Expression: fmt.Sprintf(
		"object.spec != oldObject.spec || object.metadata.?annotations[?'%[1]s'] != oldObject.metadata.?annotations[?'%[1]s']",
		shared.AnnotationDeferUpgradesUntil)}}
	meta := entry("modulereleasemeta", pathReleaseMeta, rules(shared.ResourceModuleReleaseMetas, admissionv1.Update))
	meta.MatchConditions = []admissionv1.MatchCondition{{Name: "spec-changes", Expression: "object.spec != oldObject.spec"}}
	return []admissionv1.ValidatingWebhook{
		entry("moduletemplate", pathModuleTemplate, rules(shared.ResourceModuleTemplates, admissionv1.Create, admissionv1.Update)),
		kyma,
		meta,
		entry("rolloutpolicy", pathRolloutPolicy, rules(shared.ResourceRolloutPolicies, admissionv1.Create, admissionv1.Update)),
		entry("modulerollout", pathModuleRollout, rules(shared.ResourceModuleRollouts, admissionv1.Create, admissionv1.Update)),
	}
}

// mutatingWebhooks are the entries of the MutatingWebhookConfiguration, without CA.
func (o Options) mutatingWebhooks() []admissionv1.MutatingWebhook {
	instance := "object.?metadata.?labels[?'" + shared.LabelManagedBy + "'].orValue('') != oldObject.?metadata.?labels[?'" + shared.LabelManagedBy + "'].orValue('')"
	approvals := "object.?spec.?approvals.orValue([]) != [] && (object.spec.approvals != oldObject.?spec.?approvals.orValue([]) || " + instance + ")"
	entry := func(name, path, resource, condition, changes string) admissionv1.MutatingWebhook {
		return admissionv1.MutatingWebhook{
			Name:         name + "." + shared.OperatorGroup,
			ClientConfig: o.clientConfig(path),
			Rules:        rules(resource, admissionv1.Create, admissionv1.Update),
			// Fail, not Ignore: nobody looks at an approval again later, so one that passed unseen would be in whatever name
			// the request gives. While we are down nobody can approve, but a rollout can still be paused and aborted, and
			// finalizers be taken off, for only these requests are sent.
			FailurePolicy:   ptr.To(admissionv1.Fail),
			MatchConditions: []admissionv1.MatchCondition{{Name: condition, Expression: "oldObject == null ? object.?spec.?approvals.orValue([]) != [] : " + changes}},
			// Once more after other webhooks that change the object, for these could add an approval as well.
			ReinvocationPolicy:      ptr.To(admissionv1.IfNeededReinvocationPolicy),
			MatchPolicy:             ptr.To(admissionv1.Equivalent),
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To[int32](answerWithin),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       inNamespaces(o.Settings.Namespaces),
			ObjectSelector:          &metav1.LabelSelector{}, // as the API server stores it
		}
	}
	return []admissionv1.MutatingWebhook{
		// Stages and the promotion too, for they say what is to be approved. And the label: what was written into an object
		// while it was another instance's, we have not seen.
		entry("approval", pathApproval, shared.ResourceModuleRollouts, "approvals-stages-or-instance-change",
			"object.?spec.?plan.?stages.orValue([]) != oldObject.?spec.?plan.?stages.orValue([]) || "+
				"object.?spec.?plan.?promotion.orValue({}) != oldObject.?spec.?plan.?promotion.orValue({}) || "+approvals),
		entry("removalapproval", pathRemovalApproval, shared.ResourceRemovalBudgets, "approvals-or-instance-change", approvals),
	}
}

// rules are those of an entry for one resource.
func rules(resource string, operations ...admissionv1.OperationType) []admissionv1.RuleWithOperations {
	return []admissionv1.RuleWithOperations{{
		Operations: operations,
		// One version is enough: with matchPolicy Equivalent, requests in the others are converted to it.
		Rule: admissionv1.Rule{
			APIGroups: []string{v1beta2.GroupVersion.Group}, APIVersions: []string{v1beta2.GroupVersion.Version},
			Resources: []string{resource}, Scope: ptr.To(admissionv1.NamespacedScope),
		},
	}}
}

func (o Options) clientConfig(path string) admissionv1.WebhookClientConfig {
	if o.URL != "" {
		return admissionv1.WebhookClientConfig{URL: ptr.To(strings.TrimSuffix(o.URL, "/") + path)}
	}
	return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{
		Namespace: o.Service.Namespace, Name: o.Service.Name, Path: ptr.To(path), Port: ptr.To[int32](servicePort),
	}}
}

// inNamespaces selects these namespaces; without any, all.
func inNamespaces(names []string) *metav1.LabelSelector {
	if len(names) == 0 {
		return &metav1.LabelSelector{} // as the API server stores it, so that what is equal is not written
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: names},
	}}
}
