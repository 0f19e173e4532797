// Package cliext stands in for the module of the same name that Temporal's command line is built with. Temporal publishes
// that module in its repository only, and the Go module proxy does not have it. This one has the flags of commands against
// a fleet: without TLS and credentials, which a profile of the configuration file can still give.
package cliext

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
)

// CommonOptions are the flags of each command.
type CommonOptions struct {
	Env                     string
	EnvFile                 string
	LogLevel                FlagStringEnum
	LogFormat               FlagStringEnum
	Output                  FlagStringEnum
	TimeFormat              FlagStringEnum
	Color                   FlagStringEnum
	NoJsonShorthandPayloads bool
	CommandTimeout          FlagDuration
	ClientConnectTimeout    FlagDuration
	ConfigFile              string
	Profile                 string
	DisableConfigFile       bool
	DisableConfigEnv        bool
}

// BuildFlags adds the flags to a set.
func (o *CommonOptions) BuildFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Env, "env", "default", "Active environment name.")
	f.StringVar(&o.EnvFile, "env-file", "", "Path to the environment settings file.")
	o.LogLevel = NewFlagStringEnum([]string{"debug", "info", "warn", "error", "never"}, "never")
	f.Var(&o.LogLevel, "log-level", "Log level: debug, info, warn, error or never.")
	o.LogFormat = NewFlagStringEnum([]string{"text", "json", "pretty"}, "text")
	f.Var(&o.LogFormat, "log-format", "Log format: text or json.")
	o.Output = NewFlagStringEnum([]string{"text", "json", "jsonl", "none"}, "text")
	f.VarP(&o.Output, "output", "o", "Output format: text, json, jsonl or none.")
	o.TimeFormat = NewFlagStringEnum([]string{"relative", "iso", "raw"}, "relative")
	f.Var(&o.TimeFormat, "time-format", "Time format: relative, iso or raw.")
	o.Color = NewFlagStringEnum([]string{"always", "never", "auto"}, "auto")
	f.Var(&o.Color, "color", "Output coloring: always, never or auto.")
	f.BoolVar(&o.NoJsonShorthandPayloads, "no-json-shorthand-payloads", false, "Print payloads raw.")
	f.Var(&o.CommandTimeout, "command-timeout", "Timeout of the command; 0 is none.")
	f.Var(&o.ClientConnectTimeout, "client-connect-timeout", "Timeout of the connection; 0 is none.")
	f.StringVar(&o.ConfigFile, "config-file", "", "Path of the configuration file.")
	f.StringVar(&o.Profile, "profile", "", "Profile of the configuration file.")
	f.BoolVar(&o.DisableConfigFile, "disable-config-file", false, "Do not read the configuration file.")
	f.BoolVar(&o.DisableConfigEnv, "disable-config-env", false, "Do not read settings from environment variables.")
}

// Description is the help about the flags.
func (*CommonOptions) Description() string { return "" }

// ClientOptions are the flags of each command that connects to a server.
type ClientOptions struct {
	Address   string
	Namespace string
	Identity  string

	flags *pflag.FlagSet
}

// BuildFlags adds the flags to a set.
func (o *ClientOptions) BuildFlags(f *pflag.FlagSet) {
	o.flags = f
	f.StringVar(&o.Address, "address", client.DefaultHostPort, "Address of the server.")
	f.StringVarP(&o.Namespace, "namespace", "n", client.DefaultNamespace, "Namespace.")
	f.StringVar(&o.Identity, "identity", "", "Identity of the client.")
}

// HideFlags hides the flags from the help of each command; `temporal options` lists them.
func (o *ClientOptions) HideFlags() {
	for _, name := range []string{"address", "namespace", "identity"} {
		_ = o.flags.MarkHidden(name)
	}
}

// Description is the help about the flags.
func (*ClientOptions) Description() string { return "" }

// ClientOptionsBuilder makes the options of a client from flags, environment and configuration file, in this order.
type ClientOptionsBuilder struct {
	CommonOptions CommonOptions
	ClientOptions ClientOptions
	EnvLookup     envconfig.EnvLookup
	Logger        *slog.Logger
	// PayloadCodec is always nil: a fleet has no codec.
	PayloadCodec converter.PayloadCodec
}

// Build returns the options.
func (b *ClientOptionsBuilder) Build(context.Context) (client.Options, error) {
	options, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{
		ConfigFilePath: b.CommonOptions.ConfigFile, ConfigFileProfile: b.CommonOptions.Profile,
		DisableFile: b.CommonOptions.DisableConfigFile, DisableEnv: b.CommonOptions.DisableConfigEnv, EnvLookup: b.EnvLookup,
	})
	if err != nil {
		return client.Options{}, fmt.Errorf("load settings of Temporal's client: %w", err)
	}
	flags := b.ClientOptions
	if options.HostPort == "" || flags.changed("address") {
		options.HostPort = flags.Address
	}
	if options.Namespace == "" || flags.changed("namespace") {
		options.Namespace = flags.Namespace
	}
	options.Identity = flags.Identity
	options.Logger = log.NewStructuredLogger(b.Logger)
	return options, nil
}

func (o ClientOptions) changed(name string) bool { return o.flags != nil && o.flags.Changed(name) }

// NewLogger returns the logger of a command.
func NewLogger(o CommonOptions, out io.Writer) (*slog.Logger, error) {
	if o.LogLevel.Value == "never" {
		return slog.New(slog.DiscardHandler), nil
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(strings.ToUpper(o.LogLevel.Value))); err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	options := &slog.HandlerOptions{Level: level}
	if o.LogFormat.Value == "json" {
		return slog.New(slog.NewJSONHandler(out, options)), nil
	}
	return slog.New(slog.NewTextHandler(out, options)), nil
}
