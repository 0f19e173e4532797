// Command cert-manager runs cert-manager's own controllers, those that an authority in a Secret needs: of Issuers with
// a `ca`, Certificates and CertificateRequests, in one namespace. cert-manager's program itself is in a module that no proxy
// has, and the controllers are in one that they have: this starts them as that does. There is no election of a leader, no
// webhook and no ACME.
//
//	cert-manager KUBECONFIG NAMESPACE
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	"golang.org/x/sync/errgroup"
)

const (
	// workers is how many objects of a kind are reconciled at a time.
	workers = 5
	// The back-off after a request that failed is what cert-manager's own program has by default.
	minBackoff, maxBackoff = time.Hour, 32 * time.Hour
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: cert-manager KUBECONFIG NAMESPACE")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1], os.Args[2])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs the controllers until the context ends.
func run(ctx context.Context, kubeconfig, namespace string) error {
	group, ctx := errgroup.WithContext(ctx)
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig: kubeconfig, Namespace: namespace,
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: minBackoff, CertificateRequestMaximumBackoffDuration: maxBackoff,
		},
	})
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	shared, err := factory.Build()
	if err != nil {
		return fmt.Errorf("make clients: %w", err)
	}
	// The imports above have registered them, with the informers that each needs: these start after all are made.
	for name, construct := range controller.Known() {
		made, err := construct(factory)
		if err != nil {
			return fmt.Errorf("make controller %s: %w", name, err)
		}
		group.Go(func() error { return made.Run(workers, ctx) })
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	return group.Wait()
}
