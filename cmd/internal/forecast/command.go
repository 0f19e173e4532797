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

// ErrWouldChange is no failure: what would change is printed.
var ErrWouldChange = errors.New("something would change")

// Program is what the command shares with `lifecycle-manager run`.
type Program struct {
	Flags cli.Groups
	// Read takes over what was given.
	Read func(*pflag.FlagSet) error
	// ErrUsage is wrapped by what is wrong with the command line.
	ErrUsage error
	// Scheme has the kinds of the catalog.
	Scheme func() (*runtime.Scheme, error)
	// Connect connects to the control plane of a context of the kubeconfig. Of the Options, it fills in all but Present and
	// Applied.
	// With objects, Render is filled in too.
	// What the caller should know goes to says.
	Connect func(ctx context.Context, says io.Writer, kubeContext string, objects bool) (live client.Reader, namespaces []string, o Options, err error)
}

// Outputs of the command.
const (
	outputText = "text"
	outputJSON = "json"
)

// command is what the command was given besides the flags of `run`.
type command struct {
	Program
	files               []string
	objects             bool
	kubeContext, output string
	timeout             time.Duration
}

// NewCommand is `lifecycle-manager plan`.
func NewCommand(program Program) *cobra.Command {
	c := &command{Program: program}
	cmd := &cobra.Command{
		Use:   CommandName + " -f FILE...",
		Short: "Say what would change for the fleet if files were applied",
		Long: `Say what would change for the fleet if files with ModuleReleaseMetas, ModuleTemplates, RolloutPolicies or Kymas were applied.

It reads all Kymas, Manifests and the catalog once, and plans for each Kyma by the functions that plan for real, without and
with the files. Nothing is changed. It plans with the settings of the instance, which its leader records in the control plane,
and needs no flags for them; a flag of lifecycle-manager run that is given, or a file of it, goes before the record. Files of
the pods are not in the record: give --maintenance-policy-path if the instance has a maintenance policy, and
--oci-registry-ca-file if its registry needs one. Of a version under a
RolloutPolicy it says through which stages it would go. With --objects it says by which objects and fields the versions of
a module differ, once for all Kymas, and which changes of CustomResourceDefinitions could lose data.

It exits with 0 where nothing would change, with 2 where something would, and with 1 where that cannot be said, also
because of wrong usage.`,
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
	set.BoolVar(&c.objects, "objects", false, "fetch and render the modules that change, and say which of their objects and fields do")
	set.StringVarP(&c.output, "output", "o", outputText, "text or json")
	set.StringVar(&c.kubeContext, "context", "", "context of the kubeconfig; default: its current one")
	set.DurationVar(&c.timeout, "timeout", 5*time.Minute, "how long all may take")
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
		return errors.New("--filename is missing")
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

// contentOf is what is in a file, or what comes in where its name is a dash.
func contentOf(in io.Reader, file string) ([]byte, error) {
	if file == stdin {
		return io.ReadAll(in)
	}
	return os.ReadFile(file) //nolint:gosec // whoever calls the command says which
}
