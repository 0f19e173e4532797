package forecast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
)

// CommandName is the name of the command.
const CommandName = "plan"

// ErrWouldChange is no failure. The changes were printed.
var ErrWouldChange = errors.New("something would change")

// Program is what the command shares with `lifecycle-manager run`.
type Program struct {
	Flags cli.Groups
	// Read applies the flags that were given.
	Read func(*pflag.FlagSet) error
	// ErrUsage is wrapped by errors of the command line.
	ErrUsage error
	// Scheme returns a scheme with the kinds of the catalog.
	Scheme func() (*runtime.Scheme, error)
	// Connect connects to the control plane of a kubeconfig context. It fills in all Options except Present and
	// Applied, and fills in Render only if objects is true. It writes messages for the caller to says.
	Connect func(ctx context.Context, says io.Writer, kubeContext string, objects bool) (live client.Reader, namespaces []string, o Options, err error)
}

// Output formats of the command.
const (
	outputText = "text"
	outputJSON = "json"
)

// command holds the command's own flags.
type command struct {
	Program
	files               []string
	objects             bool
	kubeContext, output string
	timeout             time.Duration
}

// NewCommand returns the command `lifecycle-manager plan`.
func NewCommand(program Program) *cobra.Command {
	c := &command{Program: program}
	cmd := &cobra.Command{
		Use:   CommandName + " -f FILE...",
		Short: "Show what would change for the fleet if files were applied",
		Long: `Show what would change for the fleet if files with ModuleReleaseMetas, ModuleTemplates, RolloutPolicies or Kymas were applied.

The command reads all Kymas, Manifests and the catalog once. It plans for each Kyma with and without the files, using the
same functions as the running instance. Nothing is changed. The settings come from the record that the instance's leader
keeps in the control plane, so no flags are needed. Flags of lifecycle-manager run, and its configuration file, take
precedence over the record. The record does not contain the pods' files: give --maintenance-policy-path if the instance has
a maintenance policy, and --oci-registry-ca-file if its registry needs one. If a RolloutPolicy applies to a version, the
output lists the stages of its rollout. With --objects, the output also lists the objects and fields that differ between
the versions of a module, once for all Kymas, and the changes of CustomResourceDefinitions that could lose data.

Exit codes: 0 if nothing would change, 2 if something would change, and 1 if that could not be determined or the command
was used incorrectly.`,
		Example: `  lifecycle-manager plan -f release-meta.yaml
  lifecycle-manager plan -f catalog/ -o json
  lifecycle-manager plan -f release-meta.yaml --objects`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.check(cmd.Flags()); err != nil {
				return fmt.Errorf("%w: %w", c.ErrUsage, err)
			}
			return c.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	own := cli.Groups{}
	set := own.Add("Plan")
	set.StringSliceVarP(&c.files, "filename", "f", nil, "file or folder with the objects to apply, or - for standard input")
	set.BoolVar(&c.objects, "objects", false, "fetch and render the modules that change, and list the objects and fields that differ")
	set.StringVarP(&c.output, "output", "o", outputText, "text or json")
	set.StringVar(&c.kubeContext, "context", "", "context of the kubeconfig; default: its current one")
	set.DurationVar(&c.timeout, "timeout", 5*time.Minute, "timeout for the whole command")
	append(own, program.Flags...).AddTo(cmd)
	return cmd
}

func (c *command) check(set *pflag.FlagSet) error {
	if err := c.Read(set); err != nil {
		return err
	}
	if c.output != outputText && c.output != outputJSON {
		return fmt.Errorf("--output must be %s or %s, not %q", outputText, outputJSON, c.output)
	}
	if len(c.files) == 0 {
		return errors.New("--filename must be set")
	}
	return nil
}

func (c *command) run(ctx context.Context, in io.Reader, out, says io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	applied, err := c.readFiles(in)
	if err != nil {
		return err
	}
	live, namespaces, o, err := c.Connect(ctx, says, c.kubeContext, c.objects)
	if err != nil {
		return err
	}
	o.Applied = applied
	if o.Present, err = Read(ctx, live, namespaces); err != nil {
		return err
	}
	found, err := Make(ctx, o)
	if err != nil {
		return err
	}
	write := found.WriteText
	if c.output == outputJSON {
		write = found.WriteJSON
	}
	if err := write(out); err != nil {
		return err
	}
	if !found.IsEmpty() {
		return ErrWouldChange
	}
	return nil
}

func (c *command) readFiles(in io.Reader) ([]client.Object, error) {
	scheme, err := c.Scheme()
	if err != nil {
		return nil, err
	}
	files, err := filesOf(c.files)
	if err != nil {
		return nil, err
	}
	var all []client.Object
	for _, file := range files {
		content, err := contentOf(in, file)
		if err != nil {
			return nil, err
		}
		objects, err := Decode(scheme, content, shared.NamespaceControlPlane)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// contentOf returns the content of a file, or of standard input if its name is a dash.
func contentOf(in io.Reader, file string) ([]byte, error) {
	if file == stdin {
		return io.ReadAll(in)
	}
	return os.ReadFile(file) //nolint:gosec // the caller chooses the file
}
