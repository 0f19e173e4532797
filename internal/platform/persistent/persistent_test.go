package persistent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
)

func TestAProblemThatMayResolveItselfIsAnErrorOnlyIfItPersists(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	fault, now := Fault{}, time.Now()
	faults, infos := 0, 0
	found := func(after time.Duration, err error, passes bool, wantErrors, wantInfos int) {
		t.Helper()
		now = now.Add(after)
		lines = nil
		fault.Log(log, now, err, passes, "no work can be done")
		for _, line := range lines {
			if strings.Contains(line, `"error"=`) {
				faults++
			} else {
				infos++
			}
			require.Contains(t, line, err.Error())
		}
		require.Equal(t, [2]int{wantErrors, wantInfos}, [2]int{faults, infos})
	}
	nobody, other, broken := errors.New("nobody leads"), errors.New("no worker polls"), errors.New("connection refused")
	found(0, nobody, true, 0, 1)
	found(time.Second, nobody, true, 0, 1)
	found(time.Second, other, true, 0, 2)
	found(After-3*time.Second, other, true, 0, 2)
	found(time.Second, other, true, 1, 2)
	found(time.Hour, other, true, 1, 2)
	found(time.Second, nobody, true, 2, 2)
	found(time.Second, nil, true, 2, 2)
	found(time.Second, nobody, true, 2, 3)
	found(time.Second, broken, false, 3, 3)
	found(time.Second, broken, false, 3, 3)
}
