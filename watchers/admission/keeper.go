package admission

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

const (
	// fieldOwner is the field manager for everything that we write into the control plane
	// (docs/contract.md#field-managers-and-namespaces).
	fieldOwner = "lifecycle-manager"
	// keepEvery is how often configurations and Secret are checked, in case somebody deleted them.
	keepEvery = 10 * time.Minute
	// retryAfter is the wait after a failure.
	retryAfter = 10 * time.Second
)

// keeper makes sure that the webhook's configurations and its certificate's Secret exist.
type keeper struct {
	client  client.Client
	options Options
	log     logr.Logger
}

func newKeeper(mgr manager.Manager, options Options) (*keeper, error) {
	// The client has no cache: it sends a few requests per hour, and a cache would contain every Secret.
	uncached, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return nil, fmt.Errorf("create a client for the webhook's configuration: %w", err)
	}
	return &keeper{
		client: client.WithFieldOwner(uncached, fieldOwner), options: options, log: mgr.GetLogger().WithName("admission"),
	}, nil
}

// NeedLeaderElection returns true, so that only the leader maintains the configurations. Other processes may run an
// older build.
func (k *keeper) NeedLeaderElection() bool { return true }

// Start maintains configurations and Secret until the context ends. Failures are logged and retried, because only
// approvals depend on the webhook.
func (k *keeper) Start(ctx context.Context) error {
	for {
		next := keepEvery
		if err := k.ensure(ctx); err != nil && ctx.Err() == nil {
			k.log.Error(err, "set up the admission webhook, will try again")
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
	return errors.Join(k.ensureValidating(ctx), k.ensureMutating(ctx))
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

// ensureValidating writes the ValidatingWebhookConfiguration, and keeps its CA.
func (k *keeper) ensureValidating(ctx context.Context) error {
	configuration := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: k.options.Service.Name}}
	return k.write(ctx, "ValidatingWebhookConfiguration", configuration, func() {
		authorities := map[string][]byte{}
		for _, entry := range configuration.Webhooks {
			authorities[entry.Name] = entry.ClientConfig.CABundle
		}
		configuration.Webhooks = k.options.webhooks()
		for i := range configuration.Webhooks {
			configuration.Webhooks[i].ClientConfig.CABundle = authorities[configuration.Webhooks[i].Name]
		}
	})
}

// ensureMutating writes the MutatingWebhookConfiguration, and keeps its CA.
func (k *keeper) ensureMutating(ctx context.Context) error {
	configuration := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: k.options.Service.Name}}
	return k.write(ctx, "MutatingWebhookConfiguration", configuration, func() {
		authorities := map[string][]byte{}
		for _, entry := range configuration.Webhooks {
			authorities[entry.Name] = entry.ClientConfig.CABundle
		}
		configuration.Webhooks = k.options.mutatingWebhooks()
		for i := range configuration.Webhooks {
			configuration.Webhooks[i].ClientConfig.CABundle = authorities[configuration.Webhooks[i].Name]
		}
	})
}

// write writes a configuration. It does not use server-side apply: an entry that a later build no longer has would
// remain with only the CA, which the library owns, and would make every apply invalid.
func (k *keeper) write(ctx context.Context, kind string, configuration client.Object, change func()) error {
	_, err := controllerutil.CreateOrUpdate(ctx, k.client, configuration, func() error {
		change()
		configuration.SetLabels(labels.Merge(configuration.GetLabels(), k.labels()))
		return nil
	})
	if err != nil {
		return fmt.Errorf("write %s %s: %w", kind, configuration.GetName(), err)
	}
	return nil
}

func (k *keeper) labels() map[string]string {
	return map[string]string{shared.LabelManagedBy: k.options.Settings.WithDefaults().ManagedBy}
}
