package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

const (
	// renderChart is the hidden command that renders charts in a process of its own.
	renderChart = "render-chart"
	// credentialsFor is how long the registry's credentials are used before they are read again.
	credentialsFor = time.Minute
)

// registryFlags say where components come from.
type registryFlags struct {
	registryHost, registrySubpath string
	// registrySecret names the Secret with the registry's credentials, as name or namespace/name.
	registrySecret                    string
	registryCAFile                    string
	plainHTTPHosts, allowedRegistries []string
	registryPulls                     int
	registryTimeout                   time.Duration
	cacheDir                          string
}

func (f *registryFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.registryHost, "oci-registry-host", "", "registry of the components: of their descriptors if a ModuleTemplate embeds none, and of their layers even if an embedded descriptor names another repository; default: the registry of --oci-registry-cred-secret")
	set.StringVar(&f.registrySubpath, "modules-repository-subpath", "", "path below the registry")
	set.StringVar(&f.registrySecret, "oci-registry-cred-secret", "", "dockerconfigjson Secret with the registry's credentials, as name or namespace/name (default namespace kcp-system). They are read again every minute, and when the registry refuses them. Without --oci-registry-host, the only entry of the Secret is the registry, read at the start; http:// before it means no TLS")
	set.StringVar(&f.registryCAFile, "oci-registry-ca-file", "", "PEM file with certificate authorities to trust for registries, besides the system's")
	set.IntVar(&f.registryPulls, "oci-registry-pulls", 8, "concurrent requests to one registry")
	set.DurationVar(&f.registryTimeout, "oci-registry-timeout", time.Minute, "how long fetching one layer or descriptor may take, with all retries")
	set.StringSliceVar(&f.plainHTTPHosts, "oci-registry-plain-http", nil, "registry hosts (host:port) to use without TLS")
	set.StringSliceVar(&f.allowedRegistries, "oci-registry-allowed", nil, "registries (host or host:port) that layers may come from, besides those of --oci-registry-host and --remote-template-registries; default: any")
	set.StringVar(&f.cacheDir, "artifact-cache-dir", "", "folder for layers, safe to share between processes; default: memory only")
}

func (f *registryFlags) check() error {
	if f.registryPulls < 1 || f.registryTimeout < time.Second {
		return errors.New("--oci-registry-pulls must be at least 1, and --oci-registry-timeout at least 1s")
	}
	if f.registryHost == "" && f.registrySecret == "" && f.registrySubpath != "" {
		return errors.New("--modules-repository-subpath needs a registry: set --oci-registry-host or --oci-registry-cred-secret")
	}
	return nil
}

// artifactOptions returns how layers are fetched and charts are rendered.
func artifactOptions(ctx context.Context, f *flags, secrets client.Reader) (artifacts.Options, error) {
	options := artifacts.Options{
		CacheDir: f.cacheDir, PlainHTTPHosts: f.plainHTTPHosts, PullsPerHost: f.registryPulls, Timeout: f.registryTimeout,
	}
	program, err := os.Executable()
	if err != nil {
		return options, fmt.Errorf("find this program, which also renders charts: %w", err)
	}
	options.Renderer = []string{program, renderChart}
	if f.registryCAFile != "" {
		if options.RootCAs, err = authorities(f.registryCAFile); err != nil {
			return options, fmt.Errorf("--oci-registry-ca-file: %w", err)
		}
	}
	if options.Registries, err = allowedRegistries(f); err != nil {
		return options, err
	}
	if f.registrySecret == "" {
		return options, nil
	}
	key := registrySecret(f)
	options.Keychain, err = artifacts.NewRotatingKeychain(ctx, credentialsFor, time.Now, func(ctx context.Context) ([]byte, error) {
		var secret corev1.Secret
		if err := secrets.Get(ctx, key, &secret); err != nil {
			return nil, err
		}
		return secret.Data[corev1.DockerConfigJsonKey], nil
	})
	if err != nil {
		return options, fmt.Errorf("--oci-registry-cred-secret %s: %w", key, err)
	}
	return options, nil
}

// allowedRegistries returns the registries that layers may come from, nil if all are allowed.
func allowedRegistries(f *flags) (artifacts.Registries, error) {
	if len(f.allowedRegistries) == 0 {
		return nil, nil
	}
	hosts := slices.Concat(f.allowedRegistries, f.remoteTemplateRegistries)
	if host, _, _ := strings.Cut(f.registryHost, "/"); host != "" {
		hosts = append(hosts, host)
	}
	allowed, err := artifacts.NewRegistries(hosts)
	if err != nil {
		return nil, fmt.Errorf("--oci-registry-allowed: %w", err)
	}
	return allowed, nil
}

// registrySecret returns the name of the Secret with the registry's credentials.
func registrySecret(f *flags) types.NamespacedName {
	if namespace, name, found := strings.Cut(f.registrySecret, "/"); found {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	return types.NamespacedName{Namespace: shared.NamespaceControlPlane, Name: f.registrySecret}
}

// authorities returns the certificate authorities of the system and of the file.
func authorities(file string) (*x509.CertPool, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(content) {
		return nil, errors.New("the file has no certificate in PEM format")
	}
	return pool, nil
}

// newRenderChartCommand returns the command that `run` starts for each chart. It is not for people.
func newRenderChartCommand() *cobra.Command {
	return &cobra.Command{
		Use: renderChart, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return render.ServeRenderer(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
