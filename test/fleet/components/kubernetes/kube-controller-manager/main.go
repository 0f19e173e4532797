// Command kube-controller-manager is what a local cluster has besides etcd and the API server, in one process: Kubernetes'
// own controller manager, its scheduler, and a simulated node (node.go). One process starts faster than three, and one
// program links faster.
//
// Its flags are those of Kubernetes' kube-controller-manager. Scheduler and node use the same --kubeconfig.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/cli"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

func main() {
	command := app.NewControllerManagerCommand()
	manage := command.RunE
	command.RunE = func(command *cobra.Command, arguments []string) error {
		config, err := clientcmd.BuildConfigFromFlags("", command.Flag("kubeconfig").Value.String())
		if err != nil {
			return fmt.Errorf("read the kubeconfig of scheduler and node: %w", err)
		}
		// The controller manager would configure the log while the two others begin to use it, which now and then is a panic.
		if err := logsapi.ValidateAndApply(logsapi.NewLoggingConfiguration(), nil); err != nil {
			return fmt.Errorf("configure the log: %w", err)
		}
		logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
		// Both end with the process, as the controllers do.
		ctx := context.Background()
		if err := startScheduler(ctx, config); err != nil {
			return err
		}
		if err := startNode(ctx, config); err != nil {
			return err
		}
		return manage(command, arguments)
	}
	os.Exit(cli.Run(command))
}

// clientFor returns a client without a rate limit, whose requests carry the name of a component.
func clientFor(config *rest.Config, component string) (kubernetes.Interface, error) {
	config = rest.AddUserAgent(config, component)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client of %s: %w", component, err)
	}
	return client, nil
}

// startScheduler runs Kubernetes' scheduler with its default profile.
func startScheduler(ctx context.Context, config *rest.Config) error {
	const name = "kube-scheduler"
	client, err := clientFor(config, name)
	if err != nil {
		return err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("record the events of %s: %w", name, err)
	}
	informerName, err := cache.NewInformerName(name)
	if err != nil {
		return fmt.Errorf("name the informers of %s: %w", name, err)
	}
	informers := scheduler.NewInformerFactory(client, 0, informerName)
	made, err := scheduler.New(ctx, client, informers, nil, profile.NewRecorderFactory(broadcaster))
	if err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	informers.Start(ctx.Done())
	go func() {
		if err := made.WaitForHandlersSync(ctx); err != nil {
			klog.ErrorS(err, "the scheduler does not start")
			return
		}
		made.Run(ctx)
	}()
	return nil
}
