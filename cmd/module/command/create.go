package command

import (
	"github.com/spf13/cobra"

	"github.com/kyma-project/lifecycle-manager/cmd/module/ship"
)

func newCreateCommand() *cobra.Command {
	var flags requestFlags
	var archive string
	command := &cobra.Command{
		Use:   "create [FOLDER or FILE] --archive NEW-FOLDER",
		Short: "Write a module to an archive instead of a registry",
		Long: `Check a module and write it as an OCM component version to a common transport
archive in a new folder. Write its ModuleTemplate and ModuleReleaseMeta to
standard output. The descriptor names no registry: the server finds the
component through its flag --oci-registry-host. Use "ocm transfer ctf" to copy
the archive to a registry.`,
		Example: "  module create ./sample --archive ./sample-1.0.0.ctf --channel fast > sample.yaml",
		Args:    oneArgument,
		RunE: func(command *cobra.Command, arguments []string) error {
			if err := flags.checkOutput(); err != nil {
				return err
			}
			request, err := flags.request(modulePath(arguments))
			if err != nil {
				return err
			}
			result, err := ship.Create(request, archive)
			if err := flags.printResult(command, result, err); err != nil {
				return err
			}
			command.PrintErrf("wrote %s into %s\n", result.Version, archive)
			return nil
		},
	}
	flags.register(command)
	command.Flags().StringVar(&archive, "archive", "", "folder for the archive; it must not exist yet")
	must(command.MarkFlagRequired("archive"))
	return command
}

// must panics on errors of flags that the same function has defined, which cannot
// happen.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
