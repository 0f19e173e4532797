// Package connection says how programs reach Temporal and the control plane, and connects commands that people call to
// Temporal.
package connection

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
)

// Timeout bounds how long connecting may take.
const Timeout = 30 * time.Second

// Options are those of the environment: TEMPORAL_ADDRESS and what else the SDK's configuration has.
func Options() (temporal.Options, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return options, fmt.Errorf("read the Temporal configuration from the environment: %w", err)
	}
	if options.Namespace == "" {
		options.Namespace = temporal.DefaultNamespace
	}
	if options.HostPort == "" {
		options.HostPort = temporal.DefaultHostPort
	}
	options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	return options, nil
}

// IsGiven reports whether the environment says where Temporal is. Without that, Options has the default address.
func IsGiven() bool {
	options, err := envconfig.LoadDefaultClientOptions()
	return err == nil && options.HostPort != ""
}

// Dial connects as the environment says, and returns the client and its namespace.
func Dial(ctx context.Context) (temporal.Client, string, error) {
	options, err := Options()
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	connected, err := Connect(ctx, options)
	return connected, options.Namespace, err
}

// Connect connects with options of the environment.
func Connect(ctx context.Context, options temporal.Options) (temporal.Client, error) {
	connected, err := temporal.DialContext(ctx, options)
	if err == nil {
		return connected, nil
	}
	if !IsGiven() {
		return nil, fmt.Errorf("connect to Temporal at %s, because the environment does not say where it is (TEMPORAL_ADDRESS): %w", options.HostPort, err)
	}
	return nil, fmt.Errorf("connect to Temporal at %s: %w", options.HostPort, err)
}
