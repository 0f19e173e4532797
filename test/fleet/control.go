package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/fleet"
)

func addRemoteCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add-remote NAME...",
		Short: "Brings up further remote clusters while the fleet is up",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			f, err := s.open(cmd)
			if err != nil {
				return err
			}
			added, err := f.AddRemotes(cmd.Context(), names)
			if err != nil {
				return explain(err)
			}
			return s.print(cmd.OutOrStdout(), added, func(out io.Writer) error {
				for _, cluster := range added {
					if _, err := fmt.Fprintf(out, "%s\t%s\n", cluster.Name, cluster.Kubeconfig); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	s.addOutput(cmd)
	return cmd
}

func removeRemoteCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "remove-remote NAME...",
		Short: "Stops remote clusters and removes all that they have",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			f, err := s.open(cmd)
			if err != nil {
				return err
			}
			return explain(f.RemoveRemotes(cmd.Context(), names))
		},
	}
}

func stopCommand(s *settings) *cobra.Command {
	var kill bool
	cmd := s.control("stop", "Stops a component or a cluster, which keeps its data and its ports",
		func(ctx context.Context, f *fleet.Fleet, target string) error { return f.Stop(ctx, target, kill) })
	cmd.Flags().BoolVar(&kill, "kill", false, "by SIGKILL, as in a crash")
	return cmd
}

func startCommand(s *settings) *cobra.Command {
	return s.control("start", "Starts a component or a cluster that was stopped or has ended",
		func(ctx context.Context, f *fleet.Fleet, target string) error { return f.Start(ctx, target) })
}

func pauseCommand(s *settings) *cobra.Command {
	return s.control("pause", "Makes a component or a cluster pause: it accepts connections and never answers",
		func(ctx context.Context, f *fleet.Fleet, target string) error { return f.Pause(ctx, target) })
}

func resumeCommand(s *settings) *cobra.Command {
	return s.control("resume", "Lets a paused component or cluster go on",
		func(ctx context.Context, f *fleet.Fleet, target string) error { return f.Resume(ctx, target) })
}

// control is a command that does something to one component or one cluster.
func (s *settings) control(verb, short string, do func(context.Context, *fleet.Fleet, string) error) *cobra.Command {
	return &cobra.Command{
		Use:     verb + " COMPONENT|CLUSTER",
		Short:   short,
		Example: "  fleet " + verb + " temporal\n  fleet " + verb + " remote-1/kube-apiserver\n  fleet " + verb + " remote-1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := s.open(cmd)
			if err != nil {
				return err
			}
			return explain(do(cmd.Context(), f, args[0]))
		},
	}
}

func resetCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:       "reset temporal",
		Short:     "Throws Temporal's database away and starts it empty, on the same ports",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"temporal"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := s.open(cmd)
			if err != nil {
				return err
			}
			return explain(f.ResetTemporal(cmd.Context()))
		},
	}
}
