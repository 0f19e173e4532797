package bundle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnImageIsReplacedByItsOwnCopyOnly(t *testing.T) {
	t.Parallel()
	one, two := "@sha256:"+strings.Repeat("1", 64), "@sha256:"+strings.Repeat("2", 64)
	for _, test := range []struct{ name, image, localized, want string }{
		{"another registry", "ghcr.io/org/operator:1.0.0", "local/x/operator:1.0.0", "local/x/operator:1.0.0"},
		{"registries with ports", "ghcr.io:5000/org/operator:1.0.0", "local:443/operator:1.0.0", "local:443/operator:1.0.0"},
		{"a port is not a tag", "ghcr.io:5000/operator", "local:443/operator", "local:443/operator"},
		{"another tag", "ghcr.io/operator:1.0.0", "local/operator:1.0.1", ""},
		{"another name", "ghcr.io/operator:1.0.0", "local/my-operator:1.0.0", ""},
		{"a tag, and the copy with its digest", "ghcr.io/operator:1.0.0", "local/operator:1.0.0" + one, "local/operator:1.0.0" + one},
		{"a digest, and the copy by its tag", "ghcr.io/operator:1.0.0" + one, "local/operator:1.0.0", "local/operator:1.0.0"},
		{"the same digest", "ghcr.io/operator" + one, "local/operator" + one, "local/operator" + one},
		{"the same digest and other tags", "ghcr.io/operator:a" + one, "local/operator:b" + one, "local/operator:b" + one},
		{"another digest", "ghcr.io/operator:1.0.0" + one, "local/operator:1.0.0" + two, ""},
		{"a digest only, and a copy by tag", "ghcr.io/operator" + one, "local/operator:1.0.0", ""},
		{"a digest only, and a copy by nothing", "ghcr.io/operator" + one, "local/operator", ""},
		{"no image at all", "", "local/operator:1.0.0", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := test.want
			if want == "" {
				want = test.image
			}
			for kind, pod := range map[string]string{
				"v1/Pod": "%s", "apps/v1/Deployment": "{template: {spec: %s}}", "batch/v1/CronJob": "{jobTemplate: {spec: {template: {spec: %s}}}}",
			} {
				at := strings.LastIndex(kind, "/")
				for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
					spec := fmt.Sprintf(pod, fmt.Sprintf("{%s: [{image: %q}]}", list, test.image))
					objects := parsed(t, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: a}\nspec: %s\n", kind[:at], kind[at+1:], spec))
					replaceImages(objects, []string{"elsewhere/unrelated:1", test.localized})
					require.Contains(t, fmt.Sprint(objects[0].Object), "map[image:"+want+"]")
				}
			}
		})
	}
}

func TestAnEnvironmentVariableThatIsAnImageIsReplaced(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"ghcr.io/org/operator:1.0.0":          "local/operator:1.0.0",
		"ghcr.io:5000/operator:1.0.0":         "local/operator:1.0.0",
		"operator:1.0.0":                      "operator:1.0.0",
		"org/operator:1.0.0":                  "org/operator:1.0.0",
		"https://ghcr.io/org/operator:1.0.0":  "https://ghcr.io/org/operator:1.0.0",
		"--image=ghcr.io/org/operator:1.0.0":  "--image=ghcr.io/org/operator:1.0.0",
		"ghcr.io/org/operator:1.0.0 and more": "ghcr.io/org/operator:1.0.0 and more",
		"ghcr.io/org/operator":                "ghcr.io/org/operator",
	} {
		objects := parsed(t, fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{image: x, env: [{name: IMAGE, value: %q}, {name: B, valueFrom: {}}]}]}\n", value))
		replaceImages(objects, []string{"local/operator:1.0.0"})
		require.Contains(t, fmt.Sprint(objects[0].Object), "map[name:IMAGE value:"+want+"]", value)
	}
}
