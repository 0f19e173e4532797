package artifacts

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

	"github.com/kyma-project/lifecycle-manager/activities/chartvalues"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
)

const (
	chartFile = "Chart.yaml"
	notesFile = "NOTES.txt"
)

// Release is what a chart may know of its installation.
type Release struct {
	// Name is the module's name, Namespace the remote namespace (docs/contract.md#namespaces-and-defaults).
	Name, Namespace string
}

// chartRoot returns the folder of an archive that holds a chart: the root, or the one folder in it.
func chartRoot(files []file) (string, bool) {
	for _, f := range files {
		folder, base := path.Split(f.name)
		if base == chartFile && strings.Count(folder, "/") <= 1 {
			return folder, true
		}
	}
	return "", false
}

func loadChart(files []file) (*chart.Chart, error) {
	root, ok := chartRoot(files)
	if !ok {
		return nil, fault.New(fault.Rejected, ReasonInvalidChart, "the archive has no %s", chartFile)
	}
	var buffered []*loader.BufferedFile
	for _, f := range files {
		name, within := strings.CutPrefix(f.name, root)
		if !within {
			return nil, fault.New(fault.Rejected, ReasonInvalidChart, "the archive has %q beside the chart %q", f.name, root)
		}
		buffered = append(buffered, &loader.BufferedFile{Name: name, Data: f.content})
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

// asksFor is what the templates of a chart ask of the cluster, as far as can be told without rendering.
type asksFor struct {
	Version bool
	// APIs are asked for by name; AllAPIs is true when that cannot be told.
	APIs    []string
	AllAPIs bool
}

var hasLiteral = regexp.MustCompile("APIVersions\\.Has\\s+[\"`]([^\"`]+)[\"`]")

func (a *asksFor) read(c *chart.Chart) {
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
		a.read(dependency)
	}
	slices.Sort(a.APIs)
}

// chartJob is what is needed to inspect or render a chart, and goes to a renderer as JSON.
type chartJob struct {
	Files []chartFileOf
	// Inspect asks only for what the chart asks of the cluster.
	Inspect bool
	Values  []byte
	Release Release
	Known   *chartutil.Capabilities
	Limits  Limits
}

type chartFileOf struct {
	Name    string
	Content []byte
}

// chartAnswer is what comes back.
type chartAnswer struct {
	// Chart is its name.
	Chart string
	Asks  asksFor
	// Definitions are the files of its crds folders, and Texts what its templates come to, in the order in which they
	// are applied.
	Definitions, Texts []chartFileOf
	// Fault says what is wrong with the chart; TooLarge that it is its size.
	Fault    string
	TooLarge bool
}

func jobOf(files []file, limits Limits) chartJob {
	job := chartJob{Limits: limits}
	for _, f := range files {
		job.Files = append(job.Files, chartFileOf{Name: f.name, Content: f.content})
	}
	return job
}

// do does the job, whatever it costs. It survives a panic.
func (job chartJob) do() (answer chartAnswer) {
	defer func() {
		if p := recover(); p != nil {
			answer = chartAnswer{Fault: fmt.Sprintf("the chart made its renderer panic: %.200v", p)}
		}
	}()
	var files []file
	for _, f := range job.Files {
		files = append(files, file{name: f.Name, content: f.Content})
	}
	loaded, err := loadChart(files)
	if err != nil {
		return chartAnswer{Fault: err.Error()}
	}
	if job.Inspect {
		answer.Asks.read(loaded)
		return answer
	}
	return job.render(loaded)
}

func (job chartJob) render(loaded *chart.Chart) chartAnswer {
	wrong := func(what string, err error) chartAnswer {
		return chartAnswer{Fault: fmt.Sprintf("chart %s: %s: %s", loaded.Name(), what, brief(err))}
	}
	known := job.Known
	if constraint := loaded.Metadata.KubeVersion; constraint != "" && !chartutil.IsCompatibleRange(constraint, known.KubeVersion.String()) {
		return wrong("the cluster does not fit", fmt.Errorf("it needs Kubernetes %s, the cluster has %s", constraint, known.KubeVersion.String()))
	}
	given := map[string]any{}
	if err := yaml.Unmarshal(job.Values, &given); err != nil {
		return wrong("the config layer is no map of values", errors.New("it cannot be decoded"))
	}
	if err := chartutil.ProcessDependenciesWithMerge(loaded, given); err != nil {
		return wrong("dependencies", err)
	}
	options := chartutil.ReleaseOptions{Name: job.Release.Name, Namespace: job.Release.Namespace, Revision: 1, IsInstall: true}
	// As with Helm, the chart's own definitions are there before its templates are rendered.
	withOwn := *known
	withOwn.APIVersions = slices.Concat(known.APIVersions, job.definedAPIs(loaded))
	// Helm's own check of the values would follow references of the chart's schema to wherever they lead.
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
	answer := chartAnswer{Chart: loaded.Name()}
	total := int64(0)
	for _, definition := range loaded.CRDObjects() {
		total += int64(len(definition.File.Data))
		answer.Definitions = append(answer.Definitions, chartFileOf{Name: definition.Filename, Content: definition.File.Data})
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		total += int64(len(texts[name]))
		if base := path.Base(name); base != notesFile && !strings.HasPrefix(base, "_") {
			answer.Texts = append(answer.Texts, chartFileOf{Name: name, Content: []byte(texts[name])})
		}
	}
	if total > job.Limits.UnpackedBytes {
		return chartAnswer{Fault: fmt.Sprintf("chart %s renders to more than %d bytes", loaded.Name(), job.Limits.UnpackedBytes), TooLarge: true}
	}
	return answer
}

// valuesIn are the chart's values among what templates are rendered with.
func valuesIn(all chartutil.Values) map[string]any {
	values, _ := all["Values"].(chartutil.Values)
	return values
}

// definedAPIs are what the definitions in a chart's crds folders serve, as "group/version" and "group/version/Kind". What
// cannot be read is left out here; who collects the objects says what is wrong with it.
func (job chartJob) definedAPIs(loaded *chart.Chart) []string {
	var apis []string
	for _, file := range loaded.CRDObjects() {
		p := newParser(job.Limits)
		if err := p.documents(file.Filename, file.File.Data); err != nil {
			continue
		}
		for _, u := range p.rendered.Objects {
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

// err is what is wrong with the chart.
func (a chartAnswer) err() error {
	switch {
	case a.TooLarge:
		return fault.New(fault.Rejected, ReasonLayerTooLarge, "%s", a.Fault)
	case a.Fault != "":
		return fault.New(fault.Rejected, ReasonInvalidChart, "%s", a.Fault)
	}
	return nil
}

// objects collects the objects of a rendered chart, those of its crds folders first. Hooks are set apart; those that are
// never run, and tests, are left out and named.
func (a chartAnswer) objects(limits Limits) (*Rendered, error) {
	p := newParser(limits)
	p.skip = func(u *unstructured.Unstructured) bool {
		_, isHook := u.GetAnnotations()[release.HookAnnotation]
		if isHook {
			hooks := hooksOf(u)
			if len(hooks) == 0 {
				p.rendered.LeftOut = append(p.rendered.LeftOut, u.GetKind()+" "+u.GetName())
			}
			p.rendered.Hooks = append(p.rendered.Hooks, hooks...)
		}
		return isHook
	}
	for _, text := range slices.Concat(a.Definitions, a.Texts) {
		if err := p.documents(text.Name, text.Content); err != nil {
			return nil, err
		}
	}
	slices.Sort(p.rendered.LeftOut)
	sortHooks(p.rendered.Hooks)
	return &p.rendered, nil
}
