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

// Connect returns a client without a cache for the cluster that the flags select.
type Connect func() (client.Client, error)

var errNotMigrated = errors.New("objects may still be stored in an older version; run the command again")

func newMigrateCommand(connect Connect, register func(*pflag.FlagSet)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Rewrite all objects that may be stored in an older version",
		Long: `Rewrite all objects that may be stored in an older version.

An object stays stored in the version that it was last written in. The API server keeps a list of these versions in
status.storedVersions of each CustomResourceDefinition, and refuses a definition without one of them. If there is more
than one version, this command rewrites all objects of our kinds, at most ` + fmt.Sprint(storedversions.PerSecond) + ` per second. It then shortens the list.
Only the resourceVersion of an object changes. Lifecycle Manager may run at the same time. The command may be interrupted:
the list stays unchanged until all objects of a kind are rewritten.

The command needs the rights to list and patch the objects in all namespaces, and to patch the status of the definitions.`,
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

// migrate migrates all kinds, even if one of them fails.
func migrate(ctx context.Context, out io.Writer, migrator *storedversions.Migrator) error {
	definitions, err := crds.All()
	if err != nil {
		return err
	}
	begin := func(d storedversions.Definition, objects int) {
		_, _ = fmt.Fprintf(out, "%s: %d objects may be stored in %s, rewriting them in %s\n", d.Name, objects, strings.Join(d.Older, ", "), d.Kind.Version)
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
