package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheNewestPostgresComesFirst(t *testing.T) {
	require.Equal(t, []string{"/p/17/bin", "/p/15/bin", "/p/9/bin"}, newestFirst([]string{"/p/15/bin", "/p/9/bin", "/p/17/bin"}))
}
