package usage

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatAProcessUsedIsReadFromItsLine(t *testing.T) {
	line := "42 (a ) name) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 20 10 20 0 9 0 100 1000000 25 18446744073709551615 1 1"
	one, known := parseStat([]byte(line))
	require.True(t, known)
	require.Equal(t, 7, one.parent)
	require.Equal(t, 2*time.Second, one.own)
	require.Equal(t, 300*time.Millisecond, one.ended)
	require.Equal(t, int64(25*os.Getpagesize()), one.resident)
	_, known = parseStat([]byte("42 (gone"))
	require.False(t, known)
}

func TestTheLoadOfTheMachineIsThatOfAllCores(t *testing.T) {
	require.Equal(t, Load{Busy: 21 * time.Second, Waiting: 5 * time.Second}, parseLoad("cpu  1000 200 600 40000 500 100 200 0 0 0"))
	require.Equal(t, Load{}, parseLoad("cpu"))
}
