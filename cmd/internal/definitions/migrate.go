package definitions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	crds "github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/watchers/storedversions"
)

// Connect makes a client without a cache for the cluster that the flags say.
type Connect func() (client.Client, error)

var errNotMigrated = errors.New("objects may still be stored in an older version; it can be run again at any time")

func newMigrateCommand(connect Connect, register func(*pflag.FlagSet)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Rewrite all objects that may be stored in an older version",
		Long: `Rewrite all objects that may be stored in an older version.

An object stays stored in the version in which it was last written, and the API server keeps a list of these versions in
status.storedVersions of each CustomResourceDefinition. A definition without one of them cannot be applied. This command
rewrites all objects of our kinds where there is more than one, at most ` + fmt.Sprint(storedversions.PerSecond) + ` in a second, and then shortens the list.
Nothing of an object changes but its resource version. Lifecycle Manager may run meanwhile, and the command may be
interrupted: the list is as it was until all objects of a kind are rewritten.

It needs the rights to list and patch the objects in all namespaces, and to patch the status of the definitions.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			live, err := connect()
			if err != nil {
				return err
			}
			return migrate(cmd.Context(), cmd.OutOrStdout(), storedversions.New(live))
		},
	}
	register(cmd.Flags())
	return cmd
}

// migrate migrates all kinds, also after one could not be.
func migrate(ctx context.Context, out io.Writer, migrator *storedversions.Migrator) error {
	definitions, err := crds.All()
	if err != nil {
		return err
	}
	begin := func(d storedversions.Definition, objects int) {
		_, _ = fmt.Fprintf(out, "%s: %d objects, which may be stored in %s, are rewritten in %s\n", d.Name, objects, strings.Join(d.Older, ", "), d.Kind.Version)
	}
	failed := false
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		result, err := migrator.Migrate(ctx, name, begin)
		said := "no object is stored in an older version than " + result.Before.Kind.Version
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w", errNotMigrated, ctx.Err())
		case errors.Is(err, storedversions.ErrMissing):
			said = storedversions.ErrMissing.Error()
		case err != nil:
			failed, said = true, err.Error()
		}
		if _, err := fmt.Fprintf(out, "%s: %s\n", name, said); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	if failed {
		return errNotMigrated
	}
	return nil
}
