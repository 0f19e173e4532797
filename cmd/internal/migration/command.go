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

// Connect returns the configuration of the control plane, from the given flags, and the scheme for its client.
type Connect func() (*rest.Config, *runtime.Scheme, error)

// Access is the flag that restricts what kubeconfigs of remote clusters may use.
type Access struct {
	Register func(*pflag.FlagSet)
	Check    func() error
	Allowed  func() clusters.Allow
}

// NewCommand returns the command. register adds the flags that connect needs. program has the flags of
// lifecycle-manager run for the subcommand plan; connect and access use them after they were read.
func NewCommand(connect Connect, register func(*pflag.FlagSet), access Access, program forecast.Program) *cobra.Command {
	f := &flags{access: access}
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Take over the Kymas of today's upstream, a few first",
		Long: `Take over the Kymas of today's upstream, a few first.

Without these commands, Lifecycle Manager takes over upstream's Kymas and Manifests when it first reconciles them.`,
	}
	register(cmd.PersistentFlags())
	cmd.PersistentFlags().StringVarP(&f.namespace, "namespace", "n", shared.NamespaceControlPlane, "namespace of the Kymas")
	cmd.AddCommand(newPlanCommand(f, connect, program, cmd.PersistentFlags()), newHoldCommand(f, connect), newAdoptCommand(f, connect))
	return cmd
}

func newPlanCommand(f *flags, connect Connect, program forecast.Program, inherited *pflag.FlagSet) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan [KYMA...]",
		Short: "Show what the takeover would change for each Kyma, without writing anything",
		Long: `Show what the takeover would change for each Kyma, without writing anything.

The changes depend on the settings of the instance. Before the first start of the instance, give this command the flags of
lifecycle-manager run, or the configuration file, that the instance will have. Later, the command uses the settings that
the leader has recorded in the control plane, unless flags are given. It reads the remote clusters like the takeover itself.
It exits with 1 if a cluster could not be read completely: the takeover would leave that Kyma unchanged until it can be read.
The command plans for each Kyma like the instance. It lists which modules get another version, which wait for a
maintenance window, and which become an Error, with the reason. It also lists which modules change their state, for each
value of --module-state-from.`,
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

// registerReading adds the flags for reading remote clusters.
func (f *flags) registerReading(set *pflag.FlagSet) {
	set.StringVar(&f.accessSecretNamespace, flagAccessNamespace, "", "as for lifecycle-manager run; default: the recorded setting of the instance")
	f.access.Register(set)
	set.StringVar(&f.syncNamespace, flagSyncNamespace, shared.NamespaceRemote, "as for lifecycle-manager run; default: the recorded setting of the instance")
	f.reading = set
}

// takeRecorded takes the settings for reading remote clusters from the instance's record, unless their flags are given.
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
		Short: "Keep upstream's Kymas from being taken over until they are adopted",
		Long: `Keep upstream's Kymas from being taken over until they are adopted.

The command sets the label ` + shared.LabelSkipReconciliation + `, which upstream respects as well, and the annotation
` + annotationHeld + `, by which adopt recognizes the Kymas. A Kyma that is deleted is removed in spite of the label.

The two generations of upstream use different rules for the state of a module. If the rules give different states for a
module here, hold changes nothing, names the modules, and asks for --` + flagStateRule + ` with the value that lifecycle-manager run
will have. adopt then refuses to continue while the running instance has another value. If hold is given the value, it does
not read the remote clusters.`,
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
	cmd.Flags().BoolVar(&f.all, "all", false, "all upstream's Kymas in the namespace")
	cmd.Flags().Var(&f.stateRule, flagStateRule, "the value that lifecycle-manager run will have: custom-resource or workloads")
	f.registerReading(cmd.Flags())
	return cmd
}

func newAdoptCommand(f *flags, connect Connect) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "adopt KYMA...",
		Short: "Let Kymas be taken over, and wait until that is done",
		Long: `Let Kymas be taken over, and wait until that is done.

The command removes the label ` + shared.LabelSkipReconciliation + ` that hold has set. The running Lifecycle Manager does the
rest. If somebody else set the label, the Kyma is left alone, and the output says so. The command refuses to run while
upstream runs, because both would work on the same Kymas.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			m, err := newMigration(cmd.Context(), f, connect)
			if err != nil {
				return err
			}
			return m.adopt(cmd.Context(), cmd.OutOrStdout(), names, f.timeout)
		},
	}
	cmd.Flags().DurationVar(&f.timeout, "timeout", 10*time.Minute, "how long to wait; 0 means not to wait")
	return cmd
}
