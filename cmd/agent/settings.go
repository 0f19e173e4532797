package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/certificates"
	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/report"
)

const (
	// mountPath is the mount path of the Secret in agents of the earlier generation.
	mountPath = "/app/etc/ssl"
	// defaultTimeout is well below the webhook timeout of the API server.
	defaultTimeout       = 2 * time.Second
	defaultReportTimeout = 10 * time.Second
	defaultStopTimeout   = 5 * time.Second
	defaultReadInterval  = time.Minute
	defaultQueueSize     = 10000
	maxQueueSize         = 100000
)

// settings holds the values of flags and environment variables.
type settings struct {
	bindAddress                       string
	port, metricsPort, probePort      int
	files                             certificates.Files
	readInterval                      time.Duration
	listener, contract                string
	timeout, reportTimeout, stopAfter time.Duration
	queueSize                         int
	logLevel                          string
	version                           bool
}

// flags returns the agent's flags. Each can also be set in the environment (see variable).
func (s *settings) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("agent", pflag.ContinueOnError)
	flags.SortFlags = false
	mounted := certificates.In(mountPath)
	flags.StringVar(&s.listener, "listener-address", "", "host:port of the listener in the control plane")
	flags.StringVar(&s.contract, "contract", report.ContractV2, "version of the listener's path: v1 or v2")
	flags.StringVar(&s.files.Certificate, "tls-cert", mounted.Certificate, "file with the certificate for the API server and the listener")
	flags.StringVar(&s.files.Key, "tls-key", mounted.Key, "file with the private key of the certificate")
	flags.StringVar(&s.files.Authorities, "ca-cert", mounted.Authorities, "file with the authorities that the agent trusts for the listener's certificate")
	flags.DurationVar(&s.readInterval, "certificate-interval", defaultReadInterval, "how often these files are read even if no change was noticed")
	flags.StringVar(&s.bindAddress, "bind-address", "", "address to listen on, for all ports; empty means all addresses")
	flags.IntVar(&s.port, "webhook-port", shared.AgentPort, "port of the webhook")
	flags.IntVar(&s.metricsPort, "metrics-port", shared.AgentMetricsPort, "port of /metrics")
	flags.IntVar(&s.probePort, "probe-port", shared.AgentProbePort, "port of /healthz and /readyz")
	flags.DurationVar(&s.timeout, "webhook-timeout", defaultTimeout, "timeout for reading a request from the API server")
	flags.DurationVar(&s.reportTimeout, "report-timeout", defaultReportTimeout, "timeout for a request to the listener")
	flags.DurationVar(&s.stopAfter, "stop-timeout", defaultStopTimeout, "how long queued events are still sent after SIGTERM")
	flags.IntVar(&s.queueSize, "queue-size", defaultQueueSize, "maximum number of changed objects that wait to be reported; further ones are dropped")
	flags.StringVar(&s.logLevel, "log-level", "info", "log level: debug, info, warn or error")
	flags.BoolVar(&s.version, "version", false, "print the version and exit")
	return flags
}

// variable returns the environment variable for a flag. Agents of the earlier generation use the same names, so that
// one Deployment can run either.
func variable(flag string) string {
	switch flag {
	case "listener-address":
		return "KCP_ADDR"
	case "contract":
		return "KCP_CONTRACT"
	}
	return strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// errHelp is returned after help was printed.
var errHelp = errors.New("help was requested")

// parse reads the flags, and the environment for flags that are not set.
func parse(args []string, environment func(string) (string, bool), out io.Writer) (*settings, error) {
	s := &settings{}
	flags := s.flags()
	flags.SetOutput(out)
	flags.Usage = func() {
		_, _ = fmt.Fprintf(out, "agent reports changes in this cluster to the control plane.\n\nEach flag can be set in the environment: KCP_ADDR for --listener-address, KCP_CONTRACT for --contract,\nand for other flags the name in capitals with underscores.\n\nFlags:\n%s", flags.FlagUsages())
	}
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil, errHelp
	} else if err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: the agent only has flags", flags.Arg(0))
	}
	var wrong error
	flags.VisitAll(func(flag *pflag.Flag) {
		if value, set := environment(variable(flag.Name)); set && !flag.Changed && flag.Name != "version" && wrong == nil {
			if err := flag.Value.Set(value); err != nil {
				wrong = fmt.Errorf("the environment variable %s: %w", variable(flag.Name), err)
			}
		}
	})
	if wrong != nil || s.version {
		return s, wrong
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

// check returns an error for settings that cannot work.
func (s *settings) check() error {
	if s.listener == "" {
		return errors.New("--listener-address (or KCP_ADDR) is missing: set it to host:port of the listener in the control plane")
	}
	host, port, err := net.SplitHostPort(s.listener)
	if err != nil || host == "" {
		return fmt.Errorf("--listener-address must be host:port, not %q", s.listener)
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return fmt.Errorf("--listener-address must end with a port, not %q", port)
	}
	if s.contract != report.ContractV1 && s.contract != report.ContractV2 {
		return fmt.Errorf("--contract must be %s or %s, not %q", report.ContractV1, report.ContractV2, s.contract)
	}
	for _, port := range []int{s.port, s.metricsPort, s.probePort} {
		if port < 1 || port > 65535 {
			return fmt.Errorf("a port must be between 1 and 65535, not %d", port)
		}
	}
	for _, each := range []time.Duration{s.timeout, s.reportTimeout, s.readInterval, s.stopAfter} {
		if each <= 0 {
			return fmt.Errorf("timeouts and intervals must be above zero, not %s", each)
		}
	}
	if s.queueSize < 1 || s.queueSize > maxQueueSize {
		return fmt.Errorf("--queue-size must be between 1 and %d, not %d", maxQueueSize, s.queueSize)
	}
	return new(slog.Level).UnmarshalText([]byte(s.logLevel))
}

func (s *settings) address(port int) string {
	return net.JoinHostPort(s.bindAddress, strconv.Itoa(port))
}
