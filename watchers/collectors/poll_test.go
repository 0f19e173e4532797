package collectors

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
)

func TestPollsRunOnceAMinuteAndAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var asked []time.Duration
		var logged []string
		log := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{Verbosity: 1})
		poll(ctx, log, "cannot ask", func(within context.Context) error {
			asked = append(asked, time.Since(began))
			switch len(asked) {
			case 1:
				return nil
			case 2:
				<-within.Done() // no answer
				return within.Err()
			default:
				cancel()
				return errors.New("we end")
			}
		})
		require.Equal(t, []time.Duration{0, time.Minute, 2*time.Minute + 30*time.Second}, asked)
		require.Len(t, logged, 1, "a timeout is logged, the end of the process is not")
		require.Contains(t, logged[0], "deadline exceeded")
	})
	poll(ended(), logr.Discard(), "", func(context.Context) error { require.Fail(t, "the context has ended"); return nil })
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
