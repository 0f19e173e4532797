// Package persistent decides when a fault that may resolve itself becomes an error in the log. At a start, much is
// missing for some seconds: a leader, for example, or a worker that polls. Only a fault that persists is an error.
package persistent

import (
	"time"

	"github.com/go-logr/logr"

	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// After is the time after which a fault that may resolve itself is an error.
const After = 30 * time.Second

// Fault tracks one problem that a caller checks for repeatedly. The zero value is ready for use.
type Fault struct {
	since time.Time
	// said is the text of the last log line; asError says whether that line was an error.
	said    string
	asError bool
}

// IsError reports whether the caller should log the result of a check as an error: if the problem does not resolve
// itself, or if every check has found a problem for the time After. The argument found is nil if there is no problem.
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

// Log logs the result of a check. It logs each text once, and once more when the problem becomes an error.
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
