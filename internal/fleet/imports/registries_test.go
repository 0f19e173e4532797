package imports

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

func TestUserProvidedTemplatesMayUseOnlyAllowedRegistries(t *testing.T) {
	blob := func(reference string) map[string]any {
		return map[string]any{
			"name": "raw-manifest", "type": "raw-manifest", "relation": "local", "version": "1.0.0",
			"access": map[string]any{"type": "ociBlob", "ref": reference, "digest": desiredtest.Digest("a"), "mediaType": "application/x-yaml"},
		}
	}
	change := func(raw *runtime.RawExtension, contexts ...any) *runtime.RawExtension {
		var content map[string]any
		require.NoError(t, json.Unmarshal(raw.Raw, &content))
		component, ok := content["component"].(map[string]any)
		require.True(t, ok)
		component["repositoryContexts"] = contexts
		changed, err := json.Marshal(content)
		require.NoError(t, err)
		return &runtime.RawExtension{Raw: changed}
	}
	context := func(base string) map[string]any {
		return map[string]any{"type": "OCIRegistry", "baseUrl": base, "componentNameMapping": "urlPath"}
	}
	ordinary := desiredtest.Descriptor("example.com/mine", "1.0.0")
	for name, test := range map[string]struct {
		descriptor *runtime.RawExtension
		allowed    []string
		want       string
	}{
		"a missing descriptor means our own registry": {},
		"an empty descriptor is fetched from our own": {descriptor: &runtime.RawExtension{Raw: []byte(`{}`)}},
		"no registry is allowed by default": {
			descriptor: ordinary, want: "user-provided templates must not use registry registry.example.com (no registry is allowed)",
		},
		"an allowed registry":                   {descriptor: ordinary, allowed: []string{"registry.example.com"}},
		"the case of hosts does not matter":     {descriptor: change(ordinary, context("https://Registry.Example.com/x")), allowed: []string{"registry.EXAMPLE.com"}},
		"a port is another registry":            {descriptor: change(ordinary, context("registry.example.com:5000")), allowed: []string{"registry.example.com"}, want: "must not use registry registry.example.com:5000"},
		"a longer name is another registry":     {descriptor: change(ordinary, context("registry.example.com.evil.example")), allowed: []string{"registry.example.com"}, want: "must not use registry registry.example.com.evil.example"},
		"an earlier repository counts too":      {descriptor: change(ordinary, context("evil.example"), context("registry.example.com")), allowed: []string{"registry.example.com"}, want: "must not use registry evil.example"},
		"a blob elsewhere":                      {descriptor: desiredtest.RawDescriptor("example.com/mine", "1.0.0", blob("evil.example/a/b")), allowed: []string{"registry.example.com"}, want: "must not use registry evil.example"},
		"a blob in an allowed registry":         {descriptor: desiredtest.RawDescriptor("example.com/mine", "1.0.0", blob("other.example/a/b")), allowed: []string{"other.example", "registry.example.com"}},
		"a user in the address":                 {descriptor: change(ordinary, context("registry.example.com@evil.example")), allowed: []string{"registry.example.com"}, want: "contains credentials"},
		"an address without a host":             {descriptor: change(ordinary, context("/registry.example.com")), allowed: []string{"registry.example.com"}, want: "names no registry"},
		"the public registry by its short name": {descriptor: change(ordinary, context("docker.io/library")), allowed: []string{"docker.io"}},
		"an invalid descriptor":                 {descriptor: &runtime.RawExtension{Raw: []byte(`{"component":{"name":7}}`)}, allowed: []string{"registry.example.com"}, want: "invalid component descriptor"},
		"a descriptor without component": {
			descriptor: &runtime.RawExtension{Raw: []byte(`{"meta":{"schemaVersion":"v2"}}`)}, allowed: []string{"registry.example.com"}, want: "invalid component descriptor",
		},
	} {
		t.Run(name, func(t *testing.T) {
			allowed, err := artifacts.NewRegistries(test.allowed)
			require.NoError(t, err)
			got := refuse(&v1beta2.ModuleTemplate{Spec: v1beta2.ModuleTemplateSpec{Descriptor: test.descriptor}}, allowed)
			if test.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, test.want)
		})
	}
}
