// Generate adds the older API versions to the CustomResourceDefinitions. Their schema is the schema of v1beta2, so there are no Go
// types for them. Run it from the root of the repository after controller-gen: `go run ./deploy/crds/generate`.
package main

import (
	"fmt"
	"log"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// olderKinds returns the resources that have older versions. The others came with v1beta2.
func olderKinds() []string { return []string{"kymas", "manifests", "moduletemplates", "watchers"} }

func main() {
	log.SetFlags(0)
	for _, name := range olderKinds() {
		path := "deploy/crds/operator.kyma-project.io_" + name + ".yaml"
		content, err := os.ReadFile(path)
		if err != nil {
			log.Fatal(err)
		}
		if content, err = withOlderVersions(content); err != nil {
			log.Fatalf("%s: %v", path, err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // manifests are for everybody to read
			log.Fatal(err)
		}
	}
}

// withOlderVersions returns a definition of v1beta2 that also serves v1alpha1 and v1beta1.
func withOlderVersions(content []byte) ([]byte, error) {
	var definition struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       map[string]any `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(content, &definition); err != nil {
		return nil, err
	}
	versions, ok := definition.Spec["versions"].([]any)
	if !ok || len(versions) != 1 {
		return nil, fmt.Errorf("it must have one version, the present one, and has %d", len(versions))
	}
	present, ok := versions[0].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("its version is no object")
	}
	var all []any
	for _, name := range []string{"v1alpha1", "v1beta1"} {
		older := map[string]any{}
		for key, value := range present {
			older[key] = value
		}
		older["name"], older["storage"] = name, false
		all = append(all, older)
	}
	definition.Spec["versions"] = append(all, present)
	out, err := yaml.Marshal(definition)
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(out, &apiextensionsv1.CustomResourceDefinition{}); err != nil {
		return nil, err
	}
	return append([]byte("---\n"), out...), nil
}
