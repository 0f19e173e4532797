package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/memfleet"
)

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "memfleet",
		Short:         "Runs fake Kubernetes API servers for tests with thousands of clusters",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(serveCommand())
	return root
}

type serveSettings struct {
	memfleet.Options
	listen   string
	stateDir string
	latency  time.Duration
	faults   string
	ownerPID int
}

func serveCommand() *cobra.Command {
	s := &serveSettings{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serves clusters until SIGTERM",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return s.serve(cmd.Context(), cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.IntVar(&s.Clusters, "clusters", 1, "how many clusters there are")
	flags.StringVar(&s.listen, "listen", "127.0.0.1:0", "address to listen on; port 0 for a free one")
	flags.StringVar(&s.stateDir, "state-dir", "", "folder for ca.crt, kubeconfigs and address")
	flags.DurationVar(&s.latency, "latency", 0, "how much longer each answer takes")
	flags.DurationVar(&s.ReadyAfter, "ready-after", time.Second, "when workloads and custom resources of --ready become ready")
	flags.DurationVar(&s.ReadySpread, "ready-spread", 0, "how much later than --ready-after that is at most, for each object by its name")
	flags.DurationVar(&s.EstablishAfter, "establish-after", 100*time.Millisecond, "when definitions are served")
	flags.StringSliceVar(&s.Ready, "ready", nil, "API groups, or kinds as plural.group, whose custom resources get status.state Ready by themselves")
	flags.StringVar(&s.faults, "faults", "", "file of faults, see README.md")
	flags.IntVar(&s.ownerPID, "owner-pid", 0, "end once the process with this id has ended")
	_ = cmd.MarkFlagRequired("state-dir")
	return cmd
}

func (s *serveSettings) serve(ctx context.Context, out io.Writer) error {
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	// The heap is small: to collect garbage half as often costs little memory.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	if err := s.readFaults(); err != nil {
		return err
	}
	fleet, err := memfleet.New(ctx, s.Options)
	if err != nil {
		return err
	}
	listener, err := fleet.Listen(ctx, s.listen)
	if err != nil {
		return err
	}
	if err := listener.WriteState(s.stateDir); err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		fleet.Run(ctx)
		return nil
	})
	group.Go(func() error { return listener.Serve(ctx) })
	if s.ownerPID > 0 {
		group.Go(func() error {
			awaitEnd(ctx, s.ownerPID)
			end(errOwnerEnded)
			return nil
		})
	}
	_, _ = fmt.Fprintf(out, "ready: %d clusters at https://%s/clusters/%s to %s\n", s.Clusters, listener.Address(), memfleet.Name(0), memfleet.Name(s.Clusters-1))
	return group.Wait()
}

var errOwnerEnded = errors.New("the owner has ended")

func (s *serveSettings) readFaults() error {
	if s.faults != "" {
		text, err := os.ReadFile(s.faults)
		if err != nil {
			return fmt.Errorf("read the faults: %w", err)
		}
		if s.Faults, err = memfleet.ParseFaults(text); err != nil {
			return err
		}
	}
	if s.latency > 0 {
		every := memfleet.Rule{Name: "--latency", Latency: &memfleet.Latency{Fixed: metav1.Duration{Duration: s.latency}}}
		s.Faults.Rules = append(s.Faults.Rules, every)
	}
	return nil
}

// awaitEnd returns when the process has ended, or the context has.
func awaitEnd(ctx context.Context, pid int) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if !runs(pid) {
				return
			}
		}
	}
}
