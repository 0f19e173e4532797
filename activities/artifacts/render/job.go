package render

import (
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
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
	Files []ChartFile
	// Inspect asks only for what the chart asks of the cluster.
	Inspect bool
	Values  []byte
	Release Release
	Known   *chartutil.Capabilities
	Limits  Limits
}

type ChartFile struct {
	Name    string
	Content []byte
}

// Answer is what comes back.
type Answer struct {
	// Chart is its name.
	Chart string
	Asks  Requirements
	// Definitions are the files of its crds folders, and Texts what its templates come to, in the order in which they
	// are applied.
	Definitions, Texts []ChartFile
	// Fault says what is wrong with the chart; TooLarge that it is its size.
	Fault    string
	TooLarge bool
}

func NewJob(files []file, limits Limits) Job {
	job := Job{Limits: limits}
	for _, f := range files {
		job.Files = append(job.Files, ChartFile{Name: f.Name, Content: f.Content})
	}
	return job
}

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
