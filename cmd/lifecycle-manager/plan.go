package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/signature"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/connection"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/flaggroups"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/forecast"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// planFlags are the flags of `lifecycle-manager plan` that `run` has not.
type planFlags struct {
	files           []string
	context, output string
	timeout         time.Duration
}

// planCommand is the name of the command.
const planCommand = "plan"

// errWouldChange is no failure: it makes the exit code.
var errWouldChange = errors.New("something would change")

func newPlanCommand() *cobra.Command {
	f, p := &flags{}, &planFlags{}
	cmd := &cobra.Command{
		Use:   planCommand + " -f FILE...",
		Short: "Say what would change for the fleet if files were applied",
		Long: `Say what would change for the fleet if files with ModuleReleaseMetas, ModuleTemplates, RolloutPolicies or Kymas were applied.

It takes the flags of lifecycle-manager run, or its file, reads all Kymas, Manifests and the catalog once, and plans for
each Kyma by the functions that plan for real, without and with the files. Nothing is changed. Of a version under a
RolloutPolicy it says through which stages it would go.

It exits with 0 where nothing would change, with 2 where something would, and with 1 where that cannot be said, also
because of wrong usage.`,
		Example: `  lifecycle-manager plan --config lifecycle-manager.yaml -f release-meta.yaml
  lifecycle-manager plan -f catalog/ -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.read(cmd.Flags()); err != nil {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
			if p.output != outputText && p.output != outputJSON {
				return fmt.Errorf("%w: --output must be %s or %s, not %q", errUsage, outputText, outputJSON, p.output)
			}
			if len(p.files) == 0 {
				return fmt.Errorf("%w: --filename is missing", errUsage)
			}
			return plan(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), f, p)
		},
	}
	own := flaggroups.Groups{}
	set := own.Add("Plan")
	set.StringSliceVarP(&p.files, "filename", "f", nil, "file with the objects to apply, or - for standard input")
	set.StringVarP(&p.output, "output", "o", outputText, "text or json")
	set.StringVar(&p.context, "context", "", "context of the kubeconfig; default: its current one")
	set.DurationVar(&p.timeout, "timeout", 5*time.Minute, "how long all may take")
	append(own, f.groups()...).AddTo(cmd)
	return cmd
}

func plan(ctx context.Context, in io.Reader, out io.Writer, f *flags, p *planFlags) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	options := forecast.Options{Settings: f.settings, Index: worker.Index}
	for _, file := range p.files {
		content, err := readFileOr(in, file)
		if err != nil {
			return err
		}
		objects, err := forecast.Decode(scheme, content, shared.NamespaceControlPlane)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		options.Applied = append(options.Applied, objects...)
	}
	config, err := connection.ControlPlane(f.kubeconfig, p.context)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = f.clientQPS, f.clientBurst
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make the control plane client: %w", err)
	}
	if options.Planner, err = plannerOptions(ctx, f, live); err != nil {
		return err
	}
	if options.Present, err = forecast.Read(ctx, live, f.settings.Namespaces); err != nil {
		return err
	}
	found, err := forecast.Make(ctx, options)
	if err != nil {
		return err
	}
	write := found.WriteText
	if p.output == outputJSON {
		write = found.WriteJSON
	}
	if err := write(out); err != nil {
		return err
	}
	if !found.IsEmpty() {
		return errWouldChange
	}
	return nil
}

// readFileOr reads a file, or what comes in where its name is a dash.
func readFileOr(in io.Reader, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(file) //nolint:gosec // whoever calls the command says which
}

// plannerOptions are what plans are made with in `run`, without what only those need that write.
func plannerOptions(ctx context.Context, f *flags, live client.Client) (resolve.Options, error) {
	policies, err := f.maintenance.source(nil, logr.Discard())
	if err != nil {
		return resolve.Options{}, err
	}
	options := resolve.Options{
		Limits: f.removals, Windows: resolve.PolicyWindows{Policies: policies, MinSize: f.maintenance.minSize, Now: time.Now},
	}
	artifactOptions, err := artifactOptions(ctx, f, live)
	if err != nil {
		return options, err
	}
	store, err := artifacts.New(artifactOptions)
	if err != nil {
		return options, fmt.Errorf("prepare the artifact store: %w", err)
	}
	options.Descriptors, options.Objects = store, store
	if options.Signatures, err = signature.New(signature.Options{Policy: signature.Policy(f.signaturePolicy), Keys: live}); err != nil {
		return options, fmt.Errorf("prepare the verification of signatures: %w", err)
	}
	return options, nil
}
