package main

import (
	"bytes"
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/tree"
)

// statusFlags are the flags of `lifecycle-manager status`.
type statusFlags struct {
	kubeconfig, namespace string
	watch, untilReady     bool
	timeout               time.Duration
}

func newStatusCommand() *cobra.Command {
	f := &statusFlags{}
	cmd := &cobra.Command{
		Use:   "status [KYMA]",
		Short: "Show Kymas and their modules as a tree",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			return showStatus(cmd.Context(), cmd.OutOrStdout(), f, name)
		},
	}
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the control plane; default: KUBECONFIG")
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace of the Kyma; default: kcp-system with a name, all without")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "show the tree again whenever it changes")
	cmd.Flags().BoolVar(&f.untilReady, "until-ready", false, "watch until all is Ready, then exit with 0")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "with --until-ready: give up after this time and exit with an error; 0 waits for ever")
	return cmd
}

// pollEvery is how often a watched tree is read.
const pollEvery = 300 * time.Millisecond

var errNotReady = errors.New("not ready in time")

func showStatus(ctx context.Context, out io.Writer, f *statusFlags, name string) error {
	reader, err := controlPlaneReader(f.kubeconfig)
	if err != nil {
		return err
	}
	if !f.watch && !f.untilReady {
		kymas, err := readTree(ctx, reader, f.namespace, name)
		if err != nil {
			return err
		}
		if len(kymas) == 0 {
			_, err := fmt.Fprintln(out, "no Kyma found")
			return err
		}
		return tree.Render(out, kymas)
	}
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	return watchTree(ctx, newScreen(out), func(ctx context.Context) ([]tree.Kyma, error) {
		return readTree(ctx, reader, f.namespace, name)
	}, f.untilReady)
}

// watchTree shows the tree whenever it changes, until ctx ends or, if asked for, all is Ready.
func watchTree(ctx context.Context, screen *screen, read func(context.Context) ([]tree.Kyma, error), untilReady bool) error {
	var last []tree.Kyma
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		kymas, err := read(ctx)
		switch {
		case err == nil:
			last = kymas
			if err := screen.show(kymas); err != nil {
				return err
			}
			if untilReady && len(kymas) > 0 && !slices.ContainsFunc(kymas, func(k tree.Kyma) bool { return !k.Ready() }) {
				return nil
			}
		case ctx.Err() == nil && !apierrors.IsNotFound(err):
			return err
		}
		select {
		case <-ctx.Done():
			if untilReady && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("%w: %s", errNotReady, reasonsOf(last))
			}
			return nil
		case <-ticker.C:
		}
	}
}

// reasonsOf says what is not Ready and why.
func reasonsOf(kymas []tree.Kyma) string {
	if len(kymas) == 0 {
		return "no Kyma found"
	}
	var reasons []string
	for _, k := range kymas {
		if !k.Ready() {
			reasons = append(reasons, fmt.Sprintf("Kyma %s is %s (%s)", k.Name, k.State, k.Operation))
		}
		for _, m := range k.Modules {
			if m.State != "Ready" {
				reasons = append(reasons, fmt.Sprintf("module %s is %s (%s)", m.Name, m.State, m.Message))
			}
		}
	}
	return strings.Join(reasons, "; ")
}

func controlPlaneReader(kubeconfig string) (client.Reader, error) {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make the control plane client: %w", err)
	}
	return reader, nil
}

// readTree reads one Kyma, or all of a namespace or of the control plane.
func readTree(ctx context.Context, reader client.Reader, namespace, name string) ([]tree.Kyma, error) {
	var kymas v1beta2.KymaList
	if name != "" {
		var kyma v1beta2.Kyma
		key := client.ObjectKey{Namespace: cmp.Or(namespace, "kcp-system"), Name: name}
		if err := reader.Get(ctx, key, &kyma); err != nil {
			return nil, fmt.Errorf("read Kyma %s: %w", key, err)
		}
		kymas.Items = append(kymas.Items, kyma)
	} else if err := reader.List(ctx, &kymas, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list Kymas: %w", err)
	}
	var manifests v1beta2.ManifestList
	if err := reader.List(ctx, &manifests, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list Manifests: %w", err)
	}
	now := time.Now()
	views := make([]tree.Kyma, 0, len(kymas.Items))
	for i := range kymas.Items {
		views = append(views, tree.Of(&kymas.Items[i], manifests.Items, now))
	}
	return views, nil
}

// screen shows trees one after the other: on a terminal in the same place, elsewhere each change once.
type screen struct {
	out      io.Writer
	terminal bool
	lines    int
	last     string
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		s.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return s
}

func (s *screen) show(kymas []tree.Kyma) error {
	shown := kymas
	if !s.terminal {
		// Without its running age, a tree that did not change stays equal and is not printed again.
		shown = slices.Clone(kymas)
		for i := range shown {
			shown[i].Age = 0
		}
	}
	var drawn, compared bytes.Buffer
	if err := tree.Render(&drawn, kymas); err != nil {
		return err
	}
	if err := tree.Render(&compared, shown); err != nil {
		return err
	}
	if compared.String() == s.last {
		return nil
	}
	s.last = compared.String()
	text := drawn.String() + "\n"
	if s.terminal {
		// Up over what was drawn before; lines that are too long are cut, since a wrapped one would be counted wrongly.
		up := ""
		if s.lines > 0 {
			up = fmt.Sprintf("\x1b[%dA\x1b[J", s.lines)
		}
		text = up + "\x1b[?7l" + drawn.String() + "\x1b[?7h"
		s.lines = strings.Count(drawn.String(), "\n")
	}
	_, err := io.WriteString(s.out, text)
	return err
}
