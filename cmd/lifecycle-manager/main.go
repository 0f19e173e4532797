// Command lifecycle-manager keeps Kubernetes clusters equipped with the modules that their owners asked for.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	root := &cobra.Command{
		Use:           "lifecycle-manager",
		Short:         "Keeps Kubernetes clusters equipped with the modules that their owners asked for",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newRunCommand(), newStatusCommand(), newPurgeCommand(), newCRDsCommand(), newVersionCommand(), newRenderChartCommand())
	if err := root.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
