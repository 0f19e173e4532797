// Package workerversion implements the command that shows and changes which build's workers get the work.
package workerversion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/kyma-project/lifecycle-manager/worker/deployment"
)

// Connect connects to Temporal. The returned function closes the connection.
type Connect func(context.Context) (deployment.Deployment, func(), error)

var (
	errNotVersioned = errors.New("no versioned worker has polled in this Temporal namespace: see --worker-versioning of lifecycle-manager run")
	errNotPolled    = errors.New("its workers do not poll every task queue, so some work would wait; set --force to do it anyway")
	errNoFormer     = errors.New("no former version has workers that poll every task queue: start such workers first, or name a version")
)

// NewCommand returns the command `lifecycle-manager worker-version`.
func NewCommand(connect Connect) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker-version",
		Short: "Show which build's workers get the work, and change it",
		Long: `Show which build's workers get the work, and change it. This requires --worker-versioning of lifecycle-manager run.

The connection to Temporal comes from the environment, as for lifecycle-manager run.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return connect.do(cmd.Context(), func(d deployment.Deployment, s deployment.State) error {
				return writeVersions(cmd.OutOrStdout(), s)
			})
		},
	}
	cmd.AddCommand(newRollbackCommand(connect), newSetCurrentCommand(connect), newRampCommand(connect))
	return cmd
}

func newRollbackCommand(connect Connect) *cobra.Command {
	return &cobra.Command{
		Use:   "rollback",
		Short: "Give all work back to the build that had it before",
		Long: `Give all work back to the build that had it before. Workers of that build must still poll. The leader does not change
this while they poll, whatever its own build is.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return connect.do(cmd.Context(), func(d deployment.Deployment, s deployment.State) error {
				// A ramping version is not the current one, so ending the ramp is the way back.
				if r := s.Ramping; r != nil && r.Percent > 0 {
					return change(cmd, d, s, deployment.Step{Ramping: &r.BuildID})
				}
				former, there := s.Former()
				if !there {
					return errNoFormer
				}
				return change(cmd, d, s, deployment.Step{Current: &former})
			})
		},
	}
}

func newSetCurrentCommand(connect Connect) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "set-current [BUILD-ID]",
		Short: "Give all work to a build, or to unversioned workers if no build is given",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			build := strings.Join(args, "")
			return connect.do(cmd.Context(), func(d deployment.Deployment, s deployment.State) error {
				if s.Pollers[build] != deployment.EveryQueue && !force {
					return fmt.Errorf("%s: %w", deployment.Say(build), errNotPolled)
				}
				return change(cmd, d, s, deployment.Step{Current: &build})
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "do it even if the build's workers do not poll every task queue")
	return cmd
}

func newRampCommand(connect Connect) *cobra.Command {
	var percent float32
	cmd := &cobra.Command{
		Use:   "ramp BUILD-ID",
		Short: "Give a share of the workflows to a build; the leader does not change it",
		Args: func(cmd *cobra.Command, args []string) error {
			if percent < 0 || percent > 100 {
				return fmt.Errorf("--percent must be from 0 to 100, not %g", percent)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return connect.do(cmd.Context(), func(d deployment.Deployment, s deployment.State) error {
				if s.Pollers[args[0]] != deployment.EveryQueue && percent > 0 {
					return fmt.Errorf("%s: %w", args[0], errNotPolled)
				}
				return change(cmd, d, s, deployment.Step{Ramping: &args[0], Percent: percent})
			})
		},
	}
	cmd.Flags().Float32Var(&percent, "percent", 10, "share of the workflows; 0 ends the ramp")
	return cmd
}

// do calls a function with the present state of the deployment.
func (c Connect) do(ctx context.Context, what func(deployment.Deployment, deployment.State) error) error {
	d, closeIt, err := c(ctx)
	if err != nil {
		return err
	}
	defer closeIt()
	s, err := d.Read(ctx)
	if err != nil {
		return err
	}
	if !s.Exists {
		return errNotVersioned
	}
	return what(d, s)
}

// change makes a change and prints the state afterwards.
func change(cmd *cobra.Command, d deployment.Deployment, s deployment.State, step deployment.Step) error {
	if err := d.Do(cmd.Context(), s, step); err != nil {
		return err
	}
	after, err := d.Read(cmd.Context())
	if err != nil {
		return err
	}
	return writeVersions(cmd.OutOrStdout(), after)
}

// writeVersions writes a table of the versions, newest first.
func writeVersions(out io.Writer, s deployment.State) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if _, err := fmt.Fprintln(table, "BUILD ID\tGETS\tTASK QUEUES POLLED\tFIRST USED"); err != nil {
		return err
	}
	rows := slices.SortedFunc(slices.Values(s.Versions), func(a, b deployment.Version) int { return b.Activated.Compare(a.Activated) })
	if s.Pollers[deployment.Unversioned] != deployment.NoQueue || s.Current == deployment.Unversioned {
		rows = append(rows, deployment.Version{})
	}
	for _, v := range rows {
		first := "-"
		if !v.Activated.IsZero() {
			first = v.Activated.UTC().Format(time.RFC3339)
		}
		if _, err := fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", deployment.Say(v.BuildID), s.Gets(v.BuildID), s.Pollers[v.BuildID], first); err != nil {
			return err
		}
	}
	return table.Flush()
}
