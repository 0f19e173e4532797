// Package lint finds out what would go wrong with a module before it is
// shipped: in its configuration, its manifest or chart, and its default custom
// resource.
package lint

import (
	"errors"
	"fmt"

	"github.com/kyma-project/lifecycle-manager/cmd/module/config"
	"github.com/kyma-project/lifecycle-manager/cmd/module/layers"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// ErrFindings says that a module has errors and is not shipped.
var ErrFindings = errors.New("the module has errors")

// Severity tells what hinders shipping from what is merely worth knowing.
type Severity string

// Severities.
const (
	// SeverityError hinders create and push.
	SeverityError Severity = "error"
	// SeverityWarning does not.
	SeverityWarning Severity = "warning"
)

// Finding is one thing that is wrong or worth knowing.
type Finding struct {
	Severity Severity `json:"severity"`
	// File that the finding is about, as the user would write it.
	File string `json:"file"`
	// Where in the file: a field, or a document and its object. May be empty.
	Where   string `json:"where,omitempty"`
	Message string `json:"message"`
}

// String is one line, beginning like a compiler's.
func (f Finding) String() string {
	if f.Where == "" {
		return fmt.Sprintf("%s: %s: %s", f.Severity, f.File, f.Message)
	}
	return fmt.Sprintf("%s: %s: %s: %s", f.Severity, f.File, f.Where, f.Message)
}

// Report is all that was found, in the order of the files.
type Report struct {
	Findings []Finding `json:"findings"`
	// Objects is the number of Kubernetes objects that the module consists of.
	Objects int `json:"objects"`
}

// Err is ErrFindings where something hinders shipping, and nil otherwise.
func (r Report) Err() error {
	count := 0
	for _, finding := range r.Findings {
		if finding.Severity == SeverityError {
			count++
		}
	}
	if count == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d", ErrFindings, count)
}

func (r *Report) fail(file, where, format string, arguments ...any) {
	r.Findings = append(r.Findings, Finding{SeverityError, file, where, fmt.Sprintf(format, arguments...)})
}

func (r *Report) warn(file, where, format string, arguments ...any) {
	r.Findings = append(r.Findings, Finding{SeverityWarning, file, where, fmt.Sprintf(format, arguments...)})
}

// Module is a module that was read in full.
type Module struct {
	Config  config.Module
	Content layers.Content
	// DefaultCR is the default custom resource as JSON; nil without one.
	DefaultCR []byte
}

// Options of a check.
type Options struct {
	// KubeVersion is the version of Kubernetes that charts are rendered for,
	// such as v1.36.1.
	KubeVersion string
}

// Check reads the module at a path (its folder or its configuration file) and
// checks it. The module is complete only where the report's Err is nil.
func Check(path string, options Options) (Module, Report) {
	report := Report{Findings: []Finding{}}
	loaded, err := config.Load(path)
	if err != nil {
		report.fail(path, "", "%v", err)
		return Module{}, report
	}
	module := Module{Config: loaded}
	for _, problem := range loaded.Check() {
		report.fail(loaded.File(), problem.Field, "%s", problem.Message)
	}
	for _, problem := range loaded.Warnings() {
		report.warn(loaded.File(), problem.Field, "%s", problem.Message)
	}
	module.Content, err = layers.Read(loaded)
	if err != nil {
		report.fail(loaded.File(), "", "%v", err)
		return module, report
	}
	objects := parseManifests(module.Content.Manifests, &report)
	for _, layer := range module.Content.Layers {
		if layer.Name == layers.NameConfig {
			warnOfEqualKeys(loaded.Path(loaded.Values), "", layer.Data, &report)
		}
	}
	var rendered []render.File
	if module.Content.Chart != nil {
		var ofChart []object
		ofChart, rendered = renderChart(module, options, &report)
		objects = append(objects, ofChart...)
	}
	report.Objects = len(objects)
	known, err := kindsOf(objects, options.KubeVersion, &report)
	if err != nil {
		report.fail(loaded.File(), "", "%v", err)
		return module, report
	}
	checkObjects(objects, loaded, known, &report)
	checkManager(objects, loaded, &report)
	if loaded.IsModulectl() {
		module.Config.ClusterScoped = known.saysClusterScoped(module.Content.DefaultCR)
	}
	module.DefaultCR = checkDefaultCR(known, module, &report)
	if report.Err() == nil {
		checkInstallable(module, rendered, &report)
	}
	return module, report
}

// checkInstallable reads the documents once more as the installation does, so that nothing is found right here that it
// refuses.
func checkInstallable(module Module, rendered []render.File, report *Report) {
	limits := render.Limits{}.WithDefaults()
	if module.Content.Chart != nil {
		if _, err := (render.Answer{Texts: rendered}).Objects(limits); err != nil {
			report.fail(module.Content.ChartPath, "", "%v", err)
		}
		return
	}
	parser := render.NewParser(limits)
	for _, file := range module.Content.Manifests {
		if err := parser.Documents(file.Path, file.Data); err != nil {
			report.fail(file.Path, "", "%v", err)
			return
		}
	}
}
