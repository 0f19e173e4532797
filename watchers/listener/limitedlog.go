package listener

import (
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// sayEvery bounds the lines of one kind, because anybody who reaches the port can cause most of them.
const sayEvery = time.Minute

// limitedLog logs at most one line per message and minute.
type limitedLog struct {
	log logr.Logger
	now func() time.Time

	mu   sync.Mutex
	said map[string]line
}

// line is when a message was last logged, and how often it was suppressed since.
type line struct {
	at     time.Time
	unsaid int
}

// say logs a message. message must be a constant, so that there are few different ones.
func (s *limitedLog) say(err error, message string, pairs ...any) {
	s.mu.Lock()
	last, now := s.said[message], s.now()
	if !last.at.IsZero() && now.Sub(last.at) < sayEvery {
		last.unsaid++
		s.said[message] = last
		s.mu.Unlock()
		return
	}
	s.said[message] = line{at: now}
	s.mu.Unlock()
	pairs = append(pairs, logkey.OthersSince, last.unsaid)
	if err != nil {
		s.log.Error(err, message, pairs...)
		return
	}
	s.log.Info(message, pairs...)
}
