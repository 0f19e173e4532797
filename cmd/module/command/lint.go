package command

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kyma-project/lifecycle-manager/cmd/module/lint"
	"github.com/kyma-project/lifecycle-manager/cmd/module/ship"
)

func newLintCommand() *cobra.Command {
	var output string
	var options lint.Options
	command := &cobra.Command{
		Use:   "lint [FOLDER or FILE]",
		Short: "Check a module without shipping it",
		Long: `Check a module without shipping it: its configuration, every object of its
manifest or rendered chart, and its default custom resource. Each finding is one
line. Errors prevent create and push, warnings do not.`,
		Example: "  module lint ./sample\n  module lint ./sample --output json",
		Args:    oneArgument,
		RunE: func(command *cobra.Command, arguments []string) error {
			path := modulePath(arguments)
			switch output {
			case "text", "json":
			default:
				return fmt.Errorf("%w: --output %q: use text or json", errUsage, output)
			}
			_, report := lint.Check(path, options)
			if output == "json" {
				encoder := json.NewEncoder(command.OutOrStdout())
				encoder.SetIndent("", "  ")
				if err := encoder.Encode(report); err != nil {
					return fmt.Errorf("print report: %w", err)
				}
			} else {
				for _, finding := range report.Findings {
					command.Println(finding)
				}
			}
			if err := report.Err(); err != nil {
				return fmt.Errorf("module %s: %w", path, err)
			}
			if output == "text" {
				command.Printf("module %s: %d objects, no errors\n", path, report.Objects)
			}
			return nil
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "text", "output format: text or json")
	command.Flags().StringVar(&options.KubeVersion, "kube-version", ship.DefaultKubeVersion, "version of Kubernetes to render charts for")
	return command
}
