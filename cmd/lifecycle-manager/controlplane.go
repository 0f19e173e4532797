package main

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
)

// controlPlaneFlags say where the control plane is, for the commands that people call.
type controlPlaneFlags struct {
	kubeconfig, context string
}

func (f *controlPlaneFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the control plane; default: KUBECONFIG, then in-cluster, then ~/.kube/config")
	set.StringVar(&f.context, "context", "", "context of the kubeconfig; default: its current one")
}

// client is for the control plane. Change changes how it is reached.
func (f *controlPlaneFlags) client(change ...func(*rest.Config)) (client.Client, error) {
	to, err := cli.ControlPlane(f.kubeconfig, f.context)
	if err != nil {
		return nil, err
	}
	for _, each := range change {
		each(to)
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	live, err := client.New(to, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make the control plane client: %w", err)
	}
	return live, nil
}
