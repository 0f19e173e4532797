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

// artifactOptions say how layers are fetched and charts rendered.
func artifactOptions(ctx context.Context, f *flags, secrets client.Reader) (artifacts.Options, error) {
	options := artifacts.Options{
		CacheDir: f.cacheDir, PlainHTTPHosts: f.plainHTTPHosts, PullsPerHost: f.registryPulls, Timeout: f.registryTimeout,
	}
	program, err := os.Executable()
	if err != nil {
		return options, fmt.Errorf("find the program that renders charts, which is this one: %w", err)
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

// allowedRegistries are those that layers may come from; nil where any is allowed.
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

// registrySecret is the Secret with the registry's credentials.
func registrySecret(f *flags) types.NamespacedName {
	if namespace, name, found := strings.Cut(f.registrySecret, "/"); found {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	return types.NamespacedName{Namespace: shared.NamespaceControlPlane, Name: f.registrySecret}
}

// authorities are the system's and those in the file.
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
		return nil, errors.New("it has no certificate in PEM format")
	}
	return pool, nil
}

// newRenderChartCommand is what `run` calls for each chart; it is not for people.
func newRenderChartCommand() *cobra.Command {
	return &cobra.Command{
		Use: renderChart, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return render.ServeRenderer(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
