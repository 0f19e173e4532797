// Package persistent keeps what passes by itself out of the errors in the log: at a start much is missing that comes within
// seconds, such as a leader, or a worker that polls. What lasts is an error.
package persistent

import (
	"time"

	"github.com/go-logr/logr"

	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// After is how long a fault that may pass by itself is not an error yet.
const After = 30 * time.Second

// Fault is what somebody looks for again and again. The zero value is ready for use.
type Fault struct {
	since time.Time
	// said is the text that was logged last, and asError whether it was logged as an error.
	said    string
	asError bool
}

// IsError reports whether what was found now is to be logged as an error: because it does not pass by itself, or because
// something has been found all the time for After. Found is nil if nothing was found.
func (f *Fault) IsError(now time.Time, found error, passes bool) bool {
	if found == nil {
		*f = Fault{}
		return false
	}
	if f.since.IsZero() {
		f.since = now
	}
	return !passes || now.Sub(f.since) >= After
}

// Log logs what was found now, each text once, and once more as soon as it is an error.
func (f *Fault) Log(log logr.Logger, now time.Time, found error, passes bool, message string, pairs ...any) {
	asError := f.IsError(now, found, passes)
	if found == nil || f.said == found.Error() && (f.asError || !asError) {
		return
	}
	f.said, f.asError = found.Error(), asError
	if asError {
		log.Error(found, message, pairs...)
		return
	}
	log.Info(message, append([]any{logkey.Reason, f.said}, pairs...)...)
}
