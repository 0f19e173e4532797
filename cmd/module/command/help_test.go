package command

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/commandhelp"
)

// Resolve the path early, because other tests change the working directory.
var helpPage, errHelpPage = filepath.Abs("../../../docs/module-commands.md")

func TestThePageOfTheCommandsIsTheirHelp(t *testing.T) {
	require.NoError(t, errHelpPage)
	commandhelp.Compare(t, helpPage, newRoot())
}
