package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/admission"
	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/certificates"
	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/metrics"
	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/queue"
	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/report"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// memoryLimit limits Go's heap: garbage collection becomes more frequent near the limit. The whole process, with its
// code, stays below 30 MiB.
const memoryLimit = 18 << 20

func execute(ctx context.Context, args []string, environment func(string) (string, bool), out, logs io.Writer) error {
	s, err := parse(args, environment, out)
	if errors.Is(err, errHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if s.version {
		_, err := fmt.Fprintf(out, "agent %s (commit %s)\n", version, commit)
		return err
	}
	if _, set := environment("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(memoryLimit)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.logLevel)); err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(logs, &slog.HandlerOptions{Level: level}))
	log.Info("starting", logkey.Version, version, logkey.Commit, commit, logkey.Address, s.listener)
	return newAgent(s, log).run(ctx)
}

// agent holds the parts of the process.
type agent struct {
	settings *settings
	log      *slog.Logger
	queue    *queue.Queue
	metrics  *metrics.Metrics
	keeper   *certificates.Keeper
	client   *report.Client
	// loaded is closed once a certificate is loaded.
	loaded chan struct{}
}

func newAgent(s *settings, log *slog.Logger) *agent {
	a := &agent{settings: s, log: log, queue: queue.New(s.queueSize), loaded: make(chan struct{})}
	a.metrics = metrics.New(version, a.queue.Len)
	a.keeper = certificates.New(s.files, s.readInterval, a, log)
	a.client = report.NewClient(s.listener, s.contract, s.reportTimeout, a.keeper)
	return a
}

// Report implements admission.Reporter.
func (a *agent) Report(manager string, event shared.RemoteEvent) {
	a.metrics.Added(a.queue.Add(queue.Event{Manager: manager, RemoteEvent: event}))
}

// CertificateLoaded implements certificates.Observer. It retries all events, because the listener may accept the new
// certificate.
func (a *agent) CertificateLoaded(leaf *x509.Certificate) {
	a.metrics.CertificateLoaded(leaf)
	a.client.Renew()
	a.queue.Wake()
	select {
	case <-a.loaded:
	default:
		close(a.loaded)
	}
}

// CertificateBroken implements certificates.Observer.
func (a *agent) CertificateBroken() { a.metrics.CertificateBroken() }

// run runs until the context ends, and then sends queued events for up to stopAfter.
func (a *agent) run(ctx context.Context) error {
	working, fail := errgroup.WithContext(ctx)
	working.Go(func() error { return a.keeper.Run(fail) })

	probes := &server{name: "probes", address: a.settings.address(a.settings.probePort), stopAfter: a.settings.stopAfter, log: a.log}
	webhook := &server{
		name: "webhook", address: a.settings.address(a.settings.port), secure: a.keeper.Server(), stopAfter: a.settings.stopAfter, log: a.log,
		handler: admission.NewHandler(a, a.metrics, a.settings.timeout, a.log),
	}
	probes.handler = probing(webhook.listening)
	exporter := &server{name: "metrics", address: a.settings.address(a.settings.metricsPort), handler: serving(a.metrics.Handler()), stopAfter: a.settings.stopAfter, log: a.log}
	working.Go(func() error { return probes.run(fail) })
	working.Go(func() error { return exporter.run(fail) })
	working.Go(func() error {
		// Open no port before there is a certificate, so that a probe of the port fails.
		select {
		case <-a.loaded:
			return webhook.run(fail)
		case <-fail.Done():
			return nil
		}
	})

	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		report.NewSender(a.queue, a.client, a.metrics, a.log).Run(sending)
	}()
	err := working.Wait()
	a.queue.Close()
	a.drain(sent)
	stopSending()
	<-sent
	a.log.Info("stopped", logkey.Total, a.queue.Len(), logkey.Reason, signalled(ctx))
	return err
}

// drain waits until all queued events are sent, for at most stopAfter.
func (a *agent) drain(sent <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), a.settings.stopAfter)
	defer cancel()
	select {
	case <-sent:
	case <-ctx.Done():
	}
}

func signalled(ctx context.Context) string {
	if ctx.Err() != nil {
		return "SIGTERM"
	}
	return "failed"
}
