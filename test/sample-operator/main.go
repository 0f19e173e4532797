// Command sample-operator is the operator of the sample module, run as a process
// beside clusters whose nodes run no containers. It takes every Sample to the
// state that its spec asks for, Ready by default, and has a finalizer on it.
//
// It represents the module's Deployment: by default it works only while that
// Deployment has an available replica, so that a Sample is not reconciled, with its
// finalizer, once the module is gone from the cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type options struct {
	kubeconfigs []string
	namespace   string
	while       string
	as          string
	retry       time.Duration
}

var errLiveness = errors.New("--while takes available, exists or always")

func main() {
	os.Exit(run())
}

func run() (exitCode int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := newCommand(log).ExecuteContext(ctx); err != nil {
		log.Error("sample operator ends", "error", err)
		return 1
	}
	return 0
}

func newCommand(log *slog.Logger) *cobra.Command {
	var chosen options
	command := &cobra.Command{
		Use:           "sample-operator --kubeconfig FILE [--kubeconfig FILE ...]",
		Short:         "Serve the Samples of one or more clusters",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			return serveClusters(command.Context(), chosen, log)
		},
	}
	flags := command.Flags()
	flags.StringArrayVar(&chosen.kubeconfigs, "kubeconfig", nil, "kubeconfig of a cluster; may be repeated")
	flags.StringVar(&chosen.namespace, "namespace", "kyma-system", "namespace of the module's Deployment and ConfigMap")
	flags.StringVar(&chosen.while, "while", string(whileAvailable), "work while the module's Deployment is available, or exists; or always")
	flags.StringVar(&chosen.as, "as", "", "user to impersonate, such as system:serviceaccount:kyma-system:sample-operator, so that the module's own roles are needed")
	flags.DurationVar(&chosen.retry, "retry", 250*time.Millisecond, "time between two attempts while something is missing")
	if err := command.MarkFlagRequired("kubeconfig"); err != nil {
		panic(err) // a flag that was defined above
	}
	return command
}

// serveClusters serves all clusters until the context ends.
func serveClusters(ctx context.Context, chosen options, log *slog.Logger) error {
	switch liveness(chosen.while) {
	case whileAvailable, whileExists, always:
	default:
		return errLiveness
	}
	operators := make([]*operator, 0, len(chosen.kubeconfigs))
	for _, path := range chosen.kubeconfigs {
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			return fmt.Errorf("read kubeconfig %s: %w", path, err)
		}
		config.Impersonate = rest.ImpersonationConfig{UserName: chosen.as}
		config.UserAgent = operatorName
		// Asking for what is missing must not slow down serving what is there.
		config.QPS, config.Burst = 50, 100
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("connect to cluster of %s: %w", path, err)
		}
		operators = append(operators, &operator{
			client: client, namespace: chosen.namespace, liveness: liveness(chosen.while),
			retry: chosen.retry, resync: 30 * time.Second, log: log.With("cluster", config.Host),
		})
	}
	var running sync.WaitGroup
	for _, served := range operators {
		running.Go(func() { served.run(ctx) })
	}
	running.Wait()
	return nil
}
