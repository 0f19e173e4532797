package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
)

// revisionBump is what etcd's documentation takes for a cluster that was written to for a long time after its snapshot.
const revisionBump = 1_000_000_000

func snapshotCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:     "snapshot CLUSTER FILE",
		Short:   "Saves a snapshot of a cluster's etcd, while the cluster works",
		Example: "  fleet snapshot control-plane before.db",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := s.open(cmd)
			if err != nil {
				return err
			}
			file, err := filepath.Abs(args[1])
			if err != nil {
				return fmt.Errorf("find the file of the snapshot: %w", err)
			}
			builder, err := s.builder(f.Progress)
			if err != nil {
				return err
			}
			return explain(f.Snapshot(cmd.Context(), builder, args[0], file))
		},
	}
}

func restoreCommand(s *settings) *cobra.Command {
	var bump uint64
	cmd := &cobra.Command{
		Use:     "restore CLUSTER FILE",
		Short:   "Stops a cluster, restores a snapshot of its etcd, and starts it again",
		Example: "  fleet restore control-plane before.db",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := s.open(cmd)
			if err != nil {
				return err
			}
			file, err := filepath.Abs(args[1])
			if err != nil {
				return fmt.Errorf("find the file of the snapshot: %w", err)
			}
			builder, err := s.builder(f.Progress)
			if err != nil {
				return err
			}
			return explain(f.Restore(cmd.Context(), builder, args[0], file, bump))
		},
	}
	cmd.Flags().Uint64Var(&bump, "bump-revision", revisionBump,
		"by how much revisions go on behind those of the snapshot, so that watches from before are refused; 0 lets them go back in time")
	return cmd
}
