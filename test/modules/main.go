// Command modules pushes the modules of the demo and of the end-to-end tests:
// real operators, taken as they are published inside Go modules, and our sample
// module. It writes their ModuleTemplates and ModuleReleaseMetas into a folder.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/cmd/module/command"
	"github.com/kyma-project/lifecycle-manager/cmd/module/component"
	"github.com/kyma-project/lifecycle-manager/cmd/module/lint"
	"github.com/kyma-project/lifecycle-manager/cmd/module/ship"
)

type options struct {
	// here is the folder of this program, with the modules' configurations.
	here string
	// out is where the resources are written to.
	out       string
	only      []string
	overwrite bool
	request   ship.Request
	registry  component.Registry
}

func main() {
	// The module tool itself, for those who have no program of its own at hand: modules module push FOLDER ...
	if len(os.Args) > 1 && os.Args[1] == "module" {
		os.Exit(command.Execute(os.Args[2:], "", command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	os.Exit(run())
}

func run() (exitCode int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// That a registry on the loopback interface is spoken to without TLS is no news.
	component.LogErrorsOnly()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "modules: %v\n", err)
		return 1
	}
	return 0
}

func newCommand() *cobra.Command {
	var given options
	var descriptor string
	var passwordStdin bool
	cmd := &cobra.Command{
		Use:   "modules --registry HOST[:PORT][/SUBPATH] --out FOLDER",
		Short: "Push the modules of demo and tests, and write their resources",
		Long: `Push the modules of demo and tests to a registry, and write their ModuleTemplates
and ModuleReleaseMetas into a folder for kubectl apply -f FOLDER.

With go run -C, a relative folder is relative to this program's own.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given.request.Descriptor = ship.DescriptorForm(descriptor)
			if passwordStdin {
				password, err := io.ReadAll(cmd.InOrStdin())
				if err != nil {
					return fmt.Errorf("read password: %w", err)
				}
				given.registry.Password = strings.TrimRight(string(password), "\r\n")
			}
			return pushAll(cmd.Context(), given, cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&given.here, "source", ".", "folder of this program, with the modules' configurations")
	flags.StringVar(&given.out, "out", "", "folder for the resources")
	flags.StringSliceVar(&given.only, "only", nil, "push only these modules, such as sample or sample/1.0.0")
	flags.StringVar(&given.registry.Address, "registry", "", "registry and path in it: HOST[:PORT][/SUBPATH]")
	flags.BoolVar(&given.registry.PlainHTTP, "plain-http", false, "speak HTTP without TLS to the registry")
	flags.StringVar(&given.registry.Username, "username", "", "name to log in with")
	flags.BoolVar(&passwordStdin, "password-stdin", false, "read the password from standard input")
	flags.BoolVar(&given.overwrite, "overwrite", false, "replace versions that the registry has with other content")
	flags.StringVar(&descriptor, "descriptor", string(ship.DescriptorEmbedded), "embedded or none")
	for _, required := range []string{"out", "registry"} {
		if err := cmd.MarkFlagRequired(required); err != nil {
			panic(err) // a flag that was defined above
		}
	}
	cmd.AddCommand(newLintCommand())
	return cmd
}

// newLintCommand checks modules as `module lint` does. Most of them are complete only once they are assembled from the
// Go modules that their operators are published in.
func newLintCommand() *cobra.Command {
	var here, kubeVersion string
	cmd := &cobra.Command{
		Use:   "lint [MODULE...]",
		Short: "Check the modules without pushing them",
		RunE: func(cmd *cobra.Command, names []string) error {
			return lintAll(cmd.Context(), here, kubeVersion, names, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&here, "source", ".", "folder of this program, with the modules' configurations")
	cmd.Flags().StringVar(&kubeVersion, "kube-version", ship.DefaultKubeVersion, "version of Kubernetes to check for")
	return cmd
}

func lintAll(ctx context.Context, here, kubeVersion string, names []string, out io.Writer) (err error) {
	modules, err := chosen(catalog(), names)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "modules-*")
	if err != nil {
		return fmt.Errorf("make a folder to work in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	for _, module := range modules {
		folder, err := assemble(ctx, here, module, work)
		if err != nil {
			return err
		}
		_, report := lint.Check(folder, lint.Options{KubeVersion: kubeVersion}) //nolint:contextcheck // what is validated in memory takes no context
		for _, finding := range report.Findings {
			if _, err := fmt.Fprintln(out, finding); err != nil {
				return err
			}
		}
		if err := report.Err(); err != nil {
			return fmt.Errorf("module %s: %w", module.folder, err)
		}
		if _, err := fmt.Fprintf(out, "module %s: %d objects, no errors\n", module.folder, report.Objects); err != nil {
			return err
		}
	}
	return nil
}

// pushAll pushes the chosen modules one after the other. It may be repeated.
func pushAll(ctx context.Context, given options, progress io.Writer) (err error) {
	modules, err := chosen(catalog(), given.only)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "modules-*")
	if err != nil {
		return fmt.Errorf("make a folder to work in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := os.MkdirAll(given.out, 0o755); err != nil {
		return fmt.Errorf("make the folder for resources: %w", err)
	}
	for _, module := range modules {
		if err := ctx.Err(); err != nil {
			return err
		}
		started := time.Now()
		result, err := push(ctx, given, module, work)
		if err != nil {
			return err
		}
		action := "pushed"
		if !result.Written {
			action = "already there"
		}
		if _, err := fmt.Fprintf(progress, "%-55s %s (%s)\n", result.Version, action, time.Since(started).Round(time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}

func push(ctx context.Context, given options, module source, work string) (ship.Result, error) {
	folder, err := assemble(ctx, given.here, module, work)
	if err != nil {
		return ship.Result{}, err
	}
	request := given.request
	request.Path = folder
	result, err := ship.Push(request, given.registry, given.overwrite)
	if err != nil {
		for _, finding := range result.Report.Findings {
			err = errors.Join(err, errors.New(finding.String()))
		}
		return ship.Result{}, err
	}
	if err := write(filepath.Join(given.out, "moduletemplate-"+result.Template.Name+".yaml"), result.Template); err != nil {
		return ship.Result{}, err
	}
	if result.Release != nil {
		// One for all versions of the module: the last one pushed counts.
		if err := write(filepath.Join(given.out, "modulereleasemeta-"+result.Release.Name+".yaml"), result.Release); err != nil {
			return ship.Result{}, err
		}
	}
	return result, nil
}

func write(path string, resource any) error {
	text, err := yaml.Marshal(resource)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
