package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
)

func TestAWarningOfTheControlPlaneIsLoggedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(path, []byte(twoContexts), 0o600))
	config, err := cli.ControlPlane(path, "")
	require.NoError(t, err)
	var lines []string
	logged := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	for _, warning := range []string{"an odd finalizer", "an odd finalizer", "an old API version"} {
		config.WarningHandlerWithContext.HandleWarningHeaderWithContext(logged, 299, "", warning)
	}
	require.Len(t, lines, 2)
}
