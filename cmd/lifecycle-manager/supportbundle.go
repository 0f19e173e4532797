package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	temporal "go.temporal.io/sdk/client"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/bundle"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/preflight"
)

// bundleFlags are the flags of `lifecycle-manager support-bundle` that `run` has not.
type bundleFlags struct {
	context, output, pods string
	metrics, logs         []string
	timeout               time.Duration
}

func newSupportBundleCommand() *cobra.Command {
	f, b := &flags{}, &bundleFlags{}
	cmd := &cobra.Command{
		Use:   "support-bundle",
		Short: "Write an archive for somebody who is to find out what is wrong",
		Long: `Write an archive for somebody who is to find out what is wrong: resources, workflows, the last histories, logs and
metrics. It has no Secret's content: those of the instance are read only to search everything else for them, and what
has the form of a credential is taken out as well. See for yourself before you pass it on.

It goes by the settings that the instance has recorded in the control plane. A flag of lifecycle-manager run that is given,
or its file, goes before them. Nothing is changed. What cannot be read is missing, and manifest.json says why.`,
		Example: `  lifecycle-manager support-bundle -o bundle.tar.gz`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.read(cmd.Flags()); err != nil {
				return fmt.Errorf("%w: %w", cli.ErrUsage, err)
			}
			if b.output == "" {
				return fmt.Errorf("%w: --output must name a file", cli.ErrUsage)
			}
			return writeBundle(cmd.Context(), cmd.ErrOrStderr(), f, b)
		},
	}
	own := cli.Groups{}
	set := own.Add("Support bundle")
	set.StringVarP(&b.output, "output", "o", "", "file to write, a .tar.gz")
	set.StringVar(&b.context, "context", "", "context of the kubeconfig; default: its current one")
	set.StringVar(&b.pods, "pod-selector", "app.kubernetes.io/name=lifecycle-manager", "labels of the instance's Deployments and pods, in the namespace of its lease")
	set.StringSliceVar(&b.metrics, "metrics-address", nil, "addresses (host:port) to take metrics from, for processes that are no pods")
	set.StringSliceVar(&b.logs, "log-file", nil, "files with logs, for processes that are no pods")
	set.DurationVar(&b.timeout, "timeout", 5*time.Minute, "how long all may take")
	append(own, f.groups()...).AddTo(cmd)
	return cmd
}

func writeBundle(ctx context.Context, says io.Writer, f *flags, b *bundleFlags) (err error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	sources, err := bundleSources(ctx, f, b)
	if err != nil {
		return err
	}
	// Whoever finds the file finds a whole one.
	file, err := os.CreateTemp(filepath.Dir(b.output), ".support-bundle-*")
	if err != nil {
		return fmt.Errorf("make the archive: %w", err)
	}
	defer func() { err = errors.Join(err, ignoreMissing(os.Remove(file.Name()))) }()
	if err := errors.Join(bundle.Write(ctx, file, sources), file.Close()); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	if err := os.Rename(file.Name(), b.output); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	_, err = fmt.Fprintf(says, "%s is written; see what is in it before you pass it on\n", b.output)
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func bundleSources(ctx context.Context, f *flags, b *bundleFlags) (bundle.Sources, error) {
	s := bundle.Sources{
		Metrics: b.metrics, Logs: b.logs,
		Version: thisBuild().String(), Now: time.Now(), Limits: bundle.DefaultLimits(), Environment: os.Environ(),
	}
	selected, err := labels.ConvertSelectorToLabelsMap(b.pods)
	if err != nil {
		return s, fmt.Errorf("%w: --pod-selector: %w", cli.ErrUsage, err)
	}
	s.PodLabels = client.MatchingLabels(selected)
	config, err := cli.ControlPlane(f.kubeconfig, b.context)
	if err != nil {
		return s, err
	}
	config.Timeout = cli.ConnectTimeout
	checked, err := sourcesOf(ctx, f, config)
	if err != nil {
		return s, err
	}
	s.Settings = recordOf(f)
	s.Namespaces, s.Release = accessNamespaces(f), s.Settings.Namespace
	s.ControlPlane = checked.ControlPlane
	s.Check = preflight.NewReport(preflight.Judge(preflight.Collect(ctx, checked)))
	if s.Core, err = kubernetes.NewForConfig(config); err != nil {
		return s, fmt.Errorf("make the client for logs: %w", err)
	}
	options, err := cli.TemporalOptions()
	if err != nil {
		return s, err
	}
	s.Temporal = func(ctx context.Context) (bundle.Workflows, error) { return temporal.DialContext(ctx, options) }
	s.InjectingModules = f.settings.InjectingModules
	if f.registrySecret != "" {
		s.Secrets = append(s.Secrets, registrySecret(f))
	}
	if f.webhook.enabled {
		s.Secrets = append(s.Secrets, types.NamespacedName{Namespace: f.webhook.options(f.settings).Service.Namespace, Name: f.webhook.secret})
	}
	if f.settings.ImagePullSecret != "" {
		s.Secrets = append(s.Secrets, types.NamespacedName{Namespace: shared.NamespaceControlPlane, Name: f.settings.ImagePullSecret})
	}
	return s, nil
}
