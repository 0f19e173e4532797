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
	// pathRemovalApproval is the path for RemovalBudgets.
	pathRemovalApproval = "/mutate/removalapproval"

	// servicePort is the port of the Service.
	servicePort = 443
	// answerWithin is how many seconds the API server waits. A check takes milliseconds.
	answerWithin = 5
)

// webhooks returns the entries of the ValidatingWebhookConfiguration, without a CA.
func (o Options) webhooks() []admissionv1.ValidatingWebhook {
	entry := func(name, path string, rules []admissionv1.RuleWithOperations) admissionv1.ValidatingWebhook {
		return admissionv1.ValidatingWebhook{
			Name:         name + "." + shared.OperatorGroup,
			ClientConfig: o.clientConfig(path),
			Rules:        rules,
			// Ignore, not Fail: resolution checks everything again with the same functions and reports problems in the
			// status, so nothing invalid gets installed. With Fail, nobody could correct the catalog while the webhook
			// is down, and our own finalizers could not be removed.
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
	// Labels and annotations of a fleet's Kymas change all the time. Only an edit of the spec or of a deferral matters.
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

// mutatingWebhooks returns the entries of the MutatingWebhookConfiguration, without a CA.
func (o Options) mutatingWebhooks() []admissionv1.MutatingWebhook {
	instance := "object.?metadata.?labels[?'" + shared.LabelManagedBy + "'].orValue('') != oldObject.?metadata.?labels[?'" + shared.LabelManagedBy + "'].orValue('')"
	approvals := "object.?spec.?approvals.orValue([]) != [] && (object.spec.approvals != oldObject.?spec.?approvals.orValue([]) || " + instance + ")"
	entry := func(name, path, resource, condition, changes string) admissionv1.MutatingWebhook {
		return admissionv1.MutatingWebhook{
			Name:         name + "." + shared.OperatorGroup,
			ClientConfig: o.clientConfig(path),
			Rules:        rules(resource, admissionv1.Create, admissionv1.Update),
			// Fail, not Ignore: an approval is not checked again later. An approval that bypassed the webhook would
			// carry whatever name the request claims. While the webhook is down, nobody can approve. Rollouts can still
			// be paused and aborted, and finalizers removed, because only requests that match the condition are sent
			// here.
			FailurePolicy:   ptr.To(admissionv1.Fail),
			MatchConditions: []admissionv1.MatchCondition{{Name: condition, Expression: "oldObject == null ? object.?spec.?approvals.orValue([]) != [] : " + changes}},
			// Reinvoke the webhook after others that change the object, because they could add an approval too.
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
		// Stages and the promotion are included, because they define what must be approved. The label is included,
		// because this instance has not seen what was written while the object belonged to another instance.
		entry("approval", pathApproval, shared.ResourceModuleRollouts, "approvals-stages-or-instance-change",
			"object.?spec.?plan.?stages.orValue([]) != oldObject.?spec.?plan.?stages.orValue([]) || "+
				"object.?spec.?plan.?promotion.orValue({}) != oldObject.?spec.?plan.?promotion.orValue({}) || "+approvals),
		entry("removalapproval", pathRemovalApproval, shared.ResourceRemovalBudgets, "approvals-or-instance-change", approvals),
	}
}

// rules returns the rules of an entry for one resource.
func rules(resource string, operations ...admissionv1.OperationType) []admissionv1.RuleWithOperations {
	return []admissionv1.RuleWithOperations{{
		Operations: operations,
		// One version suffices: with matchPolicy Equivalent, the API server converts requests in other versions.
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

// inNamespaces returns a selector for these namespaces; without names, for all.
func inNamespaces(names []string) *metav1.LabelSelector {
	if len(names) == 0 {
		return &metav1.LabelSelector{} // as the API server stores it, so that an unchanged configuration is not written
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: names},
	}}
}
