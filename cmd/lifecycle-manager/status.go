package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/atwork"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/preflight"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/tree"
)

// statusFlags are the flags of `lifecycle-manager status`.
type statusFlags struct {
	cli.ControlPlaneFlags
	namespace, output string
	watch, untilReady bool
	timeout           time.Duration
}

// Outputs of `lifecycle-manager status`.
const (
	outputTree = string(cli.OutputTree)
	outputWide = string(cli.OutputWide)
	outputJSON = string(cli.OutputJSON)
)

func newStatusCommand() *cobra.Command {
	f := &statusFlags{}
	cmd := &cobra.Command{
		Use:   "status [KYMA]",
		Short: "Show Kymas and their modules as a tree",
		Long: `Show Kymas and their modules as a tree.

Messages are whole: what does not fit on a line of the terminal continues below. Colours are for terminals only, and
NO_COLOR in the environment switches them off.

If Lifecycle Manager itself does no work (Temporal cannot be used, no worker polls a task queue, no process leads), the
first line says so, and the exit code is 1: states are those of the time when it worked last. If the environment says
where Temporal is (TEMPORAL_ADDRESS), an instance that nobody leads is asked for its workers there.

A Kyma says if its workflow is paused in Temporal, or if its workflow tasks fail again and again, and which command helps.
Lifecycle Manager notices that within a minute.

With --until-ready it exits with 0 when all is Ready and Lifecycle Manager works. It exits with 1 when the time is over, or
before that as soon as only a change can help: then its message says what is wrong.`,
		Example: `  lifecycle-manager status demo --watch
  lifecycle-manager status demo --until-ready --timeout 5m
  lifecycle-manager status -o json | jq '.kymas[] | select(.state == "Error")'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			if err := f.check(); err != nil {
				return err
			}
			return showStatus(cmd.Context(), streams{out: cmd.OutOrStdout(), err: cmd.ErrOrStderr()}, f, name)
		},
	}
	f.Register(cmd.Flags())
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace of the Kyma; default: kcp-system with a name, all without")
	cmd.Flags().StringVarP(&f.output, "output", "o", outputTree, "tree; wide, a tree with channels, installed versions, Manifests, conditions and clusters; or json, with --watch a line for each change")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "show the tree again whenever it changes")
	cmd.Flags().BoolVar(&f.untilReady, "until-ready", false, "watch until all is Ready")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "with --until-ready: give up after this time; 0 waits for ever")
	return cmd
}

func (f *statusFlags) check() error {
	switch f.output {
	case outputTree, outputWide, outputJSON:
	default:
		return fmt.Errorf("%w: --output must be %s, %s or %s, not %q", cli.ErrUsage, outputTree, outputWide, outputJSON, f.output)
	}
	if f.timeout < 0 {
		return fmt.Errorf("%w: --timeout must not be negative, got %s", cli.ErrUsage, f.timeout)
	}
	return nil
}

// pollEvery is how often a watched tree is read.
const pollEvery = 300 * time.Millisecond

var (
	errNotReady    = errors.New("not ready in time")
	errNeedsChange = errors.New("only a change can help")
	errInterrupted = errors.New("interrupted before all was ready")
	errNoWork      = errors.New("no work is done, and what is shown may be old: start lifecycle-manager run if none runs; otherwise its log says why")
)

func showStatus(ctx context.Context, s streams, f *statusFlags, name string) error {
	clock := &preflight.ServerClock{}
	reader, err := f.Client(func(c *rest.Config) { c.Wrap(clock.Follow) })
	if err != nil {
		return err
	}
	found := atwork.NewProblems(reader, clock.Now)
	read := func(ctx context.Context) (tree.Fleet, error) { return readFleet(ctx, reader, found, f.namespace, name) }
	to := cli.NewScreen(s.out, cli.Output(f.output), os.Getenv)
	if !f.watch && !f.untilReady {
		fleet, err := read(ctx)
		if err != nil {
			return err
		}
		if err := to.Once(fleet); err != nil {
			return err
		}
		return verdict(s.err, fleet, found.Unknown())
	}
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	w := watch{
		show:       to.Show,
		read:       read,
		untilReady: f.untilReady, every: pollEvery, settle: noChangeFor,
	}
	return w.run(ctx)
}

// noChangeFor is for how long only a change can have helped before the waiting user is told so. Lifecycle
// Manager needs a moment to see what was changed just now.
const noChangeFor = 10 * time.Second

// watch shows trees until it is stopped.
type watch struct {
	read          func(context.Context) (tree.Fleet, error)
	show          func(tree.Fleet) error
	untilReady    bool
	every, settle time.Duration
}

func (w watch) run(ctx context.Context) error {
	var last tree.Fleet
	var stuckSince time.Time
	ticker := time.NewTicker(w.every)
	defer ticker.Stop()
	for {
		fleet, err := w.read(ctx)
		if len(last.Kymas) > 0 && apierrors.IsNotFound(err) {
			fleet, err = tree.Fleet{}, nil // the one that was asked for is deleted
		}
		switch {
		case err == nil:
			last = fleet
			kymas, works := fleet.Kymas, len(fleet.Problems) == 0
			if err := w.show(fleet); err != nil {
				return err
			}
			if w.untilReady && works && len(kymas) > 0 && !slices.ContainsFunc(kymas, func(k tree.Kyma) bool { return !k.Ready() }) {
				return nil
			}
			// While nobody works, nobody sees a change either.
			if !works || !slices.ContainsFunc(kymas, func(k tree.Kyma) bool { return k.WaitsForChange }) {
				stuckSince = time.Time{}
			} else if stuckSince.IsZero() {
				stuckSince = time.Now()
			}
			if w.untilReady && !stuckSince.IsZero() && time.Since(stuckSince) >= w.settle {
				return fmt.Errorf("%w: %s", errNeedsChange, reasonsOf(last))
			}
		case ctx.Err() == nil && !apierrors.IsNotFound(err):
			return err
		}
		select {
		case <-ctx.Done():
			switch {
			case !w.untilReady:
				return nil
			case errors.Is(ctx.Err(), context.DeadlineExceeded):
				return fmt.Errorf("%w: %s", errNotReady, reasonsOf(last))
			}
			return fmt.Errorf("%w: %s", errInterrupted, reasonsOf(last))
		case <-ticker.C:
		}
	}
}

// reasonsOf says what is not Ready and why.
func reasonsOf(fleet tree.Fleet) string {
	var reasons []string
	for _, problem := range fleet.Problems {
		reasons = append(reasons, problem.String())
	}
	if len(fleet.Kymas) == 0 {
		reasons = append(reasons, "no Kyma found")
	}
	for _, k := range fleet.Kymas {
		if !k.Ready() {
			reasons = append(reasons, fmt.Sprintf("Kyma %s/%s is %s (%s)", k.Namespace, k.Name, k.State, k.Message))
		}
		if k.Workflow != "" {
			reasons = append(reasons, fmt.Sprintf("workflow of Kyma %s/%s: %s", k.Namespace, k.Name, k.Workflow))
		}
		for _, m := range k.Modules {
			if m.State != shared.StateReady {
				reasons = append(reasons, fmt.Sprintf("module %s is %s (%s)", m.Name, m.State, m.Message))
			}
		}
	}
	return strings.Join(reasons, "; ")
}

// readFleet reads one Kyma, or all of a namespace or of the control plane, and whether they are worked on.
func readFleet(ctx context.Context, reader client.Reader, found *atwork.Problems, namespace, name string) (fleet tree.Fleet, err error) {
	var kymas v1beta2.KymaList
	if name != "" {
		var kyma v1beta2.Kyma
		key := client.ObjectKey{Namespace: cmp.Or(namespace, shared.NamespaceControlPlane), Name: name}
		if err := reader.Get(ctx, key, &kyma); err != nil {
			return fleet, fmt.Errorf("read Kyma %s: %w", key, err)
		}
		kymas.Items = append(kymas.Items, kyma)
	} else if err := reader.List(ctx, &kymas, client.InNamespace(namespace)); err != nil {
		return fleet, fmt.Errorf("list Kymas: %w", err)
	}
	var manifests v1beta2.ManifestList
	if err := reader.List(ctx, &manifests, manifestsFor(namespace, name)...); err != nil {
		return fleet, fmt.Errorf("list Manifests: %w", err)
	}
	now := time.Now()
	fleet.Kymas = make([]tree.Kyma, 0, len(kymas.Items))
	var instances []string
	for i := range kymas.Items {
		fleet.Kymas = append(fleet.Kymas, tree.Of(&kymas.Items[i], manifests.Items, now))
		instances = append(instances, agreement.InstanceFor(kymas.Items[i].Labels))
	}
	if fleet.Problems, err = found.Of(ctx, instances); err == nil {
		fleet.Hold(found.Held())
	}
	return fleet, err
}

// verdict is the error of a command that has shown a fleet. Unknown is why nobody knows whether Lifecycle Manager works.
func verdict(out io.Writer, fleet tree.Fleet, unknown error) error {
	if len(fleet.Problems) > 0 {
		return errNoWork
	}
	if unknown == nil {
		return nil
	}
	_, err := fmt.Fprintln(out, "whether Lifecycle Manager is at work is not known:", unknown)
	return err
}

// manifestsFor asks for no more Manifests than are shown: a fleet has many.
func manifestsFor(namespace, name string) []client.ListOption {
	if name == "" {
		return []client.ListOption{client.InNamespace(namespace)}
	}
	return []client.ListOption{
		client.InNamespace(cmp.Or(namespace, shared.NamespaceControlPlane)), client.MatchingLabels{shared.LabelKymaName: name},
	}
}
