package report

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/queue"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

const (
	// maxSending is how many requests to the listener run at once.
	maxSending = 8
	// maxUnknown is how often an event is sent if the listener's gateway answers 404: the route for a new Watcher may
	// appear later than its webhook.
	maxUnknown = 5
)

// Observer counts the results of events.
type Observer interface {
	// Requested is called before each request to the listener.
	Requested()
	// Arrived is called if the listener accepted an event.
	Arrived()
	// Failed is called if a request failed. Refused is called in addition if the event is dropped.
	Failed()
	Refused()
}

// Sender sends the events of a queue.
type Sender struct {
	queue    *queue.Queue
	client   *Client
	observer Observer
	log      *slog.Logger
}

// NewSender returns a Sender. It must be the only caller of the queue's Next.
func NewSender(from *queue.Queue, client *Client, observer Observer, log *slog.Logger) *Sender {
	return &Sender{queue: from, client: client, observer: observer, log: log}
}

// Run sends events until the context ends, or the queue is closed and empty.
func (s *Sender) Run(ctx context.Context) {
	var sending errgroup.Group
	sending.SetLimit(maxSending)
	for {
		taken, more := s.queue.Next(ctx)
		if !more {
			break
		}
		sending.Go(func() error {
			s.send(ctx, taken)
			return nil
		})
	}
	_ = sending.Wait()
}

func (s *Sender) send(ctx context.Context, taken queue.Taken) {
	s.observer.Requested()
	err := s.client.Send(ctx, taken.Event)
	if err == nil {
		s.observer.Arrived()
		s.queue.Sent(taken.Event)
		return
	}
	s.observer.Failed()
	log := s.log.With(logkey.Manager, taken.Manager, logkey.Kind, taken.WatchedGVK.Kind, logkey.Namespace, taken.Watched.Namespace,
		logkey.Name, taken.Watched.Name, logkey.Attempt, taken.Tries+1, logkey.Error, err)
	pause, again := decide(err, taken.Tries)
	if !again {
		log.Error("dropped an event, because the listener refused it")
		s.observer.Refused()
		s.queue.Drop(taken.Event)
		return
	}
	log.Warn("cannot send an event, will retry")
	s.queue.Retry(taken.Event, pause)
}

// decide reports whether to send an event again, and after which pause. It returns false if the failure is about the
// event itself.
func decide(err error, tries int) (queue.Pause, bool) {
	var answer *StatusError
	if !errors.As(err, &answer) {
		return queue.Pause{}, true
	}
	switch status := answer.Status; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status < http.StatusBadRequest:
		// Only another certificate, or an address that leads to the listener, can help.
		return queue.Pause{Slow: true, AtLeast: answer.RetryAfter}, true
	case status == http.StatusNotFound:
		return queue.Pause{AtLeast: answer.RetryAfter}, tries+1 < maxUnknown
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return queue.Pause{AtLeast: answer.RetryAfter}, true
	}
	return queue.Pause{}, false
}
