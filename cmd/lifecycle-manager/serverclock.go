package main

import (
	"net/http"
	"sync"
	"time"
)

// serverClock reads the time off the answers of an API server: clocks of processes in its cluster agree with it, while
// that of a laptop may be minutes off.
type serverClock struct {
	mu   sync.Mutex
	time time.Time
}

// now is the time of the last answer, and this machine's before the first.
func (c *serverClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.time.IsZero() {
		return time.Now()
	}
	return c.time
}

// follow lets a transport set the clock.
func (c *serverClock) follow(next http.RoundTripper) http.RoundTripper {
	return clockedTransport{next: next, clock: c}
}

type clockedTransport struct {
	next  http.RoundTripper
	clock *serverClock
}

// RoundTrip implements http.RoundTripper.
func (t clockedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return response, err
	}
	if said, unreadable := http.ParseTime(response.Header.Get("Date")); unreadable == nil {
		t.clock.mu.Lock()
		t.clock.time = said
		t.clock.mu.Unlock()
	}
	return response, nil
}
