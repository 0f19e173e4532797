// Package analysing has the flags that say which Prometheus rollouts ask.
package analysing

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/kyma-project/lifecycle-manager/activities/advance"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/analysis"
)

// Flags say which Prometheus rollouts ask.
type Flags struct {
	url, tokenFile string
}

// Register adds the flags to a set.
func (f *Flags) Register(set *pflag.FlagSet) {
	set.StringVar(&f.url, "rollout-prometheus-url", "", "URL of the Prometheus that the analysis of rollouts asks, such as http://prometheus.monitoring:9090; without it, stages with an analysis wait")
	set.StringVar(&f.tokenFile, "rollout-prometheus-token-file", "", "file with a bearer token for it, read for each query")
}

// Check refuses what cannot work.
func (f *Flags) Check() error {
	if f.url == "" {
		if f.tokenFile != "" {
			return errors.New("--rollout-prometheus-token-file is for --rollout-prometheus-url, which is not given")
		}
		return nil
	}
	if err := analysis.Check(f.url); err != nil {
		return fmt.Errorf("--rollout-prometheus-url: %w", err)
	}
	return nil
}

// Configured tells whether there is one.
func (f *Flags) Configured() bool { return f.url != "" }

// Prometheus is that Prometheus; nil where none is configured.
func (f *Flags) Prometheus() (advance.Prometheus, error) {
	if f.url == "" {
		return nil, nil //nolint:nilnil // having none is an ordinary case
	}
	return analysis.New(analysis.Options{URL: f.url, TokenFile: f.tokenFile})
}
