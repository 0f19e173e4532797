package lint

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// renderChart renders the chart as the installer does: with the values of the
// config layer, the module's name as release name and the remote namespace
// (contract, section 5), and without asking a cluster.
func renderChart(module Module, options Options, report *Report) []object {
	location, loaded := module.Content.ChartPath, module.Content.Chart
	if err := loaded.Validate(); err != nil {
		report.fail(location, "Chart.yaml", "%v", err)
		return nil
	}
	if loaded.Metadata.Type == "library" {
		report.fail(location, "Chart.yaml", "is a library chart, which has nothing to install")
		return nil
	}
	if missing := missingDependencies(loaded); len(missing) > 0 {
		report.fail(location, "Chart.yaml", "charts it depends on are not in charts/: %s; run `helm dependency build` first",
			strings.Join(missing, ", "))
		return nil
	}
	version, err := chartutil.ParseKubeVersion(options.KubeVersion)
	if err != nil {
		report.fail(location, "", "Kubernetes version %q: %v", options.KubeVersion, err)
		return nil
	}
	if wanted := loaded.Metadata.KubeVersion; wanted != "" && !chartutil.IsCompatibleRange(wanted, version.Version) {
		report.fail(location, "Chart.yaml", "wants Kubernetes %s; checked for %s", wanted, version.Version)
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	if err := chartutil.ProcessDependenciesWithMerge(loaded, module.Content.Values); err != nil {
		report.fail(location, "", "%v", err)
		return nil
	}
	values, err := chartutil.ToRenderValues(loaded, module.Content.Values, chartutil.ReleaseOptions{
		Name: module.Config.ModuleName, Namespace: remoteNamespace, Revision: 1, IsInstall: true,
	}, capabilities)
	if err != nil {
		report.fail(location, "values", "%v", err)
		return nil
	}
	rendered, err := engine.Render(loaded, values)
	if err != nil {
		report.fail(location, "", "does not render: %v", err)
		return nil
	}
	var objects []object
	for _, definition := range loaded.CRDObjects() {
		objects = append(objects, parseDocuments(filepath.Join(location, definition.Filename), definition.File.Data, report)...)
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if path.Base(name) == "NOTES.txt" || strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		// Names begin with the chart's own, which is not part of the path.
		_, within, _ := strings.Cut(name, "/")
		objects = append(objects, parseDocuments(filepath.Join(location, within), []byte(rendered[name]), report)...)
	}
	return objects
}

// missingDependencies names the charts that are declared and not packed.
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
