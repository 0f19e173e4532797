package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/apply"
	"github.com/kyma-project/lifecycle-manager/activities/artifacts"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/signature"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/forecast"
	"github.com/kyma-project/lifecycle-manager/worker"
)

func newPlanCommand() *cobra.Command { return forecast.NewCommand((&flags{}).planProgram()) }

// planProgram is what commands are made of that plan by the flags of `run`.
func (f *flags) planProgram() forecast.Program {
	return forecast.Program{Flags: f.groups(), Read: f.read, ErrUsage: errUsage, Scheme: newScheme, Connect: f.connectPlan}
}

// connectPlan is forecast.Program.Connect.
func (f *flags) connectPlan(ctx context.Context, kubeContext string, objects bool) (client.Reader, []string, forecast.Options, error) {
	live, err := (&controlPlaneFlags{f.kubeconfig, kubeContext}).client(func(c *rest.Config) { c.QPS, c.Burst = f.clientQPS, f.clientBurst })
	if err == nil {
		err = f.takeRegistry(ctx, live)
	}
	options := forecast.Options{Settings: f.settings, Index: worker.Index, SameFailures: f.sameFailures}
	if err != nil {
		return nil, nil, options, err
	}
	var store *artifacts.Store
	if options.Planner, store, err = plannerOptions(ctx, f, live); err == nil && objects {
		options.Render = apply.Previewer{Artifacts: store, RemoteNamespace: f.settings.WithDefaults().SyncNamespace}.Preview
	}
	return live, f.settings.Namespaces, options, err
}

// plannerOptions are what plans are made with in `run`, without what only those need that write.
func plannerOptions(ctx context.Context, f *flags, live client.Client) (resolve.Options, *artifacts.Store, error) {
	policies, err := f.maintenance.source(nil, logr.Discard())
	if err != nil {
		return resolve.Options{}, nil, err
	}
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
