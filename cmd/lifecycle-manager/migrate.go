package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/forecast"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/migration"
)

func newMigrateCommand() *cobra.Command {
	f, access, run := &cli.ControlPlaneFlags{}, &accessFlags{}, &flags{}
	program := run.planProgram()
	program.Read = func(set *pflag.FlagSet) error {
		err := run.read(set)
		f.Kubeconfig = run.kubeconfig
		return err
	}
	program.Connect = func(ctx context.Context, says io.Writer, _ string, objects bool) (client.Reader, []string, forecast.Options, error) {
		live, namespaces, options, err := run.connectPlan(ctx, says, f.Context, objects)
		*access = run.access // also what the instance has recorded
		return live, namespaces, options, err
	}
	return migration.NewCommand(func() (*rest.Config, *runtime.Scheme, error) {
		to, err := cli.ControlPlane(f.Kubeconfig, f.Context)
		if err != nil {
			return nil, nil, err
		}
		scheme, err := cli.NewScheme()
		return to, scheme, err
	}, f.Register, migration.Access{Register: access.register, Check: access.check, Allowed: access.allowed}, program)
}
