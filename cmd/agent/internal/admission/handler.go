// Package admission is the agent's webhook. It allows every request of the API server, and reports the requests that
// change a field that a manager watches.
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
	// MaxReviewBytes is the size of the largest review that is accepted. A review contains the object twice, each up
	// to etcd's limit of 1.5 MiB, and the user.
	MaxReviewBytes = 2*(3<<19) + 256<<10
	// maxHeldBytes limits the bodies of all reviews that are read at the same time. Further reviews wait.
	maxHeldBytes = 2 * MaxReviewBytes
	// The webhook is registered for no other apiVersion and kind.
	apiVersion, kind = "admission.k8s.io/v1", "AdmissionReview"
)

// manager matches valid label values, because a manager's name comes from a label.
var manager = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)

// Reporter accepts events and returns at once.
type Reporter interface {
	Report(manager string, event shared.RemoteEvent)
}

// Observer counts requests to the webhook.
type Observer interface {
	// Asked is called before each request, Answered after it.
	Asked()
	Answered(duration time.Duration)
	// Misunderstood is called for a request that cannot be read, or that does not contain enough for an event.
	Misunderstood()
}

// Handler answers admission reviews.
type Handler struct {
	reporter Reporter
	observer Observer
	timeout  time.Duration
	log      *slog.Logger
	held     *semaphore.Weighted
}

// NewHandler returns a Handler that answers within timeout.
func NewHandler(reporter Reporter, observer Observer, timeout time.Duration, log *slog.Logger) http.Handler {
	h := &Handler{reporter: reporter, observer: observer, timeout: timeout, log: log, held: semaphore.NewWeighted(maxHeldBytes)}
	mux := http.NewServeMux()
	mux.Handle("POST "+shared.ValidatePath("{manager}"), h)
	return mux
}

// ServeHTTP answers a review. It returns an HTTP error for a request that it cannot read. The API server then
// continues without an answer, because the webhook's failurePolicy is Ignore.
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
		h.log.Debug("cannot send the answer to the API server", logkey.Error, err)
	}
	h.report(r.PathValue("manager"), asked)
}

// read reads a review before the context's deadline.
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
		// Tests without a connection do not support this.
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

// readAll reads a body. If the size is known, it allocates no more than that.
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

// allow sends the answer. It comes first, before any other work.
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
		h.log.Warn("cannot report a change: the request does not name the object or the manager", logkey.Kind, asked.Kind.Kind)
		return
	}
	h.reporter.Report(to, event)
}
