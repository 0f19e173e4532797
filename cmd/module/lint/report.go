// Package lint finds errors in a module before it is shipped: in its configuration, its manifest or chart, and its
// default custom resource. The commands lint, create and push use it:
//
//	module, report := lint.Check("./sample", lint.Options{KubeVersion: "v1.36.1"})
//	if err := report.Err(); err != nil { … } // module is incomplete
//
// Check applies the rules of an API server without a server:
//
//   - builtin checks Kubernetes' own kinds, with client-go's types and with fields.json, the required fields and enumerated
//     values that lint/generate extracts from k8s.io/api;
//   - custom checks objects of the kinds that the module itself defines, with the API server's own code for custom resources;
//   - renderChart renders a chart like the installer, twice, to find values that differ each time.
//
// Two rules must stay true. An error means that the API server or the installation would refuse the module; anything
// else is a warning. And lint reads documents like the installer (internal/registry/artifacts/render), so it accepts
// nothing that the installation refuses.
package lint

import (
	"errors"
	"fmt"

	"github.com/kyma-project/lifecycle-manager/cmd/module/config"
	"github.com/kyma-project/lifecycle-manager/cmd/module/layers"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// ErrFindings means that a module has errors. It is not shipped.
var ErrFindings = errors.New("the module has errors")

// Severity separates findings that prevent shipping from warnings.
type Severity string

// Severities.
const (
	// SeverityError prevents create and push.
	SeverityError Severity = "error"
	// SeverityWarning does not prevent them.
	SeverityWarning Severity = "warning"
)

// Finding is one error or warning.
type Finding struct {
	Severity Severity `json:"severity"`
	// File of the finding, in the form that the user would write.
	File string `json:"file"`
	// Where is the place in the file: a field, or a document and its object. It may be empty.
	Where   string `json:"where,omitempty"`
	Message string `json:"message"`
}

// String returns the finding in one line, similar to a compiler's message.
func (f Finding) String() string {
	if f.Where == "" {
		return fmt.Sprintf("%s: %s: %s", f.Severity, f.File, f.Message)
	}
	return fmt.Sprintf("%s: %s: %s: %s", f.Severity, f.File, f.Where, f.Message)
}

// Report holds all findings, in the order of the files.
type Report struct {
	Findings []Finding `json:"findings"`
	// Objects is the number of Kubernetes objects that the module consists of.
	Objects int `json:"objects"`
}

// Err returns an error that wraps ErrFindings if a finding prevents shipping, and nil otherwise.
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

// Module is a module that was read completely.
type Module struct {
	Config  config.Module
	Content layers.Content
	// DefaultCR is the default custom resource as JSON. Nil if the module has none.
	DefaultCR []byte
}

// Options configures Check.
type Options struct {
	// KubeVersion is the version of Kubernetes to check against and to render charts for, such as v1.36.1.
	KubeVersion string
}

// Check reads the module at a path (its folder or its configuration file) and checks it. The module is complete only if
// the report's Err is nil.
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

// checkInstallable reads the documents again like the installation does, so that Check accepts nothing that the
// installation refuses.
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
