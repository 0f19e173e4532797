package main

import (
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/purge"
)

func newPurgeCommand() *cobra.Command {
	f := &cli.ControlPlaneFlags{}
	return purge.NewCommand(f.Register, func() (client.Reader, error) { return f.Client() })
}
