package admission

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// rotatorOwner is the field owner of the CA in the configurations.
const rotatorOwner = fieldOwner + "-certificate"

// errNoCertificate ends handshakes before the certificate exists. The API server then continues without the webhook,
// except for approvals.
var errNoCertificate = errors.New("the webhook has no certificate yet")

// certificate is the webhook's certificate. In the leader, a library creates it, stores it in a Secret and renews it.
// Every process serves the certificate from the Secret.
type certificate struct {
	options Options
	serving atomic.Pointer[tls.Certificate]
}

func newCertificate(options Options) *certificate { return &certificate{options: options} }

// tlsOptions serve the certificate from memory, so that no key is written to disk, and none is read before it exists.
func (c *certificate) tlsOptions() []func(*tls.Config) {
	return []func(*tls.Config){func(config *tls.Config) {
		config.MinVersion = tls.VersionTLS12
		config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if serving := c.serving.Load(); serving != nil {
				return serving, nil
			}
			return nil, errNoCertificate
		}
	}}
}

// add lets the manager rotate and watch the certificate.
func (c *certificate) add(mgr manager.Manager) error {
	host, err := c.options.host()
	if err != nil {
		return err
	}
	// Fail now, because the library ends the process if nothing arrives in the folder.
	if err := os.MkdirAll(c.options.CertDir, 0o755); err != nil { //nolint:gosec // it has only what is public
		return fmt.Errorf("create the webhook's certificate folder: %w", err)
	}
	secret := types.NamespacedName{Namespace: c.options.Service.Namespace, Name: c.options.Secret}
	err = rotator.AddRotator(narrowed{mgr, narrow(mgr.GetConfig(), secret, c.options.Service.Name)}, &rotator.CertRotator{
		SecretKey:      secret,
		CertDir:        c.options.CertDir,
		CAName:         "lifecycle-manager-webhook-ca",
		CAOrganization: "lifecycle-manager",
		// The library renews a certificate that is not for this name, so the certificate follows a change of the flags.
		DNSName: host,
		IsReady: make(chan struct{}),
		Webhooks: []rotator.WebhookInfo{
			{Name: c.options.Service.Name, Type: rotator.Validating},
			{Name: c.options.Service.Name, Type: rotator.Mutating},
		},
		FieldOwner:            rotatorOwner,
		RequireLeaderElection: true,
		ControllerName:        c.options.Service.Name + "-certificate",
	})
	if err != nil {
		return fmt.Errorf("add the rotation of the webhook's certificate: %w", err)
	}
	watched, err := cache.New(mgr.GetConfig(), cache.Options{
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
		ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: {
			Namespaces: map[string]cache.Config{secret.Namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", secret.Name)}},
		}},
	})
	if err != nil {
		return fmt.Errorf("watch the webhook's certificate: %w", err)
	}
	return mgr.Add(everywhere(func(ctx context.Context) error {
		return c.follow(ctx, watched, mgr)
	}))
}

// follow serves the certificate in the Secret, until the context ends.
func (c *certificate) follow(ctx context.Context, watched cache.Cache, mgr manager.Manager) error {
	informer, err := watched.GetInformer(ctx, &corev1.Secret{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch the webhook's certificate: %w", err)
	}
	log := mgr.GetLogger().WithName("admission")
	take := func(object any) {
		secret, ok := object.(*corev1.Secret)
		if !ok || len(secret.Data[corev1.TLSCertKey]) == 0 {
			return // not created yet
		}
		if err := c.take(secret); err != nil {
			log.Error(err, "use the webhook's certificate")
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: take, UpdateFunc: func(_, object any) { take(object) },
	})
	if err != nil {
		return fmt.Errorf("watch the webhook's certificate: %w", err)
	}
	return watched.Start(ctx)
}

// take serves the Secret's certificate from now on. It also writes the public part to a folder, because the library
// waits for a file there, as from a mounted Secret.
func (c *certificate) take(secret *corev1.Secret) error {
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return fmt.Errorf("read Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	c.serving.Store(&pair)
	if c.options.Serving != nil {
		c.options.Serving(pair.Leaf)
	}
	if err := os.WriteFile(filepath.Join(c.options.CertDir, corev1.TLSCertKey), secret.Data[corev1.TLSCertKey], 0o644); err != nil { //nolint:gosec // the public part
		return fmt.Errorf("write the webhook's public certificate: %w", err)
	}
	return nil
}

// everywhere runs a function in every process, with or without leadership.
type everywhere func(context.Context) error

// Start runs the function.
func (f everywhere) Start(ctx context.Context) error { return f(ctx) }

// NeedLeaderElection returns false.
func (f everywhere) NeedLeaderElection() bool { return false }

// narrowed is a manager with a client configuration that reads only one Secret and the webhook's configurations. The
// library would otherwise cache all of them, and the Secret's namespace may hold the access Secrets of the whole fleet.
// This process also should not need the right to read these.
type narrowed struct {
	manager.Manager
	config *rest.Config
}

// GetConfig returns the narrowed configuration.
func (n narrowed) GetConfig() *rest.Config { return n.config }

func narrow(config *rest.Config, secret types.NamespacedName, configuration string) *rest.Config {
	only := map[string]string{
		"/api/v1/namespaces/" + secret.Namespace + "/secrets":                   secret.Name,
		"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": configuration,
		"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations":   configuration,
	}
	narrow := rest.CopyConfig(config)
	narrow.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return selecting{next: next, only: only}
	})
	return narrow
}

// selecting adds a field selector to LISTs and WATCHes.
type selecting struct {
	next http.RoundTripper
	// only holds the one name to read, by path.
	only map[string]string
}

// RoundTrip sends the request, narrowed.
func (s selecting) RoundTrip(request *http.Request) (*http.Response, error) {
	if name := s.only[request.URL.Path]; name != "" && request.Method == http.MethodGet {
		request = request.Clone(request.Context())
		query := request.URL.Query()
		query.Set("fieldSelector", fields.OneTermEqualSelector("metadata.name", name).String())
		request.URL.RawQuery = query.Encode()
	}
	return s.next.RoundTrip(request)
}
