package main

import (
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/purge"
)

func newPurgeCommand() *cobra.Command {
	f := &controlPlaneFlags{}
	return purge.NewCommand(f.register, func() (client.Reader, error) { return f.client() })
}
