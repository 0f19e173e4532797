package render

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/chartvalues"
)

const (
	chartFile = "Chart.yaml"
	notesFile = "NOTES.txt"
)

// ChartRoot returns the folder of an archive that holds a chart: the root, or a folder directly below it.
func ChartRoot(files []File) (string, bool) {
	for _, f := range files {
		folder, base := path.Split(f.Name)
		if base == chartFile && strings.Count(folder, "/") <= 1 {
			return folder, true
		}
	}
	return "", false
}

func loadChart(files []File) (*chart.Chart, error) {
	root, ok := ChartRoot(files)
	if !ok {
		return nil, fault.New(fault.Rejected, ReasonInvalidChart, "the archive has no %s", chartFile)
	}
	var buffered []*loader.BufferedFile
	for _, f := range files {
		name, within := strings.CutPrefix(f.Name, root)
		if !within {
			return nil, fault.New(fault.Rejected, ReasonInvalidChart, "the archive has %q beside the chart %q", f.Name, root)
		}
		buffered = append(buffered, &loader.BufferedFile{Name: name, Data: f.Content})
	}
	loaded, err := loader.LoadFiles(buffered)
	if err == nil {
		err = loaded.Validate()
	}
	if err != nil {
		return nil, fault.New(fault.Rejected, ReasonInvalidChart, "the chart cannot be loaded: %s", brief(err))
	}
	if loaded.Metadata.Type != "" && loaded.Metadata.Type != "application" {
		return nil, fault.New(fault.Rejected, ReasonInvalidChart, "the chart is of type %q and cannot be installed", loaded.Metadata.Type)
	}
	return loaded, nil
}

var hasLiteral = regexp.MustCompile("APIVersions\\.Has\\s+[\"`]([^\"`]+)[\"`]")

func (a *Requirements) add(c *chart.Chart) {
	if c.Metadata != nil && c.Metadata.KubeVersion != "" {
		a.Version = true
	}
	for _, template := range c.Templates {
		text := string(template.Data)
		if !strings.Contains(text, "Capabilities") {
			continue
		}
		a.Version = true
		literals := hasLiteral.FindAllStringSubmatch(text, -1)
		if len(literals) != strings.Count(text, "APIVersions") {
			a.AllAPIs = true
		}
		for _, literal := range literals {
			if !slices.Contains(a.APIs, literal[1]) {
				a.APIs = append(a.APIs, literal[1])
			}
		}
	}
	for _, dependency := range c.Dependencies() {
		a.add(dependency)
	}
	slices.Sort(a.APIs)
}

// run does the job, and returns a panic as the answer's fault.
func (job Job) run() (answer Answer) {
	defer func() {
		if p := recover(); p != nil {
			answer = Answer{Fault: fmt.Sprintf("the chart made its renderer panic: %.200v", p)}
		}
	}()
	loaded, err := loadChart(job.Files)
	if err != nil {
		return Answer{Fault: err.Error()}
	}
	if job.Inspect {
		answer.Asks.add(loaded)
		return answer
	}
	return job.render(loaded)
}

func (job Job) render(loaded *chart.Chart) Answer {
	wrong := func(what string, err error) Answer {
		return Answer{Fault: fmt.Sprintf("chart %s: %s: %s", loaded.Name(), what, brief(err))}
	}
	known := job.Known
	if constraint := loaded.Metadata.KubeVersion; constraint != "" && !chartutil.IsCompatibleRange(constraint, known.KubeVersion.String()) {
		return wrong("incompatible cluster", fmt.Errorf("it needs Kubernetes %s, the cluster has %s", constraint, known.KubeVersion.String()))
	}
	given := map[string]any{}
	if err := yaml.Unmarshal(job.Values, &given); err != nil {
		return wrong("the config layer is not a map of values", errors.New("it cannot be decoded"))
	}
	if err := chartutil.ProcessDependenciesWithMerge(loaded, given); err != nil {
		return wrong("dependencies", err)
	}
	options := chartutil.ReleaseOptions{Name: job.Release.Name, Namespace: job.Release.Namespace, Revision: 1, IsInstall: true}
	// Like Helm, assume that the chart's own definitions exist before its templates are rendered.
	withOwn := *known
	withOwn.APIVersions = slices.Concat(known.APIVersions, job.definedAPIs(loaded))
	// Skip Helm's own validation of the values: it would follow every reference in the chart's schema.
	all, err := chartutil.ToRenderValuesWithSchemaValidation(loaded, given, options, &withOwn, true)
	if err != nil {
		return wrong("values", err)
	}
	if err := chartvalues.Validate(loaded, valuesIn(all)); err != nil {
		return wrong("values", err)
	}
	texts, err := engine.Engine{}.Render(loaded, all)
	if err != nil {
		return wrong("templates", err)
	}
	answer := Answer{Chart: loaded.Name()}
	total := int64(0)
	for _, definition := range loaded.CRDObjects() {
		total += int64(len(definition.File.Data))
		answer.Definitions = append(answer.Definitions, File{Name: definition.Filename, Content: definition.File.Data})
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		total += int64(len(texts[name]))
		if base := path.Base(name); base != notesFile && !strings.HasPrefix(base, "_") {
			answer.Texts = append(answer.Texts, File{Name: name, Content: []byte(texts[name])})
		}
	}
	if total > job.Limits.UnpackedBytes {
		return Answer{Fault: fmt.Sprintf("chart %s renders to more than %d bytes", loaded.Name(), job.Limits.UnpackedBytes), TooLarge: true}
	}
	return answer
}

// valuesIn returns the chart's values from the data that templates are rendered with.
func valuesIn(all chartutil.Values) map[string]any {
	values, _ := all["Values"].(chartutil.Values)
	return values
}

// definedAPIs returns the APIs that the definitions in a chart's crds folders serve, as "group/version" and
// "group/version/Kind". It skips definitions that cannot be read; Answer.Objects reports those.
func (job Job) definedAPIs(loaded *chart.Chart) []string {
	var apis []string
	for _, file := range loaded.CRDObjects() {
		p := NewParser(job.Limits)
		if err := p.Documents(file.Filename, file.File.Data); err != nil {
			continue
		}
		for _, u := range p.Rendered.Objects {
			if u.GroupVersionKind().GroupKind().String() != "CustomResourceDefinition.apiextensions.k8s.io" {
				continue
			}
			group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind")
			versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
			for _, version := range versions {
				v, _ := version.(map[string]any)
				name, _ := v["name"].(string)
				if served, _ := v["served"].(bool); served {
					apis = append(apis, group+"/"+name, group+"/"+name+"/"+kind)
				}
			}
		}
	}
	return apis
}

// Objects returns the objects of a rendered chart, starting with those of its crds folders. Hooks are separate. Tests
// and hooks that never run are left out and named in LeftOut.
func (a Answer) Objects(limits Limits) (*Rendered, error) {
	p := NewParser(limits)
	p.skip = func(u *unstructured.Unstructured) bool {
		_, isHook := u.GetAnnotations()[release.HookAnnotation]
		if isHook {
			hooks := hooksOf(u)
			if len(hooks) == 0 {
				p.Rendered.LeftOut = append(p.Rendered.LeftOut, u.GetKind()+" "+u.GetName())
			}
			p.Rendered.Hooks = append(p.Rendered.Hooks, hooks...)
		}
		return isHook
	}
	for _, text := range slices.Concat(a.Definitions, a.Texts) {
		if err := p.Documents(text.Name, text.Content); err != nil {
			return nil, err
		}
	}
	slices.Sort(p.Rendered.LeftOut)
	sortHooks(p.Rendered.Hooks)
	return &p.Rendered, nil
}
