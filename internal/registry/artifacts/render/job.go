package render

import (
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Requirements is what the templates of a chart ask of the cluster, as far as can be told without rendering.
type Requirements struct {
	Version bool
	// APIs are asked for by name; AllAPIs is true when that cannot be told.
	APIs    []string
	AllAPIs bool
}

// Job is what is needed to inspect or render a chart, and goes to a renderer as JSON.
type Job struct {
	Files []File
	// Inspect asks only for what the chart asks of the cluster.
	Inspect bool
	Values  []byte
	Release Release
	Known   *chartutil.Capabilities
	Limits  Limits
}

// Answer is what comes back.
type Answer struct {
	// Chart is its name.
	Chart string
	Asks  Requirements
	// Definitions are the files of its crds folders, and Texts what its templates come to, in the order in which they
	// are applied.
	Definitions, Texts []File
	// Fault says what is wrong with the chart; TooLarge that it is its size.
	Fault    string
	TooLarge bool
}

// NewJob returns a job that renders the chart of these files.
func NewJob(files []File, limits Limits) Job { return Job{Files: files, Limits: limits} }

// err is what is wrong with the chart.
func (a Answer) err() error {
	switch {
	case a.TooLarge:
		return fault.New(fault.Rejected, ReasonLayerTooLarge, "%s", a.Fault)
	case a.Fault != "":
		return fault.New(fault.Rejected, ReasonInvalidChart, "%s", a.Fault)
	}
	return nil
}
