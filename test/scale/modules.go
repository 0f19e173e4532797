package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kyma-project/lifecycle-manager/test/scale/processes"
)

// push publishes a version of each of these modules and puts it into the channel.
func (e *environment) push(ctx context.Context, version string, modules ...int) error {
	for _, m := range modules {
		if err := e.pushManifest(ctx, version, m, moduleManifest(moduleName(m), version, e.objects)); err != nil {
			return err
		}
	}
	return nil
}

// badObject is what no API server takes.
const badObject = "---\napiVersion: v1\nkind: Service\nmetadata: {name: bad, namespace: kyma-system}\nspec: {}\n"

// hangingObject is of a kind that no other module has.
const hangingObject = `---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: hanging, namespace: kyma-system}
spec:
  selector: {matchLabels: {app: hanging}}
  template:
    metadata: {labels: {app: hanging}}
    spec: {containers: [{name: server, image: "registry.example.com/server"}]}
`

// pushBad publishes a version of a module that fails in each cluster, and puts it into the channel.
func (e *environment) pushBad(ctx context.Context, version string, m int) error {
	return e.pushManifest(ctx, version, m, moduleManifest(moduleName(m), version, e.objects)+badObject)
}

func (e *environment) pushManifest(ctx context.Context, version string, m int, manifest string) error {
	folder := e.path(fmt.Sprintf("module-%d-%s", m, version))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make a module: %w", err)
	}
	name := moduleName(m)
	for file, content := range map[string]string{
		"module-config.yaml": fmt.Sprintf("name: kyma-project.io/module/%s\nmoduleName: %s\nversion: %s\nmanifest: manifest.yaml\nchannels: [regular]\n", name, name, version),
		"manifest.yaml":      manifest,
	} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
			return fmt.Errorf("make a module: %w", err)
		}
	}
	catalog, err := processes.Output(ctx, nil, "bin/module", "push", folder, "--registry", e.fleet.Registry.Host, "--plain-http")
	if err != nil {
		return err
	}
	return e.apply(ctx, catalog)
}

// moduleName is a name of letters, as those of modules are.
func moduleName(m int) string { return "module-" + strings.Repeat(string(rune('a'+m%26)), 3+m/26) }

// moduleManifest has a Deployment, an account and ConfigMaps, three of which differ from version to version.
func moduleManifest(name, version string, objects int) string {
	docs := []string{
		fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: kyma-system, labels: {version: "%[2]s"}}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: manager, image: "registry.example.com/%[1]s:%[2]s"}]}
`, name, version),
		fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s, namespace: kyma-system}\n", name),
	}
	for i := len(docs); i < objects; i++ {
		content := "the same in all versions"
		if i < 4 {
			content = version
		}
		docs = append(docs, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d, namespace: kyma-system}\ndata: {content: %q}\n", name, i, content))
	}
	return strings.Join(docs, "---\n")
}
