package main

import (
	"crypto/fips140"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
)

// version and commit are set by the linker (see the Makefile). Programs for everyday use have no commit: each commit
// would link them anew.
var (
	version = "0.0.0-dev"
	commit  = unknownCommit //nolint:gochecknoglobals // as version, which the linter knows
)

const (
	unknownCommit = "unknown"
	// commitLength is how much of the commit's hash is in the build id.
	commitLength = 12
)

// build says which build a program is.
type build struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	BuildID   string `json:"buildID"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
	// FIPS is true where Go's FIPS module is in use.
	FIPS bool `json:"fips"`
}

func thisBuild() build {
	return build{
		Version: version, Commit: commit, BuildID: buildID(version, commit), GoVersion: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, FIPS: fips140.Enabled(),
	}
}

// String is a line for people.
func (b build) String() string {
	return fmt.Sprintf("lifecycle-manager %s (commit %s, build id %s, %s)", b.Version, b.Commit, b.BuildID, b.GoVersion)
}

// register registers the metric that says which build this is.
func (b build) register(registry prometheus.Registerer) error {
	return metrics.RegisterBuild(registry, b.Version, b.Commit, b.BuildID)
}

// buildID distinguishes builds: by it, a sleeping run notices another one. It is the version with the beginning of the
// commit's hash, where the commit is known, and `-dirty` where that is not all that was built.
func buildID(version, commit string) string {
	if commit == unknownCommit {
		return version
	}
	hash, state, changed := strings.Cut(commit, "-")
	id := version + "-" + hash[:min(commitLength, len(hash))]
	if changed {
		id += "-" + state
	}
	return id
}

// identity is how Temporal's histories and lists of pollers name this process: the process as the SDK would, and its build.
func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%d@%s@%s", os.Getpid(), host, thisBuild().BuildID)
}

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and build id",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch output {
			case "text":
				_, err := fmt.Fprintln(cmd.OutOrStdout(), thisBuild())
				return err
			case "json":
				return json.NewEncoder(cmd.OutOrStdout()).Encode(thisBuild())
			default:
				return fmt.Errorf("%w: --output must be text or json, not %q", cli.ErrUsage, output)
			}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}
