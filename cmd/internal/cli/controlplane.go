package cli

import (
	"fmt"

	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// ControlPlane returns the client configuration for the control plane: from the kubeconfig, or if there is none, from KUBECONFIG,
// the cluster that this process runs in, or ~/.kube/config. An empty context means the current one.
func ControlPlane(kubeconfig, context string) (*rest.Config, error) {
	found, err := findConfig(kubeconfig, context)
	if err != nil {
		return nil, err
	}
	// The API server repeats its warnings about our own objects with each of thousands of writes.
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

// NewScheme returns a scheme with the core types of Kubernetes and our own.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme, v1beta2.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("make the scheme: %w", err)
		}
	}
	return scheme, nil
}

// ControlPlaneFlags say where the control plane is, for commands that people call.
type ControlPlaneFlags struct {
	Kubeconfig, Context string
}

// Register adds the flags to a set.
func (f *ControlPlaneFlags) Register(set *pflag.FlagSet) {
	set.StringVar(&f.Kubeconfig, "kubeconfig", "", "kubeconfig of the control plane; default: KUBECONFIG, then in-cluster, then ~/.kube/config")
	set.StringVar(&f.Context, "context", "", "context of the kubeconfig; default: its current one")
}

// Client returns a client of the control plane without a cache. Each change adjusts its configuration.
func (f *ControlPlaneFlags) Client(change ...func(*rest.Config)) (client.Client, error) {
	to, err := ControlPlane(f.Kubeconfig, f.Context)
	if err != nil {
		return nil, err
	}
	for _, each := range change {
		each(to)
	}
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	live, err := client.New(to, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make the control plane client: %w", err)
	}
	return live, nil
}
