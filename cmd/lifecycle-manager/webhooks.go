package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/watchers/admission"
)

// webhookFlags are the flags of the admission webhook.
type webhookFlags struct {
	enabled                           bool
	bindAddress, url, service, secret string
	certDir                           string

	// serving is the certificate that it serves with.
	serving atomic.Pointer[x509.Certificate]
}

func (f *webhookFlags) register(set *pflag.FlagSet) {
	set.BoolVar(&f.enabled, "enable-webhooks", false, "refuse ModuleTemplates and rollouts that could not be used when they are applied, and say who approves a rollout; without it the same errors are shown in the status of the Kymas, and rollouts accept no approvals")
	set.StringVar(&f.bindAddress, "webhook-bind-address", ":9443", "address of the admission webhook")
	set.StringVar(&f.service, "webhook-service-name", "lifecycle-manager-webhook", "Service that leads to the webhook at port 443, as name or namespace/name (default namespace kcp-system); the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration have its name")
	set.StringVar(&f.url, "webhook-url", "", "where the API server reaches the webhook instead of the Service, e.g. https://localhost:9443; it needs a host name")
	set.StringVar(&f.secret, "webhook-secret-name", "lifecycle-manager-webhook-tls", "Secret in the Service's namespace that the webhook's certificate is kept in; it is made and renewed here")
	set.StringVar(&f.certDir, "webhook-cert-dir", "", "writable folder for the public part of the webhook's certificate; default: below the folder for temporary files")
}

// check refuses what cannot work, before anything is started.
func (f *webhookFlags) check() error {
	if !f.enabled {
		return nil
	}
	if err := f.options(desired.Settings{}).Check(); err != nil {
		return fmt.Errorf("--webhook-*: %w", err)
	}
	return nil
}

func (f *webhookFlags) options(settings desired.Settings) admission.Options {
	service := types.NamespacedName{Namespace: shared.NamespaceControlPlane, Name: f.service}
	if namespace, name, found := strings.Cut(f.service, "/"); found {
		service = types.NamespacedName{Namespace: namespace, Name: name}
	}
	certDir := f.certDir
	if certDir == "" {
		certDir = filepath.Join(os.TempDir(), service.Name)
	}
	return admission.Options{
		Settings: settings, BindAddress: f.bindAddress, Service: service, URL: f.url, Secret: f.secret, CertDir: certDir, Serving: f.serving.Store,
	}
}

// noApprovals says why rollouts accept no approvals; empty where they do.
func (f *webhookFlags) noApprovals() string {
	if f.enabled {
		return ""
	}
	return "the admission webhook, which says who approves, is off (--enable-webhooks)"
}

// add adds the webhook to a process that watches, where it is switched on.
func (f *webhookFlags) add(ctx context.Context, mgr manager.Manager, settings desired.Settings) error {
	if !f.enabled {
		return nil
	}
	if err := admission.Add(ctx, mgr, f.options(settings)); err != nil {
		return fmt.Errorf("add the admission webhook: %w", err)
	}
	return nil
}
