package migration

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/forecast"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/settings"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
)

// Connect says where the control plane is, by the flags that were given, and what a client for it must know.
type Connect func() (*rest.Config, *runtime.Scheme, error)

// Access is the flag that says what the kubeconfigs of remote clusters may ask for.
type Access struct {
	Register func(*pflag.FlagSet)
	Check    func() error
	Allowed  func() clusters.Allow
}

// NewCommand returns the command. Register adds the flags to it that Connect needs. Program has the flags of
// lifecycle-manager run for the subcommand plan; once they are read, Connect and access go by them.
func NewCommand(connect Connect, register func(*pflag.FlagSet), access Access, program forecast.Program) *cobra.Command {
	f := &flags{access: access}
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Take over the Kymas of today's upstream, a few first",
		Long: `Take over the Kymas of today's upstream, a few first.

Without these commands, Kymas and Manifests of upstream's are taken over when Lifecycle Manager meets them.`,
	}
	register(cmd.PersistentFlags())
	cmd.PersistentFlags().StringVarP(&f.namespace, "namespace", "n", shared.NamespaceControlPlane, "namespace of the Kymas")
	cmd.AddCommand(newPlanCommand(f, connect, program, cmd.PersistentFlags()), newHoldCommand(f, connect), newAdoptCommand(f, connect))
	return cmd
}

func newPlanCommand(f *flags, connect Connect, program forecast.Program, inherited *pflag.FlagSet) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan [KYMA...]",
		Short: "Show what taking over would change, for each Kyma; writes nothing",
		Long: `Show what taking over would change, for each Kyma; writes nothing.

What changes depends on the settings of the instance. Before its first start, give this command the flags of
lifecycle-manager run, or its file, that the instance will have. Later, what is not given is what the leader has recorded in
the control plane. It reads the remote clusters as the takeover itself does, and exits with 1 where one could not be read
completely: that Kyma would be left as it is until it can. It plans for each Kyma as the instance will, and says which
modules get another version, which wait for a maintenance window, and which become an Error, with the reason. It also says
which modules change their state, for each value of --module-state-from.`,
		Example: `  lifecycle-manager migrate plan --config lifecycle-manager.yaml
  lifecycle-manager migrate plan a-kyma --oci-registry-cred-secret registry --maintenance-policy-path policy.json`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := program.Read(cmd.Flags()); err != nil {
				return fmt.Errorf("%w: %w", program.ErrUsage, err)
			}
			of, err := readCatalog(cmd.Context(), cmd.ErrOrStderr(), program)
			if err != nil {
				return err
			}
			f.accessSecretNamespace, f.syncNamespace = of.settings.AccessSecretNamespace, of.settings.SyncNamespace
			m, err := newMigration(cmd.Context(), f, connect)
			if err != nil {
				return err
			}
			m.catalog = of
			return m.plan(cmd.Context(), cmd.OutOrStdout(), names)
		},
	}
	groups := cli.Groups{}
	own := groups.Add("Plan")
	for _, name := range []string{"context", "namespace"} {
		own.AddFlag(inherited.Lookup(name))
	}
	append(groups, program.Flags...).AddTo(cmd)
	return cmd
}

// registerReading adds the flags that reading remote clusters needs.
func (f *flags) registerReading(set *pflag.FlagSet) {
	set.StringVar(&f.accessSecretNamespace, flagAccessNamespace, "", "as of lifecycle-manager run; default: as the instance has recorded it")
	f.access.Register(set)
	set.StringVar(&f.syncNamespace, flagSyncNamespace, shared.NamespaceRemote, "as of lifecycle-manager run; default: as the instance has recorded it")
	f.reading = set
}

// takeRecorded takes from the record of the instance what reading remote clusters needs and was not given.
func (f *flags) takeRecorded(ctx context.Context, controlPlane client.Reader) error {
	if f.reading == nil {
		return nil
	}
	record, err := agreement.Find(ctx, controlPlane, "", "")
	if err != nil || record == nil {
		return ignoreForbidden(err)
	}
	recorded := map[string]string{}
	for _, name := range []string{flagAccessNamespace, flagSyncNamespace, flagAccessAllow} {
		if value, ok := record.Data[name]; ok {
			recorded[name] = value
		}
	}
	if err := settings.Take(f.reading, recorded); err != nil {
		return err
	}
	return f.access.Check()
}

func ignoreForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

func newHoldCommand(f *flags, connect Connect) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hold (--all | KYMA...)",
		Short: "Keep Kymas of upstream's from being taken over until they are adopted",
		Long: `Keep Kymas of upstream's from being taken over until they are adopted.

They get the label ` + shared.LabelSkipReconciliation + `, which upstream heeds as well, and the annotation
` + annotationHeld + `, by which adopt knows them. A Kyma that is deleted is removed all the same.

The two generations of upstream disagree about whose state is a module's state. If that makes a difference for a module
here, hold changes nothing, names the modules, and asks for --` + flagStateRule + ` with the value that lifecycle-manager run
will have. adopt then refuses to go on while the running instance has another one. If hold is told the value, it does not
read the remote clusters.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := f.access.Check(); err != nil {
				return err
			}
			m, err := newMigration(cmd.Context(), f, connect)
			if err != nil {
				return err
			}
			return m.hold(cmd.Context(), cmd.OutOrStdout(), names, f.all)
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "all Kymas of the namespace that are upstream's")
	cmd.Flags().Var(&f.stateRule, flagStateRule, "as lifecycle-manager run will have it: custom-resource or workloads")
	f.registerReading(cmd.Flags())
	return cmd
}

func newAdoptCommand(f *flags, connect Connect) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "adopt KYMA...",
		Short: "Have Kymas taken over, and wait until that is done",
		Long: `Have Kymas taken over, and wait until that is done.

It takes off the label ` + shared.LabelSkipReconciliation + ` that hold has set; the running Lifecycle Manager does the
rest. A Kyma that somebody else labelled so is left alone, and said to be. It refuses while upstream runs, since both
would work on the same Kymas.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			m, err := newMigration(cmd.Context(), f, connect)
			if err != nil {
				return err
			}
			return m.adopt(cmd.Context(), cmd.OutOrStdout(), names, f.timeout)
		},
	}
	cmd.Flags().DurationVar(&f.timeout, "timeout", 10*time.Minute, "how long to wait; 0 does not wait")
	return cmd
}
