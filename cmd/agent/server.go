package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// Limits of each server. API servers keep one connection each, and send many requests on it.
const (
	maxConnections    = 64
	maxStreams        = 64
	maxHeaderBytes    = 16 << 10
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 10 * time.Second
	idleTimeout       = 5 * time.Minute
	// windowBytes is how much a client may send ahead on one request, connectionBytes on all requests of a
	// connection.
	windowBytes     = 64 << 10
	connectionBytes = 256 << 10
)

// server serves one port.
type server struct {
	name, address string
	handler       http.Handler
	// secure is nil for a server without TLS.
	secure    *tls.Config
	stopAfter time.Duration
	log       *slog.Logger
	open      atomic.Bool
}

// listening reports whether the port is open.
func (s *server) listening() bool { return s.open.Load() }

// run serves until the context ends, and then waits for running requests, for at most stopAfter.
func (s *server) run(ctx context.Context) error {
	var config net.ListenConfig
	port, err := config.Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("open the port of the %s: %w", s.name, err)
	}
	port = netutil.LimitListener(port, maxConnections)
	serving := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, TLSConfig: s.secure,
		// An aborted handshake, for example by a port probe, needs no action.
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: windowBytes, MaxReceiveBufferPerConnection: connectionBytes},
	}
	failed := make(chan error, 1)
	go func() {
		if s.secure != nil {
			failed <- serving.ServeTLS(port, "", "")
		} else {
			failed <- serving.Serve(port)
		}
	}()
	s.open.Store(true)
	defer s.open.Store(false)
	s.log.Info("listening", logkey.Role, s.name, logkey.Address, port.Addr().String())
	select {
	case err := <-failed:
		return fmt.Errorf("serve the %s: %w", s.name, err)
	case <-ctx.Done():
	}
	s.open.Store(false)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.stopAfter)
	defer cancel()
	if err := serving.Shutdown(stopping); err != nil {
		_ = serving.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the %s: %w", s.name, err)
	}
	return nil
}

// serving returns the handler for metrics.
func serving(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	return mux
}

// probing returns the handler for probes. They do not depend on the listener in the control plane, because a restart
// would not repair it.
func probing(ready func() bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "the webhook is not listening", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusOK)
	})
	return mux
}
