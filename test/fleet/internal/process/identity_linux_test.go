package process

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheNameOfAProgramMayContainParentheses(t *testing.T) {
	state, ticks, err := parseStat([]byte("42 (a) Z (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21"))
	require.NoError(t, err)
	require.Equal(t, "S", state)
	require.Equal(t, "4711", ticks)
}

func TestAZombieIsGone(t *testing.T) {
	cmd, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, err := Identify(cmd.Pid); return err != nil }, time.Minute, time.Millisecond,
		"not collected by Wait, it is there as a zombie")
	_, err = Identify(cmd.Pid)
	require.ErrorIs(t, err, ErrGone)
	_, err = cmd.Wait()
	require.NoError(t, err)
}
