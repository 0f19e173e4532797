package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/kube"
)

func statusCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Shows every component; fails unless all are ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := s.open(cmd)
			if err != nil {
				return err
			}
			statuses, err := f.Status(cmd.Context())
			if err != nil {
				return explain(err)
			}
			err = s.print(cmd.OutOrStdout(), statuses, func(out io.Writer) error { return printStatus(out, statuses) })
			if err != nil {
				return err
			}
			for _, status := range statuses {
				if status.State != fleet.StateReady {
					return fmt.Errorf("%s is %s", status.Component, status.State)
				}
			}
			return nil
		},
	}
	s.addOutput(cmd)
	return cmd
}

func printStatus(out io.Writer, statuses []fleet.ComponentStatus) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "COMPONENT\tSTATE\tPID\tAGE\tMESSAGE")
	for _, status := range statuses {
		pid, age := "", ""
		if status.PID != 0 {
			pid = fmt.Sprint(status.PID)
			age = time.Since(*status.StartedAt).Round(time.Second).String()
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", status.Component, status.State, pid, age, status.Message)
	}
	return table.Flush()
}

func envCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "env",
		Short: `Prints shell variables that lead to the fleet, for eval "$(... env)"`,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := s.open(cmd)
			if err != nil {
				return err
			}
			description, err := f.Describe()
			if err != nil {
				return explain(err)
			}
			return s.print(cmd.OutOrStdout(), description, func(out io.Writer) error {
				for _, variable := range description.Variables() {
					if _, err := fmt.Fprintf(out, "export %s=%s\n", variable.Name, shellQuote(variable.Value)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	s.addOutput(cmd)
	return cmd
}

// shellQuote makes a text one word of a POSIX shell.
func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func kubeconfigCommand(s *settings) *cobra.Command {
	var (
		user     string
		pathOnly bool
	)
	cmd := &cobra.Command{
		Use:   "kubeconfig CLUSTER",
		Short: "Prints a cluster's kubeconfig; clusters are control-plane, remote-1, ...",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := s.open(cmd)
			if err != nil {
				return err
			}
			path, err := f.Kubeconfig(args[0], user)
			if err != nil {
				return explain(err)
			}
			if pathOnly {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), path)
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("read the kubeconfig: %w", err)
			}
			_, err = cmd.OutOrStdout().Write(data)
			return err
		},
	}
	cmd.Flags().StringVar(&user, "user", kube.Admin, "whose kubeconfig: "+kube.Admin+" or "+kube.LifecycleManager)
	cmd.Flags().BoolVar(&pathOnly, "path", false, "print the file's path instead")
	return cmd
}

// printSummary says what to do with a fleet that is up.
func printSummary(out io.Writer, d fleet.Description) error {
	var remotes []string
	for _, remote := range d.Remotes {
		remotes = append(remotes, fmt.Sprintf("  %-14s %s", remote.Name, remote.Kubeconfig))
	}
	_, err := fmt.Fprintf(out, `
The fleet %q is up.
  Temporal UI    %s
  Temporal       %s
  registry       %s
  %-14s %s
%s
`, d.Name, d.Temporal.UIURL, d.Temporal.Address, d.Registry.Host,
		d.ControlPlane.Name, d.ControlPlane.Kubeconfig, strings.Join(remotes, "\n"))
	return err
}
