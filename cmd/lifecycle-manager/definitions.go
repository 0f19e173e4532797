package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/definitions"
)

func newDefinitionsCommand() *cobra.Command {
	f := &cli.ControlPlaneFlags{}
	return definitions.NewCommand(func() (client.Client, error) {
		to, err := cli.ControlPlane(f.Kubeconfig, f.Context)
		if err != nil {
			return nil, err
		}
		to.QPS = -1 // the command has a pace of its own
		scheme, err := cli.NewScheme()
		if err != nil {
			return nil, err
		}
		live, err := client.New(to, client.Options{Scheme: scheme})
		if err != nil {
			return nil, fmt.Errorf("make the client of the cluster: %w", err)
		}
		return live, nil
	}, f.Register)
}
