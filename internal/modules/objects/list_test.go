package objects

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
)

func TestAPageOfOneObjectIsNotRequestedAgain(t *testing.T) {
	t.Parallel()
	smaller, again := smallerPage(3, clusters.ErrResponseTooLarge)
	require.True(t, again)
	require.EqualValues(t, 1, smaller)
	_, again = smallerPage(smaller, clusters.ErrResponseTooLarge)
	require.False(t, again)
	_, again = smallerPage(500, nil)
	require.False(t, again)
}
