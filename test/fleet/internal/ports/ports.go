// Package ports finds TCP ports on the loopback interface.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"
)

// Loopback is the only address on which a fleet listens.
const Loopback = "127.0.0.1"

// Ports are taken from below the range that Linux and others use for outgoing
// connections (ip_local_port_range(7), from 32768 by default). A port of that
// range could be lost to any outgoing connection while its component is
// stopped, even to a client that tries to reach it.
const (
	lowest  = 20000
	highest = 32767
)

// ErrTaken says that a port is in use.
var ErrTaken = errors.New("port is taken")

// Chooser hands out free ports, each once.
type Chooser struct {
	mu     sync.Mutex
	random *rand.Rand
	given  map[int]bool
}

// NewChooser returns a chooser that draws ports with the given source, and
// never hands out those in use by others of the same fleet.
func NewChooser(source rand.Source, inUse ...int) *Chooser {
	chooser := &Chooser{random: rand.New(source), given: map[int]bool{}}
	for _, port := range inUse {
		chooser.given[port] = true
	}
	return chooser
}

// Choose returns a port that was free when it was checked. Nothing keeps
// others from taking it before it is used: the caller that starts a program on it has
// to be ready to choose again.
func (c *Chooser) Choose() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range 10 * (highest - lowest) {
		port := lowest + c.random.IntN(highest-lowest+1)
		if c.given[port] || Check(port) != nil {
			continue
		}
		c.given[port] = true
		return port, nil
	}
	return 0, fmt.Errorf("no free port between %d and %d", lowest, highest)
}

// Check returns an error that is ErrTaken when nothing can listen on the port
// right now.
func Check(port int) error {
	listener, err := net.Listen("tcp", Address(port))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTaken, err)
	}
	return listener.Close()
}

// pollEvery is how often a port is asked for while somebody waits for it.
const pollEvery = 100 * time.Millisecond

// AwaitFree waits until the port can be listened on, and returns the error of
// Check if that takes longer than the given time.
func AwaitFree(port int, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		err := Check(port)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pollEvery)
	}
}

// Address is the loopback address with the port, as in "127.0.0.1:20001".
func Address(port int) string {
	return net.JoinHostPort(Loopback, strconv.Itoa(port))
}
