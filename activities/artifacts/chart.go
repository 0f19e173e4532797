package artifacts

import (
	"context"
	"errors"
	"fmt"
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

	"github.com/kyma-project/lifecycle-manager/activities/fault"
)

const (
	chartFile = "Chart.yaml"
	notesFile = "NOTES.txt"
)

// Release is what a chart may know of its installation.
type Release struct {
	// Name is the module's name, Namespace the remote namespace (contract, section 5).
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
	version bool
	// apis are asked for by name; allAPIs is true when that cannot be told.
	apis    []string
	allAPIs bool
}

var hasLiteral = regexp.MustCompile("APIVersions\\.Has\\s+[\"`]([^\"`]+)[\"`]")

func (a *asksFor) read(c *chart.Chart) {
	if c.Metadata != nil && c.Metadata.KubeVersion != "" {
		a.version = true
	}
	for _, template := range c.Templates {
		text := string(template.Data)
		if !strings.Contains(text, "Capabilities") {
			continue
		}
		a.version = true
		literals := hasLiteral.FindAllStringSubmatch(text, -1)
		if len(literals) != strings.Count(text, "APIVersions") {
			a.allAPIs = true
		}
		for _, literal := range literals {
			if !slices.Contains(a.apis, literal[1]) {
				a.apis = append(a.apis, literal[1])
			}
		}
	}
	for _, dependency := range c.Dependencies() {
		a.read(dependency)
	}
	slices.Sort(a.apis)
}

// renderChart renders a chart with values and parses the result: the objects of its crds folders first.
// Hooks are set apart; those that are never run, and tests, are left out and named. It is bounded in time; a template that does not end keeps a
// goroutine, but neither the caller nor the process.
func renderChart(ctx context.Context, files []file, values []byte, installed Release, known *chartutil.Capabilities, limits Limits) (*Rendered, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.RenderTime)
	defer cancel()
	type outcome struct {
		rendered *Rendered
		err      error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o.err = fault.New(fault.Rejected, ReasonInvalidChart, "the chart made its renderer panic: %v", p)
			}
			done <- o
		}()
		o.rendered, o.err = renderUnbounded(files, values, installed, known, limits)
	}()
	select {
	case o := <-done:
		return o.rendered, o.err
	case <-ctx.Done():
		return nil, fault.New(fault.Rejected, ReasonInvalidChart, "the chart did not render within %s", limits.RenderTime)
	}
}

func renderUnbounded(files []file, values []byte, installed Release, known *chartutil.Capabilities, limits Limits) (*Rendered, error) {
	loaded, err := loadChart(files)
	if err != nil {
		return nil, err
	}
	invalidChart := func(what string, err error) error {
		return fault.New(fault.Rejected, ReasonInvalidChart, "chart %s: %s: %s", loaded.Name(), what, brief(err))
	}
	if constraint := loaded.Metadata.KubeVersion; constraint != "" && !chartutil.IsCompatibleRange(constraint, known.KubeVersion.String()) {
		return nil, invalidChart("the cluster does not fit", fmt.Errorf("it needs Kubernetes %s, the cluster has %s", constraint, known.KubeVersion.String()))
	}
	given := map[string]any{}
	if err := yaml.Unmarshal(values, &given); err != nil {
		return nil, invalidChart("the config layer is no map of values", errors.New("it cannot be decoded"))
	}
	if err := chartutil.ProcessDependenciesWithMerge(loaded, given); err != nil {
		return nil, invalidChart("dependencies", err)
	}
	options := chartutil.ReleaseOptions{Name: installed.Name, Namespace: installed.Namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(loaded, given, options, known)
	if err != nil {
		return nil, invalidChart("values", err)
	}
	texts, err := engine.Engine{}.Render(loaded, all)
	if err != nil {
		return nil, invalidChart("templates", err)
	}
	return parseChart(loaded, texts, limits)
}

// parseChart collects the objects of a rendered chart.
func parseChart(loaded *chart.Chart, texts map[string]string, limits Limits) (*Rendered, error) {
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
	for _, crd := range loaded.CRDObjects() {
		if err := p.documents(crd.Filename, crd.File.Data); err != nil {
			return nil, err
		}
	}
	names := make([]string, 0, len(texts))
	total := int64(0)
	for name, text := range texts {
		total += int64(len(text))
		if base := path.Base(name); base != notesFile && !strings.HasPrefix(base, "_") {
			names = append(names, name)
		}
	}
	if total > limits.UnpackedBytes {
		return nil, fault.New(fault.Rejected, ReasonLayerTooLarge, "chart %s renders to more than %d bytes", loaded.Name(), limits.UnpackedBytes)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := p.documents(name, []byte(texts[name])); err != nil {
			return nil, err
		}
	}
	slices.Sort(p.rendered.LeftOut)
	sortHooks(p.rendered.Hooks)
	return &p.rendered, nil
}
