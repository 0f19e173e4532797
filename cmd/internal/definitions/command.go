// Package definitions implements the command `lifecycle-manager crds`.
package definitions

import (
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	crds "github.com/kyma-project/lifecycle-manager/deploy/crds"
)

// NewCommand returns the command, which prints the CustomResourceDefinitions of this build. register adds the flags
// that connect uses.
func NewCommand(connect Connect, register func(*pflag.FlagSet)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crds",
		Short: "Print the CustomResourceDefinitions of this build, for kubectl apply --server-side -f -",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fs.WalkDir(crds.Files, ".", func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				content, err := fs.ReadFile(crds.Files, path)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "---\n%s\n", content)
				return err
			})
		},
	}
	cmd.AddCommand(newMigrateCommand(connect, register))
	return cmd
}
