package entity

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatARunDoesNext(t *testing.T) {
	for name, c := range map[string]struct {
		s    situation
		want step
	}{
		"a new run takes a step":              {situation{Over: true, MustContinue: true}, stepWork},
		"nothing is left":                     {situation{Begun: true, Over: true, MustContinue: true, NewBuild: true}, stepComplete},
		"a kick is due":                       {situation{Begun: true, Over: true, Pending: true, Due: true}, stepWork},
		"a kick waits for its turn":           {situation{Begun: true, Over: true, Pending: true}, stepSleep},
		"a retry waits":                       {situation{Begun: true}, stepSleep},
		"a retry is due":                      {situation{Begun: true, Due: true}, stepWork},
		"another build does not act":          {situation{Begun: true, Over: true, Pending: true, Due: true, NewBuild: true}, stepContinue},
		"a long history ends before it grows": {situation{Begun: true, MustContinue: true}, stepContinue},
	} {
		require.Equal(t, c.want, decide(c.s), name)
	}
}
