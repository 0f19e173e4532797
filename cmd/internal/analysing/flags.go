// Package analysing defines the flags for the Prometheus that rollouts query.
package analysing

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/kyma-project/lifecycle-manager/activities/advance"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/analysis"
)

// Flags hold the address of the Prometheus that rollouts query.
type Flags struct {
	url, tokenFile string
}

// Register adds the flags to a set.
func (f *Flags) Register(set *pflag.FlagSet) {
	set.StringVar(&f.url, "rollout-prometheus-url", "", "URL of the Prometheus that the analysis of rollouts queries, such as http://prometheus.monitoring:9090; without it, stages with an analysis wait")
	set.StringVar(&f.tokenFile, "rollout-prometheus-token-file", "", "file with a bearer token for the Prometheus, read for each query")
}

// Check refuses values that cannot work.
func (f *Flags) Check() error {
	if f.url == "" {
		if f.tokenFile != "" {
			return errors.New("--rollout-prometheus-token-file needs --rollout-prometheus-url, which is not set")
		}
		return nil
	}
	if err := analysis.Check(f.url); err != nil {
		return fmt.Errorf("--rollout-prometheus-url: %w", err)
	}
	return nil
}

// Configured reports whether a Prometheus is configured.
func (f *Flags) Configured() bool { return f.url != "" }

// Prometheus returns the configured Prometheus; nil if there is none.
func (f *Flags) Prometheus() (advance.Prometheus, error) {
	if f.url == "" {
		return nil, nil //nolint:nilnil // it is common that there is none
	}
	return analysis.New(analysis.Options{URL: f.url, TokenFile: f.tokenFile})
}
