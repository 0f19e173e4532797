package lint

import (
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
	"github.com/kyma-project/lifecycle-manager/internal/registry/chartvalues"
)

// renderChart renders the chart like the installer: with the values of the config layer, the module's name as release
// name, the remote namespace (docs/contract.md#namespaces-and-defaults), and without asking a cluster. It also returns
// the texts of the templates and definitions.
func renderChart(module Module, options Options, report *Report) (objects []object, texts []render.File) {
	location, loaded := module.Content.ChartPath, module.Content.Chart
	if err := loaded.Validate(); err != nil {
		report.fail(location, "Chart.yaml", "%v", err)
		return nil, nil
	}
	if loaded.Metadata.Type == "library" {
		report.fail(location, "Chart.yaml", "is a library chart, which has nothing to install")
		return nil, nil
	}
	if missing := missingDependencies(loaded); len(missing) > 0 {
		report.fail(location, "Chart.yaml", "dependencies are missing in charts/: %s; run `helm dependency build` first",
			strings.Join(missing, ", "))
		return nil, nil
	}
	version, err := chartutil.ParseKubeVersion(options.KubeVersion)
	if err != nil {
		report.fail(location, "", "Kubernetes version %q: %v", options.KubeVersion, err)
		return nil, nil
	}
	if wanted := loaded.Metadata.KubeVersion; wanted != "" && !chartutil.IsCompatibleRange(wanted, version.Version) {
		report.fail(location, "Chart.yaml", "requires Kubernetes %s, but was checked for %s", wanted, version.Version)
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	if err := chartutil.ProcessDependenciesWithMerge(loaded, module.Content.Values); err != nil {
		report.fail(location, "", "%v", err)
		return nil, nil
	}
	renderOnce := func() (texts map[string]string, inValues bool, err error) {
		// Skip Helm's own check of the values, because it would follow references in the chart's schema to any address.
		values, err := chartutil.ToRenderValuesWithSchemaValidation(loaded, module.Content.Values, chartutil.ReleaseOptions{
			Name: module.Config.ModuleName, Namespace: remoteNamespace, Revision: 1, IsInstall: true,
		}, capabilities, true)
		if err != nil {
			return nil, true, err
		}
		given, _ := values["Values"].(chartutil.Values)
		if err := chartvalues.Validate(loaded, given); err != nil {
			return nil, true, err
		}
		texts, err = engine.Render(loaded, values)
		return texts, false, err
	}
	rendered, inValues, err := renderOnce()
	if inValues {
		report.fail(location, "values", "%v", err)
		return nil, nil
	}
	var again map[string]string
	if err == nil {
		again, _, err = renderOnce()
	}
	if err != nil {
		report.fail(location, "", "does not render: %v", err)
		return nil, nil
	}
	for _, definition := range loaded.CRDObjects() {
		file := filepath.Join(location, definition.Filename)
		texts = append(texts, render.File{Name: file, Content: definition.File.Data})
		objects = append(objects, parseDocuments(file, definition.File.Data, report)...)
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if path.Base(name) == "NOTES.txt" || strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		// Template names begin with the chart's name, which is not part of the path.
		_, within, _ := strings.Cut(name, "/")
		file := filepath.Join(location, within)
		found := parseDocuments(file, []byte(rendered[name]), report)
		if rendered[name] != again[name] {
			checkSame(found, parseDocuments(file, []byte(again[name]), &Report{}), file, report)
		}
		checkHooks(found, report)
		texts = append(texts, render.File{Name: file, Content: []byte(rendered[name])})
		objects = append(objects, found...)
	}
	return objects, texts
}

// checkHooks marks the hooks among the objects. It warns of hooks that run with Helm, or were meant to, but never run
// here. It does not warn of test hooks, because users do not expect them to run. Like Helm and the installer, it treats
// a hook with an unknown event as if it had no events.
func checkHooks(found []object, report *Report) {
	expected := sets.New(release.HookPreInstall, release.HookPreUpgrade, release.HookPostInstall, release.HookPostUpgrade, release.HookTest, "test-success")
	known := expected.Union(sets.New(release.HookPreDelete, release.HookPostDelete, release.HookPreRollback, release.HookPostRollback))
	for i, object := range found {
		said, isHook := object.GetAnnotations()[release.HookAnnotation]
		if !isHook {
			continue
		}
		found[i].hook, found[i].neverRuns = true, render.NeverRuns(object.Unstructured)
		if said == "" {
			continue
		}
		events := sets.New[release.HookEvent]()
		for event := range strings.SplitSeq(strings.ToLower(said), ",") {
			events.Insert(release.HookEvent(strings.TrimSpace(event)))
		}
		if !known.IsSuperset(events) || !events.HasAny(expected.UnsortedList()...) {
			report.warn(object.file, object.where(), "is a hook that never runs (%s): only install and upgrade hooks run", said)
		}
	}
}

// checkSame reports the objects of a template that differ between two renderings. All clusters with the same render
// request share one rendering, which is rendered again from time to time. A random value would be the same in all these
// clusters and then change in all of them.
func checkSame(first, second []object, file string, report *Report) {
	const why = "differs each time that the chart is rendered; remove values that are random or depend on the time"
	if len(first) != len(second) {
		report.fail(file, "", why)
		return
	}
	for i := range first {
		if !reflect.DeepEqual(first[i].Object, second[i].Object) {
			report.fail(file, first[i].where(), why)
		}
	}
}

// missingDependencies returns the declared charts that are not in charts/.
func missingDependencies(parent *chart.Chart) []string {
	packed := map[string]bool{}
	for _, dependency := range parent.Dependencies() {
		packed[dependency.Name()] = true
	}
	var missing []string
	for _, declared := range parent.Metadata.Dependencies {
		if !packed[declared.Name] {
			missing = append(missing, declared.Name)
		}
	}
	return missing
}
