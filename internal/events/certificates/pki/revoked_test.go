package pki

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASerialNumberIsRevokedHoweverItIsWritten(t *testing.T) {
	serial := big.NewInt(0x0a1b2c)
	for _, list := range []string{"A1B2C", "0A1B2C", "0x0a1b2c", "serial=0A1B2C", "0a:1b:2c", " ff , 0a1b2c"} {
		require.True(t, IsRevoked(serial, list), list)
	}
	for _, list := range []string{"", ",", "a1b2", "a1b2c d", "no number"} {
		require.False(t, IsRevoked(serial, list), list)
	}
	require.False(t, IsRevoked(nil, "0"))
}
