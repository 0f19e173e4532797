package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/preflight"
	"github.com/kyma-project/lifecycle-manager/deploy/rights"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/worker/deployment"
)

// checkFlags are the flags of `lifecycle-manager check` that `run` has not.
type checkFlags struct {
	context, as, output string
	timeout             time.Duration
}

// outputText is an output of `lifecycle-manager check`, beside JSON.
const outputText = "text"

var errChecksFailed = errors.New("what failed above would keep Lifecycle Manager from working")

func newCheckCommand() *cobra.Command {
	f, c := &flags{}, &checkFlags{}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check whether everything is there that Lifecycle Manager needs",
		Long: `Check whether everything is there that Lifecycle Manager needs, before and after it is installed.

It checks for a process with the settings of the instance, which its leader records in the control plane, and with the flags
of lifecycle-manager run that are given, or its file: the API server and the rights there, the CustomResourceDefinitions,
Temporal, the registry, each access Secret, and the clock. Before the first start there is no record, so give it the flags
that the pods will have. Nothing is changed. Rights are those of the account that asks; --as asks for another one.

It exits with 0 where nothing failed, and with 1 otherwise.`,
		Example: `  lifecycle-manager check --config lifecycle-manager.yaml
  lifecycle-manager check --as system:serviceaccount:kcp-system:lifecycle-manager -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.read(cmd.Flags()); err != nil {
				return fmt.Errorf("%w: %w", cli.ErrUsage, err)
			}
			if c.output != outputText && c.output != outputJSON {
				return fmt.Errorf("%w: --output must be %s or %s, not %q", cli.ErrUsage, outputText, outputJSON, c.output)
			}
			return check(cmd.Context(), cmd.OutOrStdout(), f, c)
		},
	}
	own := cli.Groups{}
	set := own.Add("Check")
	set.StringVarP(&c.output, "output", "o", outputText, "text or json")
	set.StringVar(&c.context, "context", "", "context of the kubeconfig; default: its current one")
	set.StringVar(&c.as, "as", "", "account in the control plane to ask as, such as system:serviceaccount:NAMESPACE:NAME")
	set.DurationVar(&c.timeout, "timeout", 2*time.Minute, "how long all may take")
	append(own, f.groups()...).AddTo(cmd)
	return cmd
}

func check(ctx context.Context, out io.Writer, f *flags, c *checkFlags) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	config, err := cli.ControlPlane(f.kubeconfig, c.context)
	if err != nil {
		return err
	}
	config.Timeout, config.QPS, config.Burst = cli.ConnectTimeout, f.clientQPS, f.clientBurst
	config.Impersonate.UserName = c.as
	sources, err := sourcesOf(ctx, f, config)
	if err != nil {
		return err
	}
	report := preflight.NewReport(preflight.Judge(preflight.Collect(ctx, sources)))
	write := report.WriteText
	if c.output == outputJSON {
		write = report.WriteJSON
	}
	if err := write(out); err != nil {
		return err
	}
	if !report.OK {
		return errChecksFailed
	}
	return nil
}

// sourcesOf are what is asked about a process with these flags, and with what the instance has recorded of the others.
func sourcesOf(ctx context.Context, f *flags, config *rest.Config) (preflight.Sources, error) {
	clock := &preflight.ServerClock{}
	config.Wrap(clock.Follow)
	s := preflight.Sources{ServerTime: clock.Last, Now: time.Now}
	scheme, err := cli.NewScheme()
	if err != nil {
		return s, err
	}
	if s.ControlPlane, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return s, fmt.Errorf("make the control plane client: %w", err)
	}
	if s.Discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		return s, fmt.Errorf("make the discovery client: %w", err)
	}
	record, err := f.takeRecorded(ctx, s.ControlPlane)
	s.Settings.Err = err
	if record != nil {
		s.Settings.Record = client.ObjectKeyFromObject(record).String()
	}
	s.Instance, s.Release = f.settings.WithDefaults().ManagedBy, releaseOf(f)
	instance, namespaces := rightsOf(f)
	if s.Rights, err = rights.Of(instance); err != nil {
		return s, err
	}
	for i := range s.Rights {
		if s.Rights[i].When == rights.RegistrySecret {
			s.Rights[i].Scope = scopeRegistry
		}
	}
	s.Namespaces, s.Kinds = namespaces, f.watching.NeededKinds()
	s.AccessNamespaces = accessNamespaces(f)
	s.Clusters, err = clusters.New(clusters.Options{
		ControlPlane: config, Scheme: scheme, AccessSecretNamespace: f.settings.AccessSecretNamespace, Allow: f.access.allowed(),
	})
	if err != nil {
		return s, err
	}
	if f.registryHost != "" || f.registrySecret != "" {
		s.Registry = func(ctx context.Context) preflight.RegistryFacts {
			if err := f.takeRegistry(ctx, s.ControlPlane); err != nil {
				return preflight.RegistryFacts{Credentials: f.registrySecret, Err: err}
			}
			options, err := artifactOptions(ctx, f, s.ControlPlane)
			if err != nil {
				return preflight.RegistryFacts{Host: f.registryHost, Credentials: f.registrySecret, Err: err}
			}
			return preflight.AskRegistry(ctx, f.registryHost, options, f.registrySecret)
		}
	}
	options, err := cli.TemporalOptions()
	if err != nil {
		return s, err
	}
	s.Address, s.Temporal = options.HostPort, options.Namespace
	s.Dial = func(ctx context.Context) (preflight.TemporalServer, error) {
		return cli.ConnectTemporal(ctx, options)
	}
	return s, nil
}

// dialDeployment connects to Temporal for commands about the worker deployment.
func dialDeployment(ctx context.Context) (deployment.Deployment, func(), error) {
	connected, namespace, err := cli.DialTemporal(ctx)
	if err != nil {
		return deployment.Deployment{}, nil, err
	}
	return workerDeployment(connected, namespace), connected.Close, nil
}

// accessNamespaces are those that access Secrets may be in; none are all.
func accessNamespaces(f *flags) []string {
	if len(f.settings.Namespaces) == 0 || f.settings.AccessSecretNamespace == "" {
		return f.settings.Namespaces
	}
	return append(f.settings.Namespaces[:len(f.settings.Namespaces):len(f.settings.Namespaces)], f.settings.AccessSecretNamespace)
}

// scopeRegistry is that of the Secret for the registry, which may be anywhere.
const scopeRegistry = "registry"

// rightsOf is what the rights of a process with these flags depend on, and where their scopes are.
func rightsOf(f *flags) (rights.Instance, map[string][]string) {
	record := recordOf(f)
	instance := rights.Instance{
		Roles: []string{rights.Watchers, rights.Workers},
		Names: map[string]string{
			"settings": record.Name, "lease": agreement.LeaseName(f.settings.ManagedBy), "webhook": f.webhook.options(f.settings).Service.Name, "webhookSecret": f.webhook.secret,
			"imagePullSecret": f.settings.ImagePullSecret, "registrySecret": registrySecret(f).Name,
		},
	}
	switch f.role {
	case roleWatchers:
		instance.Roles = []string{rights.Watchers}
	case roleWorkers:
		instance.Roles = []string{rights.Workers}
	}
	everywhere := []string{""}
	namespaces := map[string][]string{
		rights.ScopeCluster: everywhere, rights.ScopeNamespaces: f.settings.Namespaces,
		rights.ScopeRelease: {record.Namespace}, rights.ScopeKeys: {shared.NamespaceControlPlane},
		rights.ScopeIstio: {f.settings.Watching.IstioNamespace}, scopeRegistry: {registrySecret(f).Namespace},
	}
	if len(f.settings.Namespaces) == 0 {
		namespaces[rights.ScopeNamespaces] = everywhere
	} else if f.settings.AccessSecretNamespace != "" {
		namespaces[rights.ScopeAccessSecrets] = []string{f.settings.AccessSecretNamespace}
	}
	for feature, on := range map[string]bool{
		rights.Webhook: f.webhook.enabled, rights.MetricsSecure: f.metricsSecure, rights.ImagePullSecret: f.settings.ImagePullSecret != "",
		rights.InjectedSecrets: len(f.settings.InjectingModules) > 0,
		rights.Signatures:      f.signaturePolicy != "ignore", rights.RegistrySecret: f.registrySecret != "",
	} {
		if on {
			instance.Features = append(instance.Features, feature)
		}
	}
	instance.Features = append(instance.Features, f.watching.Features()...)
	return instance, namespaces
}
