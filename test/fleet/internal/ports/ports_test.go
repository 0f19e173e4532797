package ports_test

import (
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/ports"
)

func TestAChooserNeverGivesAPortTwice(t *testing.T) {
	// Two choosers with the same source draw the same ports; what the first gave
	// is in use for the second.
	first := ports.NewChooser(rand.NewPCG(1, 2))
	var given []int
	for range 20 {
		port, err := first.Choose()
		require.NoError(t, err)
		require.NotContains(t, given, port)
		given = append(given, port)
	}
	second := ports.NewChooser(rand.NewPCG(1, 2), given...)
	port, err := second.Choose()
	require.NoError(t, err)
	require.NotContains(t, given, port)
}

func TestAChooserPassesOverATakenPort(t *testing.T) {
	expected, err := ports.NewChooser(rand.NewPCG(3, 4)).Choose()
	require.NoError(t, err)
	listener, err := net.Listen("tcp", ports.Address(expected))
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })

	require.ErrorIs(t, ports.Check(expected), ports.ErrTaken)
	other, err := ports.NewChooser(rand.NewPCG(3, 4)).Choose()
	require.NoError(t, err)
	require.NotEqual(t, expected, other)
}

func TestChosenPortsAreNotThoseOfOutgoingConnections(t *testing.T) {
	chooser := ports.NewChooser(rand.NewPCG(5, 6))
	for range 200 {
		port, err := chooser.Choose()
		require.NoError(t, err)
		require.Less(t, port, 32768)
		require.Greater(t, port, 1023)
	}
}

func TestAPortIsWaitedForUntilItIsReleased(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address, isTCP := listener.Addr().(*net.TCPAddr)
	require.True(t, isTCP)
	port := address.Port
	require.ErrorIs(t, ports.AwaitFree(port, 0), ports.ErrTaken)
	go func() {
		time.Sleep(200 * time.Millisecond)
		_ = listener.Close()
	}()
	require.NoError(t, ports.AwaitFree(port, 10*time.Second))
}
