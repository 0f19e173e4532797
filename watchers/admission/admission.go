// Package admission refuses resources that could not be used, when they are applied rather than when they are
// reconciled.
//
//	template.go       what is wrong with a ModuleTemplate
//	rollout.go        what is wrong with a RolloutPolicy and a ModuleRollout
//	releasemeta.go    a warning of what an edit of a ModuleReleaseMeta would do
//	kyma.go           a warning where an edit of a Kyma has no effect
//	approval.go       who approves a stage of a ModuleRollout, and when
//	approvals.go      which approvals of a request are new, and what is wrong with them
//	removalbudget.go  who approves removals in a RemovalBudget, and when
//	approver.go       whether somebody may approve
//	answer.go         what is not ours to judge, and how problems are answered
//	configuration.go  the entries of the configurations, which are ours
//	keeper.go         makes sure that the configurations exist
//	certificate.go    the certificate: made and rotated by a library, served from memory
//
// Nothing but approvals relies on it: without the webhook, or while it is down, the same checks speak in the status of
// the Kymas, for resolution makes them with the same functions (package descriptor). What a schema can say is said by
// the schemas, so ModuleReleaseMetas are never refused here. Approvals are only accepted with the webhook, which says who
// gave them: what a request says of that is worth nothing.
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

// Options say where the webhook is served and how the API server reaches it.
type Options struct {
	// Settings are the instance's. Only what is in its namespaces is validated: what is in others may be another
	// instance's, with other rules.
	Settings desired.Settings
	// BindAddress is host:port; an empty host is all addresses.
	BindAddress string
	// Service is the Service that leads to BindAddress, at port 443. The ValidatingWebhookConfiguration and the
	// MutatingWebhookConfiguration have its name, so that two instances do not share one.
	Service types.NamespacedName
	// URL is where the API server reaches the webhook instead: https, with a host name, without path. For a
	// control plane that runs outside of a cluster's network.
	URL string
	// Secret holds the certificate; it is created where it is missing, in the Service's namespace.
	Secret string
	// CertDir is a folder for the public part of the certificate; it must be writable.
	CertDir string
	// Serving, where set, is told of each certificate that is served from then on.
	Serving func(*x509.Certificate)
}

// Check says what cannot work, before anything is started.
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
		return errors.New("the webhook needs a folder for its certificate")
	}
	_, err := o.host()
	return err
}

// host is the name under which the API server knows the webhook, and that the certificate is for.
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
		return "", fmt.Errorf("the webhook's URL %q must have nothing but a host and a port", o.URL)
	case net.ParseIP(parsed.Hostname()) != nil:
		return "", fmt.Errorf("the webhook's URL %q must have a host name and no address, for its certificate is for a name", o.URL)
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

// Add makes the manager serve the webhook in every process, and keep its configurations and its certificate in the
// one that leads. It creates the certificate's Secret where it is missing, so it talks to the API server. The manager's
// cache must have the indexes of package desired, or nothing is said of ModuleReleaseMetas.
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
