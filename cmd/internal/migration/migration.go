// Package migration implements the command `lifecycle-manager migrate`. The command shows what the takeover of
// upstream's Kymas would change, and lets a few Kymas be taken over before others (docs/migration.md).
//
// NewCommand returns the command with its subcommands:
//
//	plan   shows what would change for each Kyma, and writes nothing (plan.go, prospect.go, state.go, catalog.go)
//	hold   labels Kymas so that they are not taken over (adopt.go)
//	adopt  removes that label, and waits until the Kymas are taken over (adopt.go)
//
// The commands never install or remove anything themselves. The running instance takes over every Kyma that is not
// held.
package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
)

// flags holds the flags of the command and its subcommands.
type flags struct {
	namespace, accessSecretNamespace, syncNamespace string
	// stateRule is the rule that the instance will follow; empty if hold was given none.
	stateRule shared.StateRule
	all       bool
	timeout   time.Duration
	access    Access
	// reading has the flags for reading remote clusters, for commands without the flags of lifecycle-manager run.
	reading *pflag.FlagSet
}

// Flags of lifecycle-manager run for reading remote clusters.
const (
	flagAccessNamespace = "access-secret-namespace"
	flagSyncNamespace   = "sync-namespace"
	flagAccessAllow     = "access-secret-allow"
)

// pollEvery is how often the Kymas that adopt waits for are read.
const pollEvery = 500 * time.Millisecond

// migration holds what the subcommands share.
type migration struct {
	flags        *flags
	controlPlane client.Client
	clusters     *clusters.Registry
	// catalog is nil for commands that do not plan.
	catalog *catalog
	// templates holds the ModuleTemplates of the namespace after they were read.
	templates *v1beta2.ModuleTemplateList
}

func newMigration(ctx context.Context, f *flags, connect Connect) (*migration, error) {
	config, scheme, err := connect()
	if err != nil {
		return nil, err
	}
	controlPlane, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("create the control plane client: %w", err)
	}
	if err := f.takeRecorded(ctx, controlPlane); err != nil {
		return nil, err
	}
	access, err := clusters.New(clusters.Options{
		ControlPlane: config, Scheme: scheme, AccessSecretNamespace: f.accessSecretNamespace, Allow: f.access.Allowed(),
	})
	if err != nil {
		return nil, fmt.Errorf("create the access to remote clusters: %w", err)
	}
	return &migration{flags: f, controlPlane: controlPlane, clusters: access}, nil
}

// kymas returns the named Kymas, or all Kymas of the namespace.
func (m *migration) kymas(ctx context.Context, names []string) ([]v1beta2.Kyma, error) {
	if len(names) == 0 {
		list := &v1beta2.KymaList{}
		if err := m.controlPlane.List(ctx, list, client.InNamespace(m.flags.namespace)); err != nil {
			return nil, fmt.Errorf("list the Kymas of namespace %s: %w", m.flags.namespace, err)
		}
		return list.Items, nil
	}
	var all []v1beta2.Kyma
	for _, name := range names {
		kyma := &v1beta2.Kyma{}
		if err := m.controlPlane.Get(ctx, client.ObjectKey{Namespace: m.flags.namespace, Name: name}, kyma); err != nil {
			return nil, fmt.Errorf("read Kyma %s/%s: %w", m.flags.namespace, name, err)
		}
		all = append(all, *kyma)
	}
	return all, nil
}

// upstreamsLease is the name of the Lease of upstream's leader.
const upstreamsLease = "893110f7.kyma-project.io"

var errUpstreamRuns = errors.New("upstream runs")

// upstreamRuns returns an error if upstream's leader has renewed its Lease recently.
func (m *migration) upstreamRuns(ctx context.Context, now time.Time) error {
	lease := &coordinationv1.Lease{}
	err := m.controlPlane.Get(ctx, client.ObjectKey{Namespace: m.flags.namespace, Name: upstreamsLease}, lease)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read upstream's Lease: %w", err)
	}
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return nil
	}
	if age := now.Sub(spec.RenewTime.Time); age < time.Duration(*spec.LeaseDurationSeconds)*time.Second {
		return fmt.Errorf("%w: %s holds Lease %s/%s and renewed it %s ago; scale upstream's Deployment to 0 first",
			errUpstreamRuns, *spec.HolderIdentity, lease.Namespace, lease.Name, age.Round(time.Second))
	}
	return nil
}
