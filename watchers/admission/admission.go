// Package admission is the admission webhook. It refuses resources that could not be used when they are applied, rather
// than when they are reconciled. Add registers the webhook with a manager.
//
//	template.go       problems of a ModuleTemplate
//	rollout.go        problems of a RolloutPolicy and a ModuleRollout
//	releasemeta.go    warns about the effect of an edit of a ModuleReleaseMeta
//	kyma.go           warns about an edit of a Kyma without effect, and refuses an invalid deferral
//	approval.go       records who approves a stage of a ModuleRollout, and when
//	approvals.go      finds the new approvals in a request, and their problems
//	removalbudget.go  records who approves removals in a RemovalBudget, and when
//	approver.go       checks that a user may approve
//	answer.go         skips objects of others, and formats the problems of an object
//	configuration.go  the entries of the two webhook configurations
//	keeper.go         makes sure that the configurations exist
//	certificate.go    serves the certificate from memory; a library creates and rotates it
//
// Invariants:
//   - Only approvals depend on the webhook. Without it, or while it is down, the status of the Kymas reports the same
//     problems, because resolution uses the same functions (package descriptor).
//   - Approvals are accepted only with the webhook, because the webhook records who gave them. It ignores what a
//     request claims about that.
//   - Schemas check everything that a schema can express, so the webhook never refuses a ModuleReleaseMeta.
package admission

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Options configure where the webhook is served and how the API server reaches it.
type Options struct {
	// Settings are the instance's settings. The webhook validates only objects in the instance's namespaces, because
	// other namespaces may belong to another instance with other rules.
	Settings desired.Settings
	// BindAddress is host:port. An empty host means all addresses.
	BindAddress string
	// Service is the Service that leads to BindAddress, at port 443. The ValidatingWebhookConfiguration and the
	// MutatingWebhookConfiguration have its name, so that two instances do not share one.
	Service types.NamespacedName
	// URL is used instead of the Service if the process runs outside of the cluster's network. It must be https, with a
	// host name and without a path.
	URL string
	// Secret is the name of the Secret with the certificate, in the Service's namespace. It is created if it is
	// missing.
	Secret string
	// CertDir is a folder for the public part of the certificate. It must be writable.
	CertDir string
	// Serving, if set, is called with each certificate that the webhook begins to serve.
	Serving func(*x509.Certificate)
}

// Check returns an error if the options cannot work. It starts nothing.
func (o Options) Check() error {
	if _, _, err := o.listen(); err != nil {
		return err
	}
	for what, name := range map[string]string{"service": o.Service.Name, "namespace": o.Service.Namespace} {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return fmt.Errorf("the webhook's %s %q: %s", what, name, problems[0])
		}
	}
	if problems := validation.IsDNS1123Subdomain(o.Secret); len(problems) > 0 {
		return fmt.Errorf("the webhook's Secret %q: %s", o.Secret, problems[0])
	}
	if o.CertDir == "" {
		return errors.New("the webhook's certificate folder must be set")
	}
	_, err := o.host()
	return err
}

// host returns the name that the API server knows the webhook by. The certificate is for this name.
func (o Options) host() (string, error) {
	if o.URL == "" {
		return o.Service.Name + "." + o.Service.Namespace + ".svc", nil
	}
	parsed, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return "", fmt.Errorf("the webhook's URL: %w", err)
	case parsed.Scheme != "https" || parsed.Host == "":
		return "", fmt.Errorf("the webhook's URL %q must begin with https:// and a host", o.URL)
	case parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" || parsed.Path != "" && parsed.Path != "/":
		return "", fmt.Errorf("the webhook's URL %q must have only a host and a port", o.URL)
	case net.ParseIP(parsed.Hostname()) != nil:
		return "", fmt.Errorf("the webhook's URL %q must have a host name instead of an IP address, because the certificate is for a name", o.URL)
	}
	return parsed.Hostname(), nil
}

func (o Options) listen() (host string, port int, err error) {
	host, text, err := net.SplitHostPort(o.BindAddress)
	if err != nil {
		return "", 0, fmt.Errorf("the webhook's bind address: %w", err)
	}
	if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("the webhook's bind address %q has no port from 1 to 65535", o.BindAddress)
	}
	return host, port, nil
}

// Add lets the manager serve the webhook in every process, and maintain its configurations and certificate in the
// leader. Add creates the certificate's Secret if it is missing, so it needs the API server. The manager's cache must
// have the indexes of package desired, else there are no warnings about ModuleReleaseMetas.
func Add(ctx context.Context, mgr manager.Manager, options Options) error {
	if err := options.Check(); err != nil {
		return err
	}
	host, port, err := options.listen()
	if err != nil {
		return err
	}
	certificate := newCertificate(options)
	server := webhook.NewServer(webhook.Options{Host: host, Port: port, TLSOpts: certificate.tlsOptions()})
	server.Register(pathModuleTemplate, admission.WithValidator[*v1beta2.ModuleTemplate](mgr.GetScheme(), templates{settings: options.Settings}))
	server.Register(pathKyma, admission.WithValidator[*v1beta2.Kyma](mgr.GetScheme(), kymas{settings: options.Settings}))
	server.Register(pathReleaseMeta, admission.WithValidator[*v1beta2.ModuleReleaseMeta](mgr.GetScheme(), releaseMetas{
		settings: options.Settings.WithDefaults(), cached: mgr.GetCache(),
	}))
	server.Register(pathRolloutPolicy, admission.WithValidator[*v1beta2.RolloutPolicy](mgr.GetScheme(), policies{settings: options.Settings}))
	server.Register(pathModuleRollout, admission.WithValidator[*v1beta2.ModuleRollout](mgr.GetScheme(), rollouts{settings: options.Settings}))
	judge := approver{
		settings: options.Settings, decoder: admission.NewDecoder(mgr.GetScheme()), now: time.Now,
		review: func(ctx context.Context, review *authorizationv1.SubjectAccessReview) error {
			return mgr.GetClient().Create(ctx, review)
		},
	}
	server.Register(pathApproval, admission.WithDefaulter[*unstructured.Unstructured](mgr.GetScheme(), approvals{judge}))
	server.Register(pathRemovalApproval, admission.WithDefaulter[*unstructured.Unstructured](mgr.GetScheme(), removalApprovals{judge}))
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("add the webhook's server: %w", err)
	}
	keeper, err := newKeeper(mgr, options)
	if err != nil {
		return err
	}
	if err := keeper.ensureSecret(ctx); err != nil {
		return err
	}
	if err := mgr.Add(keeper); err != nil {
		return fmt.Errorf("add the webhook's configuration: %w", err)
	}
	return certificate.add(mgr)
}
