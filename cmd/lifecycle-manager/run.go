package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/settings"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/watching"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

func newRunCommand() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run watchers and workers, or one of them",
		Long: `Run watchers and workers, or one of them (--role).

The connection to Temporal comes from the environment, as for every Temporal SDK: TEMPORAL_ADDRESS,
TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_* or a configuration file named by TEMPORAL_CONFIG_FILE.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.read(cmd.Flags()); err != nil {
				return fmt.Errorf("%w: %w", cli.ErrUsage, err)
			}
			return run(cmd.Context(), f, cmd.Flags())
		},
	}
	f.groups().AddTo(cmd)
	return cmd
}

// run runs the process until ctx is done. The flags are read and checked.
func run(ctx context.Context, f *flags, set *pflag.FlagSet) error {
	log, err := cli.NewLog(f.logLevel, f.logFormat, os.Stderr)
	if err != nil {
		return err
	}
	cli.LogEverything(log)
	settings.WarnOfIgnored(set, log)
	watching.WarnOfUnused(set, log)
	p := &process{flags: f, log: log}
	defer p.stop() //nolint:contextcheck // ctx is done by then, and traces are still to be sent
	for _, step := range []func(context.Context) error{
		p.connect, p.mayStart, p.makeManager, p.assemble, p.addAgreement, p.addWatchers, p.addWorkers, p.addProbes, p.addLeaderStatus,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	log.Info("starting", logkey.Version, version, logkey.Commit, commit, logkey.BuildID, thisBuild().BuildID,
		logkey.Role, f.role, logkey.Mode, f.mode, logkey.TemporalNamespace, p.namespace)
	return p.manager.Start(ctx)
}
