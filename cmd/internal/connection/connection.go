// Package connection configures the connections to Temporal and the control plane. It also connects commands to
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

// Options returns the Temporal options from the environment: TEMPORAL_ADDRESS and the other variables of the SDK.
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

// IsGiven reports whether the environment has the address of Temporal. Without it, Options returns the default address.
func IsGiven() bool {
	options, err := envconfig.LoadDefaultClientOptions()
	return err == nil && options.HostPort != ""
}

// Dial connects to the Temporal of the environment. It returns the client and its namespace.
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

// Connect connects with options from Options.
func Connect(ctx context.Context, options temporal.Options) (temporal.Client, error) {
	connected, err := temporal.DialContext(ctx, options)
	if err == nil {
		return connected, nil
	}
	if !IsGiven() {
		return nil, fmt.Errorf("connect to Temporal at the default address %s, because TEMPORAL_ADDRESS is not set: %w", options.HostPort, err)
	}
	return nil, fmt.Errorf("connect to Temporal at %s: %w", options.HostPort, err)
}
