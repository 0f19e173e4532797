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
	// maxSending is how many requests are on their way to the listener at once.
	maxSending = 8
	// maxUnknown is how often an event is sent that the listener's gateway does not know the path of: the route to a new
	// Watcher may be made after the webhook.
	maxUnknown = 5
)

// Observer counts what becomes of events.
type Observer interface {
	// Requested is called for each request to the listener, before it.
	Requested()
	// Arrived is called where the listener took an event.
	Arrived()
	// Failed is called where a request failed, Refused where the event is given up as well.
	Failed()
	Refused()
}

// Sender sends what is in a queue.
type Sender struct {
	queue    *queue.Queue
	client   *Client
	observer Observer
	log      *slog.Logger
}

// NewSender makes a Sender, the one taker of the queue.
func NewSender(from *queue.Queue, client *Client, observer Observer, log *slog.Logger) *Sender {
	return &Sender{queue: from, client: client, observer: observer, log: log}
}

// Run sends until the context ends, or the queue is closed and empty.
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
		log.Error("an event is given up, as the listener refuses it")
		s.observer.Refused()
		s.queue.Drop(taken.Event)
		return
	}
	log.Warn("an event did not arrive, it is sent again later")
	s.queue.Retry(taken.Event, pause)
}

// decide is whether an event is sent again, which helps where the failure is not about the event.
func decide(err error, tries int) (queue.Pause, bool) {
	var answer *StatusError
	if !errors.As(err, &answer) {
		return queue.Pause{}, true
	}
	switch status := answer.Status; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status < http.StatusBadRequest:
		// Until there is another certificate, or the address leads to the listener.
		return queue.Pause{Slow: true, AtLeast: answer.RetryAfter}, true
	case status == http.StatusNotFound:
		return queue.Pause{AtLeast: answer.RetryAfter}, tries+1 < maxUnknown
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return queue.Pause{AtLeast: answer.RetryAfter}, true
	}
	return queue.Pause{}, false
}
