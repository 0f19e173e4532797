package render

import (
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Requirements describes what the templates of a chart ask of the cluster, as far as that is visible without rendering.
type Requirements struct {
	Version bool
	// APIs are the APIs that the templates ask for by name. AllAPIs is true if the names are not visible.
	APIs    []string
	AllAPIs bool
}

// Job is the input to inspect or render a chart. A renderer receives it as JSON.
type Job struct {
	Files []File
	// Inspect asks only for the chart's Requirements.
	Inspect bool
	Values  []byte
	Release Release
	Known   *chartutil.Capabilities
	Limits  Limits
}

// Answer is the result of a Job.
type Answer struct {
	// Chart is the name of the chart.
	Chart string
	Asks  Requirements
	// Definitions are the files of the chart's crds folders. Texts are the rendered templates, in the order in which
	// they are applied.
	Definitions, Texts []File
	// Fault says what is wrong with the chart. TooLarge says that its size is the problem.
	Fault    string
	TooLarge bool
}

// NewJob returns a job that renders the chart of these files.
func NewJob(files []File, limits Limits) Job { return Job{Files: files, Limits: limits} }

// err returns the chart's fault as an error.
func (a Answer) err() error {
	switch {
	case a.TooLarge:
		return fault.New(fault.Rejected, ReasonLayerTooLarge, "%s", a.Fault)
	case a.Fault != "":
		return fault.New(fault.Rejected, ReasonInvalidChart, "%s", a.Fault)
	}
	return nil
}
