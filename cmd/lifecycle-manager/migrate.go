package main

import (
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/connection"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/migration"
)

func newMigrateCommand() *cobra.Command {
	f, access := &controlPlaneFlags{}, &accessFlags{}
	return migration.NewCommand(func() (*rest.Config, *runtime.Scheme, error) {
		to, err := connection.ControlPlane(f.kubeconfig, f.context)
		if err != nil {
			return nil, nil, err
		}
		scheme, err := newScheme()
		return to, scheme, err
	}, f.register, migration.Access{Register: access.register, Check: access.check, Allowed: access.allowed})
}
