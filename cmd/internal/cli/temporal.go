package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
)

// ConnectTimeout bounds how long connecting may take.
const ConnectTimeout = 30 * time.Second

// TemporalOptions returns the Temporal options from the environment: TEMPORAL_ADDRESS and the other variables of the SDK.
func TemporalOptions() (temporal.Options, error) {
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

// HasTemporalAddress reports whether the environment has the address of Temporal. Without it, TemporalOptions returns the default address.
func HasTemporalAddress() bool {
	options, err := envconfig.LoadDefaultClientOptions()
	return err == nil && options.HostPort != ""
}

// DialTemporal connects to the Temporal of the environment. It returns the client and its namespace.
func DialTemporal(ctx context.Context) (temporal.Client, string, error) {
	options, err := TemporalOptions()
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	connected, err := ConnectTemporal(ctx, options)
	return connected, options.Namespace, err
}

// ConnectTemporal connects with options from Options.
func ConnectTemporal(ctx context.Context, options temporal.Options) (temporal.Client, error) {
	connected, err := temporal.DialContext(ctx, options)
	if err == nil {
		return connected, nil
	}
	if !HasTemporalAddress() {
		return nil, fmt.Errorf("connect to Temporal at the default address %s, because TEMPORAL_ADDRESS is not set: %w", options.HostPort, err)
	}
	return nil, fmt.Errorf("connect to Temporal at %s: %w", options.HostPort, err)
}
