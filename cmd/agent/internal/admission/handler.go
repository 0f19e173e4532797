// Package admission is the agent's webhook: it allows whatever the API server asks about, and says which of it changed
// something that a manager wants to know of.
package admission

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

const (
	// MaxReviewBytes is the largest review that is read. It has an object twice, which etcd takes up to 1.5 MiB of, and
	// who asks for what.
	MaxReviewBytes = 2*(3<<19) + 256<<10
	// maxHeldBytes is what the bodies of all reviews that are read at the same time have together. The others wait.
	maxHeldBytes = 2 * MaxReviewBytes
	// apiVersion and kind are the only ones that the webhook is registered for.
	apiVersion, kind = "admission.k8s.io/v1", "AdmissionReview"
)

// manager is what a label can have as its value, for the name comes from one.
var manager = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)

// Reporter takes what is to be reported, and returns at once.
type Reporter interface {
	Report(manager string, event shared.RemoteEvent)
}

// Observer counts what the webhook is asked.
type Observer interface {
	// Asked is called for each request, Answered after it.
	Asked()
	Answered(duration time.Duration)
	// Misunderstood is called for requests that cannot be read, or of which no event can be made.
	Misunderstood()
}

// Handler answers reviews.
type Handler struct {
	reporter Reporter
	observer Observer
	timeout  time.Duration
	log      *slog.Logger
	held     *semaphore.Weighted
}

// NewHandler makes a Handler that answers within timeout.
func NewHandler(reporter Reporter, observer Observer, timeout time.Duration, log *slog.Logger) http.Handler {
	h := &Handler{reporter: reporter, observer: observer, timeout: timeout, log: log, held: semaphore.NewWeighted(maxHeldBytes)}
	mux := http.NewServeMux()
	mux.Handle("POST "+shared.ValidatePath("{manager}"), h)
	return mux
}

// ServeHTTP answers a review. What cannot be read is refused as a request; the API server then goes on without an
// answer, as the webhook's failurePolicy is Ignore.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	h.observer.Asked()
	defer func() { h.observer.Answered(time.Since(begin)) }()
	ctx, cancel := context.WithTimeout(r.Context(), h.timeout)
	defer cancel()
	asked, status := h.read(ctx, w, r)
	if asked == nil {
		h.observer.Misunderstood()
		http.Error(w, http.StatusText(status), status)
		return
	}
	if err := allow(w, asked.UID); err != nil {
		h.log.Debug("an answer did not arrive", logkey.Error, err)
	}
	h.report(r.PathValue("manager"), asked)
}

// read reads a review within the context's time.
func (h *Handler) read(ctx context.Context, w http.ResponseWriter, r *http.Request) (*request, int) {
	size := r.ContentLength
	if size > MaxReviewBytes {
		return nil, http.StatusRequestEntityTooLarge
	}
	if size < 0 {
		size = MaxReviewBytes
	}
	if err := h.held.Acquire(ctx, size); err != nil {
		return nil, http.StatusServiceUnavailable
	}
	defer h.held.Release(size)
	if deadline, has := ctx.Deadline(); has {
		// Where this is not supported, as in tests without a connection, nothing is slow.
		_ = http.NewResponseController(w).SetReadDeadline(deadline)
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, MaxReviewBytes), r.ContentLength)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, http.StatusRequestEntityTooLarge
	} else if err != nil {
		return nil, http.StatusRequestTimeout
	}
	var asked review
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, http.StatusBadRequest
	}
	if asked.APIVersion != apiVersion || asked.Kind != kind || asked.Request == nil || asked.Request.UID == "" {
		return nil, http.StatusBadRequest
	}
	return asked.Request, http.StatusOK
}

// readAll reads a body into no more memory than it needs, where its size is known.
func readAll(body io.Reader, size int64) ([]byte, error) {
	if size < 0 {
		return io.ReadAll(body)
	}
	content := make([]byte, size)
	_, err := io.ReadFull(body, content)
	return content, err
}

// answer is an AdmissionReview with a response.
type answer struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Response   response `json:"response"`
}

type response struct {
	UID     string `json:"uid"`
	Allowed bool   `json:"allowed"`
}

// allow answers at once, before anything else is done.
func allow(w http.ResponseWriter, uid string) error {
	content, err := json.Marshal(answer{APIVersion: apiVersion, Kind: kind, Response: response{UID: uid, Allowed: true}})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(content)
	return err
}

func (h *Handler) report(to string, asked *request) {
	if asked.DryRun || !asked.changed() {
		return
	}
	event := asked.event()
	if event.Watched.Name == "" || event.WatchedGVK.Kind == "" || !manager.MatchString(to) {
		h.observer.Misunderstood()
		h.log.Warn("a change is not reported, as the request does not name the object or the manager", logkey.Kind, asked.Kind.Kind)
		return
	}
	h.reporter.Report(to, event)
}
