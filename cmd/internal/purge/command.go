// Package purge implements the command that forces the deletion of a Kyma.
package purge

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"
	sdktemporal "go.temporal.io/sdk/temporal"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows"
	kymaflow "github.com/kyma-project/lifecycle-manager/workflows/kyma"
)

// pollEvery is how often the command checks whether the Kyma is gone.
const pollEvery = 500 * time.Millisecond

// flags holds the command's own flags.
type flags struct {
	namespace string
	yes       bool
	timeout   time.Duration
}

// NewCommand returns the command `lifecycle-manager purge`. read returns a client for the control plane that the flags
// of register select.
func NewCommand(register func(*pflag.FlagSet), read func() (client.Reader, error)) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "purge KYMA",
		Short: "Force the deletion of a Kyma before its grace period is over",
		Long: `Force the deletion of a Kyma before its grace period is over.

The Kyma must be under deletion. The purge removes the finalizers of its modules' custom resources and resources, deletes
the objects in its cluster, and abandons what it cannot reach. The connection to Temporal comes from the environment, as
for lifecycle-manager run.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			reader, err := read()
			if err != nil {
				return err
			}
			return purgeKyma(cmd.Context(), reader, cmd.InOrStdin(), cmd.OutOrStdout(), f, args[0])
		},
	}
	register(cmd.Flags())
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace of the Kyma; default: kcp-system")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask for the Kyma's name")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 5*time.Minute, "how long to wait until the Kyma is gone; 0 means not to wait")
	return cmd
}

var (
	errNotBeingDeleted = errors.New("the Kyma is not being deleted; delete it first (kubectl delete kyma)")
	errNameDiffers     = errors.New("the name does not match; nothing was done")
	errStillThere      = errors.New("the Kyma still exists")
)

func purgeKyma(ctx context.Context, reader client.Reader, in io.Reader, out io.Writer, f *flags, name string) error {
	kyma := &v1beta2.Kyma{}
	key := client.ObjectKey{Namespace: cmp.Or(f.namespace, shared.NamespaceControlPlane), Name: name}
	if err := reader.Get(ctx, key, kyma); err != nil {
		return fmt.Errorf("read Kyma %s: %w", key, err)
	}
	if kyma.DeletionTimestamp.IsZero() {
		return fmt.Errorf("purge Kyma %s: %w", key, errNotBeingDeleted)
	}
	manifests, err := fleet.Live(reader).LiveManifests(ctx, kyma)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, planOf(kyma, manifests.Own)); err != nil {
		return err
	}
	if !f.yes {
		if err := confirm(in, out, name); err != nil {
			return fmt.Errorf("purge Kyma %s: %w", key, err)
		}
	}
	result, err := requestPurge(ctx, kick.RefOf(kyma))
	if err != nil {
		return fmt.Errorf("purge Kyma %s: %w", key, err)
	}
	if _, err := fmt.Fprintf(out, "%s: %s\n", result.State, result.Message); err != nil {
		return err
	}
	return awaitGone(ctx, reader, out, kyma, f.timeout)
}

// planOf describes what a purge would force.
func planOf(kyma *v1beta2.Kyma, manifests []v1beta2.Manifest) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Kyma %s/%s, deleted at %s\n", kyma.Namespace, kyma.Name, kyma.DeletionTimestamp.UTC().Format(time.RFC3339))
	if operation := kyma.Status.LastOperation; operation != nil {
		fmt.Fprintf(&b, "  %s\n", operation.Operation)
	}
	if remote := kyma.Status.Remote; remote != nil {
		fmt.Fprintf(&b, "cluster %s, remote Kyma %s/%s", cmp.Or(remote.Cluster, "unknown"), remote.Namespace, remote.Name)
		if remote.Reachable != nil && !*remote.Reachable {
			fmt.Fprintf(&b, " (unreachable: %s; its objects remain there)", remote.Reason)
		}
		b.WriteString("\n")
	}
	slices.SortFunc(manifests, func(a, b v1beta2.Manifest) int { return strings.Compare(a.Name, b.Name) })
	for i := range manifests {
		m := &manifests[i]
		fmt.Fprintf(&b, "Manifest %s (%s), %d objects\n", m.Name, m.Status.State, len(m.Status.Inventory))
		if operation := m.Status.LastOperation; operation != nil {
			fmt.Fprintf(&b, "  %s\n", operation.Operation)
		}
	}
	b.WriteString("The purge removes the finalizers of these modules' resources and custom resources, including those of users, and\n" +
		"deletes all of them, whatever their operators have not cleaned up yet.\n")
	return b.String()
}

// confirm asks for the Kyma's name.
func confirm(in io.Reader, out io.Writer, name string) error {
	if _, err := fmt.Fprint(out, "Type the name of the Kyma to purge it: "); err != nil {
		return err
	}
	typed, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the name: %w", err)
	}
	if strings.TrimSpace(typed) != name {
		return errNameDiffers
	}
	return nil
}

// requestPurge sends the update to the Kyma's workflow, and starts the workflow if none is open.
func requestPurge(ctx context.Context, ref kick.Ref) (kymaflow.ReconcileResult, error) {
	var result kymaflow.ReconcileResult
	connected, _, err := cli.DialTemporal(ctx)
	if err != nil {
		return result, err
	}
	defer connected.Close()
	// A run that is about to end refuses the update, and the next run accepts it.
	err = retry.OnError(retry.DefaultBackoff, refusedForNow, func() error {
		result, err = updatePurge(ctx, connected, ref)
		return err
	})
	if err != nil {
		return result, fmt.Errorf("send the update to the Kyma's workflow: %w", err)
	}
	return result, nil
}

// refusedForNow reports whether a workflow refused an update that it would accept a moment later.
func refusedForNow(err error) bool {
	var refusal *sdktemporal.ApplicationError
	return errors.As(err, &refusal) && refusal.Type() == workflows.ErrTypeEnding
}

func updatePurge(ctx context.Context, connected temporal.Client, ref kick.Ref) (kymaflow.ReconcileResult, error) {
	var result kymaflow.ReconcileResult
	start := connected.NewWithStartWorkflowOperation(temporal.StartWorkflowOptions{
		ID: kick.KymaWorkflowID(ref), TaskQueue: kick.ControlPlaneQueue,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            ref.String(),
	}, kick.KymaWorkflow, kick.Start{Ref: ref})
	handle, err := connected.UpdateWithStartWorkflow(ctx, temporal.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: temporal.UpdateWorkflowOptions{
			UpdateName: kick.UpdatePurge, WaitForStage: temporal.WorkflowUpdateStageCompleted,
		},
	})
	if err != nil {
		return result, err
	}
	err = handle.Get(ctx, &result)
	return result, err
}

// awaitGone waits until exactly this Kyma is gone.
func awaitGone(ctx context.Context, reader client.Reader, out io.Writer, kyma *v1beta2.Kyma, timeout time.Duration) error {
	if timeout <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		now := &v1beta2.Kyma{}
		err := reader.Get(ctx, client.ObjectKeyFromObject(kyma), now)
		switch {
		case apierrors.IsNotFound(err) || err == nil && now.UID != kyma.UID:
			_, err := fmt.Fprintf(out, "Kyma %s/%s is gone; its Events name what was forced\n", kyma.Namespace, kyma.Name)
			return err
		case err == nil:
			kyma = now
		}
		select {
		case <-ctx.Done():
			message := ""
			if operation := kyma.Status.LastOperation; operation != nil {
				message = operation.Operation
			}
			return fmt.Errorf("purge Kyma %s/%s: %w: %s", kyma.Namespace, kyma.Name, errStillThere, message)
		case <-ticker.C:
		}
	}
}
