package admission

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	pathModuleTemplate = "/validate/moduletemplate"
	pathKyma           = "/validate/kyma"

	// fieldOwner is that of all that we write into the control plane (docs/contract.md#field-managers-and-namespaces).
	fieldOwner = "lifecycle-manager"
	// servicePort is the Service's.
	servicePort = 443
	// answerWithin is how long the API server waits, in seconds. A check takes milliseconds.
	answerWithin = 5
	// keepEvery is how often configuration and Secret are checked, for somebody may have deleted them.
	keepEvery = 10 * time.Minute
	// retryAfter is how soon it is tried again after a failure.
	retryAfter = 10 * time.Second
)

// webhooks are the entries of the ValidatingWebhookConfiguration, without CA.
func (o Options) webhooks() []admissionv1.ValidatingWebhook {
	rules := func(resource string, operations ...admissionv1.OperationType) []admissionv1.RuleWithOperations {
		return []admissionv1.RuleWithOperations{{
			Operations: operations,
			// One version is enough: with matchPolicy Equivalent, requests in the others are converted to it.
			Rule: admissionv1.Rule{
				APIGroups: []string{v1beta2.GroupVersion.Group}, APIVersions: []string{v1beta2.GroupVersion.Version},
				Resources: []string{resource}, Scope: ptr.To(admissionv1.NamespacedScope),
			},
		}}
	}
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
		}
	}
	kyma := entry("kyma", pathKyma, rules("kymas", admissionv1.Update))
	// A fleet's Kymas are labelled and annotated all the time; only an edit of the spec is of interest.
	kyma.MatchConditions = []admissionv1.MatchCondition{{Name: "spec-changes", Expression: "object.spec != oldObject.spec"}}
	return []admissionv1.ValidatingWebhook{
		entry("moduletemplate", pathModuleTemplate, rules("moduletemplates", admissionv1.Create, admissionv1.Update)),
		kyma,
	}
}

func (o Options) clientConfig(path string) admissionv1.WebhookClientConfig {
	if o.URL != "" {
		return admissionv1.WebhookClientConfig{URL: ptr.To(strings.TrimSuffix(o.URL, "/") + path)}
	}
	return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{
		Namespace: o.Service.Namespace, Name: o.Service.Name, Path: ptr.To(path), Port: ptr.To[int32](servicePort),
	}}
}

// keeper makes sure that the ValidatingWebhookConfiguration and the certificate's Secret exist.
type keeper struct {
	client  client.Client
	options Options
	log     logr.Logger
}

func newKeeper(mgr manager.Manager, options Options) (*keeper, error) {
	// Uncached: these are a handful of requests an hour, and a cache would contain every Secret.
	uncached, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return nil, fmt.Errorf("make a client for the webhook's configuration: %w", err)
	}
	return &keeper{
		client: client.WithFieldOwner(uncached, fieldOwner), options: options, log: mgr.GetLogger().WithName("admission"),
	}, nil
}

// NeedLeaderElection makes only the leader keep the configuration: others may be of an older build.
func (k *keeper) NeedLeaderElection() bool { return true }

// Start keeps both until the context ends. A failure is logged and tried again: nothing relies on the webhook.
func (k *keeper) Start(ctx context.Context) error {
	for {
		next := keepEvery
		if err := k.ensure(ctx); err != nil && ctx.Err() == nil {
			k.log.Error(err, "the admission webhook is not set up")
			next = retryAfter
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next):
		}
	}
}

func (k *keeper) ensure(ctx context.Context) error {
	if err := k.ensureSecret(ctx); err != nil {
		return err
	}
	return k.ensureConfiguration(ctx)
}

// ensureSecret creates an empty Secret, which the library then fills.
func (k *keeper) ensureSecret(ctx context.Context) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: k.options.Service.Namespace, Name: k.options.Secret, Labels: k.labels(),
	}}
	if err := k.client.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Secret %s/%s for the webhook's certificate: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

// ensureConfiguration writes the configuration as it is to be, and keeps the CA that is in it. It is no
// server-side apply: an entry that a later version no longer has would be left behind with nothing but the CA,
// which the library owns, and so make every apply invalid.
func (k *keeper) ensureConfiguration(ctx context.Context) error {
	configuration := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: k.options.Service.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, k.client, configuration, func() error {
		authorities := map[string][]byte{}
		for _, entry := range configuration.Webhooks {
			authorities[entry.Name] = entry.ClientConfig.CABundle
		}
		configuration.Webhooks = k.options.webhooks()
		for i := range configuration.Webhooks {
			entry := &configuration.Webhooks[i]
			entry.ClientConfig.CABundle = authorities[entry.Name]
			// As the API server stores it, so that what is equal is not written.
			entry.ObjectSelector = &metav1.LabelSelector{}
		}
		if configuration.Labels == nil {
			configuration.Labels = map[string]string{}
		}
		for key, value := range k.labels() {
			configuration.Labels[key] = value
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write ValidatingWebhookConfiguration %s: %w", configuration.Name, err)
	}
	return nil
}

func (k *keeper) labels() map[string]string {
	return map[string]string{shared.LabelManagedBy: k.options.Settings.WithDefaults().ManagedBy}
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
