package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/kyma-project/lifecycle-manager/worker"
)

// version is set by the linker (see the Makefile).
var version = "0.0.0-dev"

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the build id under which the workers run",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			build, err := worker.BuildID()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "lifecycle-manager %s (build %s, %s)\n", version, build, runtime.Version())
			return err
		},
	}
}
