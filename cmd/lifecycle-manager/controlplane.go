package main

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// controlPlaneFlags say where the control plane is, for the commands that people call.
type controlPlaneFlags struct {
	kubeconfig, context string
}

func (f *controlPlaneFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the control plane; default: KUBECONFIG, then in-cluster, then ~/.kube/config")
	set.StringVar(&f.context, "context", "", "context of the kubeconfig; default: its current one")
}

// reader reads the control plane. Wrap, where given, wraps the transport.
func (f *controlPlaneFlags) reader(wrap ...transport.WrapperFunc) (client.Reader, error) {
	to, err := restConfig(f.kubeconfig, f.context)
	if err != nil {
		return nil, err
	}
	for _, each := range wrap {
		to.Wrap(each)
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	reader, err := client.New(to, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make the control plane client: %w", err)
	}
	return reader, nil
}

// restConfig is the configuration for the control plane; without a context, the current one counts.
func restConfig(kubeconfig, context string) (*rest.Config, error) {
	found, err := findConfig(kubeconfig, context)
	if err != nil {
		return nil, err
	}
	// What the API server has to say about our own objects it says with each of thousands of writes.
	found.WarningHandlerWithContext = log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{Deduplicate: true})
	return found, nil
}

func findConfig(kubeconfig, context string) (*rest.Config, error) {
	if kubeconfig == "" {
		found, err := config.GetConfigWithContext(context)
		if err != nil {
			return nil, fmt.Errorf("find the control plane: %w", err)
		}
		return found, nil
	}
	read, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", kubeconfig, err)
	}
	return read, nil
}
