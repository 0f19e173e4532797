package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/forecast"
	"github.com/kyma-project/lifecycle-manager/internal/model/windows"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/internal/registry/signature"
	"github.com/kyma-project/lifecycle-manager/worker"
)

func newPlanCommand() *cobra.Command { return forecast.NewCommand((&flags{}).planProgram()) }

// planProgram is what commands are made of that plan by the flags of `run`.
func (f *flags) planProgram() forecast.Program {
	return forecast.Program{Flags: f.groups(), Read: f.read, ErrUsage: cli.ErrUsage, Scheme: cli.NewScheme, Connect: f.connectPlan}
}

// connectPlan is forecast.Program.Connect.
func (f *flags) connectPlan(ctx context.Context, says io.Writer, kubeContext string, objects bool) (client.Reader, []string, forecast.Options, error) {
	options := forecast.Options{Index: worker.Index}
	live, err := (&cli.ControlPlaneFlags{Kubeconfig: f.kubeconfig, Context: kubeContext}).Client(func(c *rest.Config) { c.QPS, c.Burst = f.clientQPS, f.clientBurst })
	if err != nil {
		return nil, nil, options, err
	}
	record, err := f.takeRecorded(ctx, live)
	switch {
	case apierrors.IsForbidden(err):
		_, _ = fmt.Fprintf(says, "the settings of the instance are not known, so flags and their defaults count: %s\n", err)
	case err != nil:
		return nil, nil, options, err
	case record == nil:
		_, _ = fmt.Fprintf(says, "the instance %s has recorded no settings yet, so flags and their defaults count\n", f.settings.WithDefaults().ManagedBy)
	}
	if err := f.takeRegistry(ctx, live); err != nil {
		return nil, nil, options, err
	}
	options.Settings, options.SameFailures = f.settings, f.sameFailures
	policies, err := f.maintenance.asRecorded(record)
	if err != nil {
		return nil, nil, options, err
	}
	var store *artifacts.Store
	if options.Planner, store, err = plannerOptions(ctx, f, policies, live); err == nil && objects {
		options.Render = apply.Previewer{Artifacts: store, RemoteNamespace: f.settings.WithDefaults().SyncNamespace}.Preview
	}
	return live, f.settings.Namespaces, options, err
}

// plannerOptions are what plans are made with in `run`, without what only those need that write.
func plannerOptions(ctx context.Context, f *flags, policies *windows.Source, live client.Client) (resolve.Options, *artifacts.Store, error) {
	options := resolve.Options{
		Limits: f.removals, Windows: resolve.PolicyWindows{Policies: policies, MinSize: f.maintenance.minSize, Now: time.Now},
	}
	artifactOptions, err := artifactOptions(ctx, f, live)
	if err != nil {
		return options, nil, err
	}
	store, err := artifacts.New(artifactOptions)
	if err != nil {
		return options, nil, fmt.Errorf("prepare the artifact store: %w", err)
	}
	options.Descriptors, options.Objects = store, store
	if options.Signatures, err = signature.New(signature.Options{Policy: signature.Policy(f.signaturePolicy), Keys: live}); err != nil {
		return options, nil, fmt.Errorf("prepare the verification of signatures: %w", err)
	}
	return options, store, nil
}
