package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// hostile is an artifact that must be refused.
type hostile struct {
	// module is its module's name, which says what is wrong with it.
	module  string
	content []byte
	// kind is the resource's type, raw-manifest by default.
	kind string
	// digest is what the descriptor says; that of the content by default.
	digest string
	// says is what its user reads in the Kyma's status.
	says string
}

// hostiles are some of each sort, and what reaches a limit; all that is refused and why is shown in internal/registry/artifacts
// (TestHostileLayersAreRefused, TestHostileChartsAreRefused).
func hostiles() []hostile {
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hostile}\n"
	template := func(text string) []byte { return packed(chartFiles("templates/a.yaml", text)) }
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 8), c-1)
	}
	var many []*tar.Header
	for i := range 10_001 {
		many = append(many, &tar.Header{Name: fmt.Sprintf("%d.md", i)})
	}
	return []hostile{
		{module: "missing-blob", content: []byte(object), digest: "sha256:" + strings.Repeat("0", 64), says: "the registry does not have it"},
		{module: "not-yaml", content: []byte("a: [b"), says: "is not valid YAML"},
		{module: "alias-bomb", content: []byte(bomb), says: "its aliases expand to more than is allowed"},
		{module: "many-documents", content: []byte(strings.Repeat("---\n{}\n", 100_000)), says: "more than 5000 documents"},
		{module: "large-object", content: []byte(object + "data: {x: " + strings.Repeat("x", 1<<20) + "}\n"), says: "a cluster cannot store an object above 1048576 bytes"},
		{module: "traversal", content: archived(&tar.Header{Name: "../../etc/passwd"}), says: "a path that leaves the archive"},
		{module: "gzip-bomb", content: compressed(make([]byte, 65<<20)), says: "it unpacks to more than"},
		{module: "many-entries", content: archived(many...), says: "more than 10000 entries"},
		{module: "kustomize-type", content: []byte(object), kind: "kustomize", says: "kustomize folders are not supported"},
		{module: "chart-fails", content: template(`{{ fail "give me values" }}`), kind: "helm-chart", says: "give me values"},
		{module: "chart-memory", content: template(`{{ repeat 2000000000 "x" }}`), kind: "helm-chart", says: "MiB of memory"},
		{module: "chart-schema", content: packed(chartFiles("values.schema.json", `{"$ref": "http://127.0.0.1:1/schema.json"}`, "templates/a.yaml", object)), kind: "helm-chart", says: "which is not fetched"},
	}
}

// The error of an artifact is in the Kyma's status; nothing of it reaches the cluster, and the module beside it is
// installed as if it were alone.
func hostileArtifactsAreRefused(t *testing.T, s *harness.Environment) {
	t.Helper()
	s.Instance.Flags = nil
	all := hostiles()
	kyma := harness.NewKyma("besieged", "fine", "misplaced", "unknown-kind")
	for _, h := range all {
		pushHostile(s, h)
		kyma.Spec.Modules = append(kyma.Spec.Modules, v1beta2.Module{Name: h.module})
	}
	s.PushMinimal("fine")
	pushHostile(s, hostile{module: "misplaced", content: []byte("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: misplaced, namespace: elsewhere}\n")})
	pushHostile(s, hostile{module: "unknown-kind", content: []byte("apiVersion: unheard.example.com/v1\nkind: Unknown\nmetadata: {name: unknown}\n")})
	before := remoteNamespaces(s)
	s.Instance.Start()
	s.Create(kyma)

	s.Eventually("each has its error, and the good one is Ready", 3*time.Minute, func(c *assert.CollectT) {
		modules := harness.ModulesByName(s.Kyma("besieged").Status.Modules)
		for _, h := range all {
			assert.Equal(c, shared.StateError, modules[h.module].State, "%s: %s", h.module, modules[h.module].Message)
			assert.Contains(c, modules[h.module].Message, h.says, h.module)
			assert.Less(c, len(modules[h.module].Message), 2000, h.module)
		}
		for _, name := range []string{"fine", "misplaced"} {
			assert.Equal(c, shared.StateReady, modules[name].State, "%s: %s", name, modules[name].Message)
		}
		assert.NotEqual(c, shared.StateReady, modules["unknown-kind"].State)
		assert.Contains(c, modules["unknown-kind"].Message, "unheard.example.com/v1")
	})
	require.ElementsMatch(t, []string{"ConfigMap " + harness.RemoteNamespace + "/fine", "ClusterRole /misplaced"}, s.OfModule(t, s.Remote))
	require.ElementsMatch(t, before, slices.DeleteFunc(remoteNamespaces(s), func(name string) bool {
		return name == harness.RemoteNamespace && !slices.Contains(before, name)
	}))
}

func remoteNamespaces(s *harness.Environment) []string {
	s.T.Helper()
	var list corev1.NamespaceList
	require.NoError(s.T, s.Remote.List(s.T.Context(), &list))
	var names []string
	for _, namespace := range list.Items {
		names = append(names, namespace.Name)
	}
	return names
}

// pushHostile pushes an artifact, which the module tool would refuse, and adds it to the catalog as a module.
func pushHostile(s *harness.Environment, h hostile) {
	s.T.Helper()
	component := "kyma-project.io/module/" + h.module
	sum := sha256.Sum256(h.content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	blobs := fmt.Sprintf("http://%s/v2/hostile/component-descriptors/%s/blobs/uploads/", s.Registry, component)
	begun, err := http.Post(blobs, "", http.NoBody) //nolint:noctx // bounded by the test
	require.NoError(s.T, err)
	require.NoError(s.T, begun.Body.Close())
	require.Equal(s.T, http.StatusAccepted, begun.StatusCode)
	place, err := begun.Location()
	require.NoError(s.T, err)
	query := place.Query()
	query.Set("digest", digest)
	place.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(s.T.Context(), http.MethodPut, place.String(), bytes.NewReader(h.content))
	require.NoError(s.T, err)
	pushed, err := http.DefaultClient.Do(request)
	require.NoError(s.T, err)
	require.NoError(s.T, pushed.Body.Close())
	require.Equal(s.T, http.StatusCreated, pushed.StatusCode)

	if h.digest != "" {
		digest = h.digest
	}
	kind := h.kind
	if kind == "" {
		kind = "raw-manifest"
	}
	raw, err := json.Marshal(map[string]any{
		"meta": map[string]any{"schemaVersion": "v2"},
		"component": map[string]any{
			"name": component, "version": "1.0.0", "provider": "kyma-project.io", "componentReferences": []any{}, "sources": []any{},
			"repositoryContexts": []any{map[string]any{"type": "OCIRegistry", "baseUrl": s.Registry, "subPath": "hostile"}},
			"resources": []any{map[string]any{
				"name": "layer", "type": kind, "relation": "local", "version": "1.0.0", "access": map[string]any{"type": "localOciBlob", "digest": digest},
			}},
		},
	})
	require.NoError(s.T, err)
	require.NoError(s.T, s.ControlPlane.Create(s.T.Context(), &v1beta2.ModuleTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: h.module + "-1.0.0", Namespace: harness.ControlPlaneNamespace},
		Spec:       v1beta2.ModuleTemplateSpec{ModuleName: h.module, Version: "1.0.0", Descriptor: &runtime.RawExtension{Raw: raw}},
	}))
	require.NoError(s.T, s.ControlPlane.Create(s.T.Context(), &v1beta2.ModuleReleaseMeta{
		ObjectMeta: metav1.ObjectMeta{Name: h.module, Namespace: harness.ControlPlaneNamespace},
		Spec: v1beta2.ModuleReleaseMetaSpec{
			ModuleName: h.module, OCMComponentName: component,
			Channels: []v1beta2.ChannelVersion{{Channel: "regular", Version: "1.0.0"}},
		},
	}))
}

// archived is a tar archive of these entries, whose contents are zeros.
func archived(headers ...*tar.Header) []byte {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, header := range headers {
		header.Mode = 0o644
		if err := writer.WriteHeader(header); err != nil {
			panic(err)
		}
		_, _ = writer.Write(make([]byte, header.Size))
	}
	_ = writer.Close()
	return buffer.Bytes()
}

// chartFiles are the files of a chart, names and contents by turns, with these beside its Chart.yaml.
func chartFiles(files ...string) []string {
	return append([]string{"Chart.yaml", "apiVersion: v2\nname: hostile\nversion: 1.0.0\n"}, files...)
}

// packed is a compressed chart of these names and contents.
func packed(files []string) []byte {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for i := 0; i+1 < len(files); i += 2 {
		if err := writer.WriteHeader(&tar.Header{Name: "hostile/" + files[i], Mode: 0o644, Size: int64(len(files[i+1]))}); err != nil {
			panic(err)
		}
		_, _ = writer.Write([]byte(files[i+1]))
	}
	_ = writer.Close()
	return compressed(buffer.Bytes())
}

func compressed(content []byte) []byte {
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	_, _ = writer.Write(content)
	_ = writer.Close()
	return buffer.Bytes()
}
