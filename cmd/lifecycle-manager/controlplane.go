package main

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/transport"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/connection"
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
	to, err := connection.ControlPlane(f.kubeconfig, f.context)
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
