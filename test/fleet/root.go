package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/progress"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
	"github.com/kyma-project/lifecycle-manager/test/fleet/programs"
)

// settings are the flags that all commands have.
type settings struct {
	name       string
	stateDir   string
	cacheDir   string
	components string
	output     string
}

func rootCommand() *cobra.Command {
	s := &settings{}
	root := &cobra.Command{
		Use:           "fleet",
		Short:         "Runs clusters, Temporal and a registry for Lifecycle Manager on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&s.name, "name", envOr("FLEET_NAME", "default"), "name of the fleet ($FLEET_NAME)")
	flags.StringVar(&s.stateDir, "state-dir", os.Getenv("FLEET_STATE_DIR"),
		"folder of the fleet's state ($FLEET_STATE_DIR; default $XDG_STATE_HOME/lifecycle-manager-fleet/NAME)")
	flags.StringVar(&s.cacheDir, "cache-dir", "",
		"folder of built programs (default $XDG_CACHE_HOME/lifecycle-manager-fleet)")
	flags.StringVar(&s.components, "components-dir", "", "folder of the modules that pin the programs' versions")
	_ = flags.MarkHidden("components-dir")
	root.AddCommand(
		upCommand(s), downCommand(s), statusCommand(s), envCommand(s), kubeconfigCommand(s), buildCommand(s),
		addRemoteCommand(s), removeRemoteCommand(s), stopCommand(s), startCommand(s), pauseCommand(s), resumeCommand(s),
		resetCommand(s), snapshotCommand(s), restoreCommand(s), superviseCommand(s),
	)
	return root
}

// open returns the fleet that the flags name.
func (s *settings) open(cmd *cobra.Command) (*fleet.Fleet, error) {
	if err := fleet.CheckName(s.name); err != nil {
		return nil, err
	}
	path := s.stateDir
	// A name on the command line goes before a folder in the environment.
	if path == "" || cmd.Flags().Changed("name") && !cmd.Flags().Changed("state-dir") {
		var err error
		if path, err = state.DefaultPath(s.name); err != nil {
			return nil, err
		}
	}
	folder, err := state.Open(path)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return fleet.New(folder, []string{program, becomeCommand}, s.printer(cmd)), nil
}

func (s *settings) printer(cmd *cobra.Command) *progress.Printer {
	return progress.New(cmd.ErrOrStderr(), time.Now)
}

// builder returns what builds the programs.
func (s *settings) builder(printer *progress.Printer) (programs.Builder, error) {
	builder, err := programs.DefaultBuilder(func(line string) { printer.Printf("%s", line) })
	if err != nil {
		return programs.Builder{}, err
	}
	if s.cacheDir != "" {
		builder.Cache = s.cacheDir
	}
	if s.components != "" {
		if builder.Components, err = programs.Components(s.components); err != nil {
			return programs.Builder{}, err
		}
	}
	return builder, nil
}

// addOutput gives a command the flag for its output's format.
func (s *settings) addOutput(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.output, "output", "o", "text", "text or json")
}

// print writes a result, as JSON or by the given function.
func (s *settings) print(out io.Writer, result any, text func(io.Writer) error) error {
	switch s.output {
	case "text":
		return text(out)
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(result)
	default:
		return fmt.Errorf("--output %q: want text or json", s.output)
	}
}

// explain shows a user without a fleet how to get one.
func explain(err error) error {
	if errors.Is(err, state.ErrNotAFleet) {
		return fmt.Errorf("%w: bring one up first", err)
	}
	return err
}

func envOr(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
