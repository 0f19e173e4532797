package listener

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
	"github.com/kyma-project/lifecycle-manager/watchers/listener/event"
	"github.com/kyma-project/lifecycle-manager/watchers/listener/internal/queue"
)

// Results of requests, as label values of the metric.
const (
	resultAccepted        = "accepted"
	resultMerged          = "merged"
	resultNotFound        = "not_found"
	resultMethod          = "method"
	resultUnauthenticated = "unauthenticated"
	resultSmuggled        = "smuggled"
	resultUnknown         = "unknown"
	resultAmbiguous       = "ambiguous"
	resultRevoked         = "revoked"
	resultTooLarge        = "too_large"
	resultTimeout         = "timeout"
	resultInvalid         = "invalid"
	resultOverloaded      = "overloaded"
	resultNotReady        = "not_ready"
	// resultUnproven counts connections that were closed because no request with a valid certificate came.
	resultUnproven = "unproven"
)

func results() []string {
	return []string{
		resultAccepted, resultMerged, resultNotFound, resultMethod, resultUnauthenticated, resultSmuggled, resultUnknown, resultAmbiguous, resultRevoked,
		resultTooLarge, resultTimeout, resultInvalid, resultOverloaded, resultNotReady, resultUnproven,
	}
}

// Seconds after which agents may try again.
const (
	afterMoment = 1
	afterPause  = 5
)

// answer is the answer to a request.
type answer struct {
	result string
	status int
	text   string
	// after is the value of Retry-After in seconds, if any.
	after int
	// hangUp closes the connection.
	hangUp bool
}

// ServeHTTP implements http.Handler.
func (l *Listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began, path, counted := l.options.Now(), l.pathOf(r), l.metrics.Upstream
	counted.Inflight.WithLabelValues(path).Inc()
	defer counted.Inflight.WithLabelValues(path).Dec()
	a := l.handle(w, r)
	l.metrics.Received.WithLabelValues(a.result).Inc()
	counted.Requests.WithLabelValues(path).Inc()
	counted.Duration.WithLabelValues(path).Observe(l.options.Now().Sub(began).Seconds())
	if a.status != http.StatusOK {
		counted.Errors.WithLabelValues(path).Inc()
	}
	switch a.result {
	case resultTooLarge:
		counted.TooLarge.WithLabelValues(path).Inc()
	case resultUnauthenticated, resultSmuggled, resultUnknown, resultAmbiguous, resultRevoked:
		counted.Unproven.WithLabelValues(path).Inc()
	}
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	if a.status == http.StatusMethodNotAllowed {
		header.Set("Allow", http.MethodPost)
	}
	if a.after > 0 {
		header.Set("Retry-After", strconv.Itoa(a.after))
	}
	// A gateway's connection also carries requests of other agents.
	if a.hangUp && l.options.Routing == desired.RoutingDirect {
		header.Set("Connection", "close")
	}
	w.WriteHeader(a.status)
	if a.text != "" {
		_, _ = io.WriteString(w, a.text+"\n")
	}
}

// otherPath stands for all paths that the listener does not serve.
const otherPath = "other"

// pathOf returns the path of a request as a metric label. Unknown paths become otherPath, so that senders cannot create
// series.
func (l *Listener) pathOf(r *http.Request) string {
	switch path := r.URL.Path; path {
	case shared.EventPath(l.options.Manager), shared.EventPathV1(l.options.Manager):
		return path
	}
	return otherPath
}

// handle decides on a request. It identifies the sender before it reads the body.
func (l *Listener) handle(w http.ResponseWriter, r *http.Request) answer {
	if l.pathOf(r) == otherPath {
		return answer{result: resultNotFound, status: http.StatusNotFound, text: "404 page not found"}
	}
	if r.Method != http.MethodPost {
		return answer{result: resultMethod, status: http.StatusMethodNotAllowed, text: "send events with POST"}
	}
	if l.stopping.Load() {
		return answer{result: resultOverloaded, status: http.StatusServiceUnavailable, text: "the listener is shutting down, try again", after: afterMoment, hangUp: true}
	}
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	default:
		return answer{result: resultOverloaded, status: http.StatusServiceUnavailable, text: "too many concurrent requests, try again", after: afterMoment}
	}
	shown, err := l.identify(r)
	if err != nil {
		return refused(err)
	}
	runtimeID := shown.name
	if c, ok := connectionOf(r.Context()); ok {
		name := runtimeID
		if l.options.Routing != desired.RoutingDirect {
			name = ""
		}
		if !c.prove(name) {
			return answer{result: resultOverloaded, status: http.StatusTooManyRequests, text: "too many connections from this cluster", after: afterPause, hangUp: true}
		}
	}
	if !l.clusters.begin(runtimeID) {
		return answer{result: resultOverloaded, status: http.StatusTooManyRequests, text: "too many concurrent requests from this cluster", after: afterMoment}
	}
	defer l.clusters.end(runtimeID)
	kyma, err := l.kymaOf(r.Context(), runtimeID)
	if err != nil {
		if errors.Is(err, errAmbiguous) {
			l.log.say(err, "events are refused", logkey.Name, runtimeID)
		}
		return refused(err)
	}
	if pki.IsRevoked(shown.serial, kyma.Annotations[shared.AnnotationRevokedCertificates]) {
		return refused(errRevoked)
	}
	e, failed := read(w, r)
	if failed != nil {
		return *failed
	}
	items, err := l.itemsFor(r.Context(), kyma, e)
	if err != nil {
		return refused(err)
	}
	l.options.Log.V(1).Info("event from a remote cluster", logkey.Kyma, kyma.Namespace+"/"+kyma.Name, logkey.Kind, kindOf(e).String(),
		logkey.Namespace, e.Watched.Namespace, logkey.Name, e.Watched.Name)
	switch l.kicker.put(items) {
	case queue.Full:
		return answer{result: resultOverloaded, status: http.StatusServiceUnavailable, text: "too many waiting events, try again", after: afterPause}
	case queue.Merged:
		return answer{result: resultMerged, status: http.StatusOK}
	default:
		return answer{result: resultAccepted, status: http.StatusOK}
	}
}

// refused returns the answer for an identity that is refused or unknown. An unknown identity may become known in a
// moment, and agents retry after 401.
func refused(err error) answer {
	a := answer{result: resultUnauthenticated, status: http.StatusUnauthorized, text: err.Error(), hangUp: true}
	switch {
	case errors.Is(err, errSmuggled):
		a.result = resultSmuggled
	case errors.Is(err, errAnonymous):
		a.status = http.StatusBadRequest
	case errors.Is(err, errUnknown):
		a.result = resultUnknown
	case errors.Is(err, errAmbiguous):
		a.result = resultAmbiguous
	case errors.Is(err, errRevoked):
		a.result = resultRevoked
	case errors.Is(err, errMissing), errors.Is(err, errNotVerified), errors.Is(err, errUntrusted):
	default:
		// There are no authorities yet, or a cache cannot be read.
		a = answer{result: resultNotReady, status: http.StatusServiceUnavailable, text: "the listener is not ready", after: afterPause}
	}
	return a
}

// read reads the body of a request. The server bounds its time.
func read(w http.ResponseWriter, r *http.Request) (shared.RemoteEvent, *answer) {
	tooLarge := &answer{result: resultTooLarge, status: http.StatusRequestEntityTooLarge, text: "an event has " + strconv.Itoa(shared.MaxEventBytes) + " bytes at most", hangUp: true}
	if r.ContentLength > shared.MaxEventBytes {
		return shared.RemoteEvent{}, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, shared.MaxEventBytes))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return shared.RemoteEvent{}, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return shared.RemoteEvent{}, &answer{result: resultTimeout, status: http.StatusRequestTimeout, text: "the event took too long", hangUp: true}
	case err != nil:
		return shared.RemoteEvent{}, &answer{result: resultInvalid, status: http.StatusBadRequest, text: "the event could not be read", hangUp: true}
	}
	e, err := event.Parse(body)
	if err != nil {
		return shared.RemoteEvent{}, &answer{result: resultInvalid, status: http.StatusBadRequest, text: err.Error()}
	}
	return e, nil
}
