package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/process"
	"github.com/kyma-project/lifecycle-manager/test/fleet/programs"
)

func upCommand(s *settings) *cobra.Command {
	var (
		options    fleet.UpOptions
		foreground bool
	)
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Brings the fleet up; what runs already stays unchanged",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := s.open(cmd)
			if err != nil {
				return err
			}
			builder, err := s.builder(f.Progress)
			if err != nil {
				return err
			}
			options.Name = s.name
			if err := f.Up(cmd.Context(), builder, options); err != nil {
				return err
			}
			description, err := f.Describe()
			if err != nil {
				return err
			}
			err = s.print(cmd.OutOrStdout(), description, func(out io.Writer) error {
				return printSummary(out, description)
			})
			if err != nil {
				return err
			}
			if !foreground {
				return nil
			}
			f.Progress.Printf("up until Ctrl-C")
			if !f.Watch(cmd.Context()) {
				f.Progress.Printf("the fleet was taken down")
				return nil
			}
			f.Progress.Printf("stopping; the data stay for the next up, until down")
			_, err = f.Down(context.WithoutCancel(cmd.Context()), true)
			return err
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&options.Remotes, "remotes", 1, "how many remote clusters there are at least")
	flags.BoolVar(&options.RegistryAuth, "registry-auth", false, "make the registry ask for user and password (see env)")
	flags.BoolVar(&options.WithoutTemporal, "without-temporal", false, "without Temporal, for those who bring their own")
	flags.BoolVar(&options.OldestTemporal, "oldest-temporal", false, "with the oldest release of Temporal that the product supports")
	flags.BoolVar(&options.WithoutRegistry, "without-registry", false, "without a registry, for those who bring their own")
	flags.IntVar(&options.ControlPlanePort, "control-plane-port", 0, "port of the control plane's API server (default: chosen)")
	flags.IntVar(&options.TemporalPort, "temporal-port", 0, "port of Temporal (default: chosen)")
	flags.IntVar(&options.TemporalUIPort, "temporal-ui-port", 0, "port of Temporal's web interface (default: chosen)")
	flags.IntVar(&options.RegistryPort, "registry-port", 0, "port of the registry (default: chosen)")
	flags.BoolVar(&foreground, "foreground", false, "stay, and stop the fleet on Ctrl-C")
	flags.IntVar(&options.OwnerPID, "owner-pid", 0, "take the fleet down once the process with this id has ended")
	s.addOutput(cmd)
	return cmd
}

func downCommand(s *settings) *cobra.Command {
	var keepData bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stops the fleet, also one that remains of a crash, and removes its state",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := s.open(cmd)
			if err != nil {
				return err
			}
			found, err := f.Down(cmd.Context(), keepData)
			if err != nil {
				return err
			}
			if !found {
				f.Progress.Printf("no fleet in %s", f.Folder.Path)
				return nil
			}
			f.Progress.Printf("the fleet is down")
			return nil
		},
	}
	cmd.Flags().BoolVar(&keepData, "keep-data", false, "only stop it: the next up goes on with the same data and ports")
	return cmd
}

// superviseCommand is run by up --owner-pid.
func superviseCommand(s *settings) *cobra.Command {
	var owner process.Identity
	cmd := &cobra.Command{
		Use:    "supervise",
		Short:  "Takes the fleet down once its owner has ended",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := s.open(cmd)
			if err != nil {
				return err
			}
			return f.Supervise(cmd.Context(), owner)
		},
	}
	cmd.Flags().IntVar(&owner.PID, "owner-pid", 0, "process id of the owner")
	cmd.Flags().StringVar(&owner.StartTime, "owner-start", "", "start time of the owner")
	return cmd
}

func buildCommand(s *settings) *cobra.Command {
	optional := programs.OptionalNames()
	cmd := &cobra.Command{
		Use:       "build [PROGRAM...]",
		Short:     "Builds the programs that are missing in the cache, and starts nothing",
		Long:      "Builds the programs that are missing in the cache, and starts nothing.\nThese are built only if they are named: " + strings.Join(optional, ", "),
		ValidArgs: optional,
		Args:      cobra.OnlyValidArgs,
		RunE: func(cmd *cobra.Command, names []string) error {
			printer := s.printer(cmd)
			builder, err := s.builder(printer)
			if err != nil {
				return err
			}
			paths, err := builder.Ensure(cmd.Context(), names...)
			if err != nil {
				return err
			}
			return s.print(cmd.OutOrStdout(), paths, func(out io.Writer) error {
				for _, name := range slices.Sorted(maps.Keys(paths)) {
					if _, err := fmt.Fprintln(out, paths[name]); err != nil {
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
