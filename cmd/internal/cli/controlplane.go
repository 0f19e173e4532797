package cli

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// ControlPlane is the configuration for the control plane, of a kubeconfig or, without one, of KUBECONFIG, the cluster that this
// runs in, or ~/.kube/config; without a context, the current one counts.
func ControlPlane(kubeconfig, context string) (*rest.Config, error) {
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
