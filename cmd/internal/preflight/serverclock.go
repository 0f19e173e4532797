package preflight

import (
	"net/http"
	"sync"
	"time"
)

// ServerClock reads the time from the answers of an API server. The clocks of processes in its cluster agree with it,
// while a laptop's clock may be minutes off.
type ServerClock struct {
	mu   sync.Mutex
	time time.Time
}

// Now returns the time of the last answer, and this machine's time before the first answer.
func (c *ServerClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.time.IsZero() {
		return time.Now()
	}
	return c.time
}

// Last returns the time of the last answer; zero before the first.
func (c *ServerClock) Last() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.time
}

// Follow returns a transport that sets the clock.
func (c *ServerClock) Follow(next http.RoundTripper) http.RoundTripper {
	return clockedTransport{next: next, clock: c}
}

type clockedTransport struct {
	next  http.RoundTripper
	clock *ServerClock
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
