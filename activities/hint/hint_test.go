package hint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/hint"
)

func TestAReasonComesWithWhatCanBeDoneAboutIt(t *testing.T) {
	t.Parallel()
	require.Equal(t, "renew the Secret", hint.For("UnreachableUnauthorized"))
	require.Empty(t, hint.For("Ready"), "nothing need be done")
	require.Empty(t, hint.For("Unheard"))
	require.Equal(t, "did you mean keda?", hint.Or("did you mean keda?", "ModuleNotFound"))
	require.Equal(t, hint.For("ModuleNotFound"), hint.Or("", "ModuleNotFound"))
}
