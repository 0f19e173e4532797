package connection

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// ControlPlane returns the configuration for the control plane. It reads the given kubeconfig or, without one,
// KUBECONFIG, the in-cluster configuration, or ~/.kube/config. Without a context, it uses the current one.
func ControlPlane(kubeconfig, context string) (*rest.Config, error) {
	found, err := findConfig(kubeconfig, context)
	if err != nil {
		return nil, err
	}
	// The API server repeats its warnings about our own objects with each of thousands of writes, so they are
	// deduplicated.
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
