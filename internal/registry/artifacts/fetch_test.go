package artifacts

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

const component = "kyma-project.io/module/sample"

// rendererArgument makes this test's own program act as the chart renderer.
const rendererArgument = "render-chart"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == rendererArgument {
		if err := render.ServeRenderer(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// testRegistry is an OCI registry in this process, without TLS.
type testRegistry struct {
	*httptest.Server
	host  string
	blobs atomic.Int64
	// answer may answer a request instead of the registry. It returns false to leave the request to the registry.
	answer func(http.ResponseWriter, *http.Request) bool
}

func newTestRegistry(t testing.TB) *testRegistry {
	t.Helper()
	r := &testRegistry{}
	inner := ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0)))
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/blobs/") {
			r.blobs.Add(1)
		}
		if r.answer == nil || !r.answer(w, req) {
			inner.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(r.Close)
	r.host = strings.TrimPrefix(r.URL, "http://")
	return r
}

// push stores a blob and returns a layer that names it.
func (r *testRegistry) push(t testing.TB, content []byte) Layer {
	t.Helper()
	l := Layer{Repository: r.host + "/sub/component-descriptors", Name: component, Digest: digest(content)}
	address := fmt.Sprintf("%s/v2/sub/component-descriptors/%s/blobs/uploads/?digest=%s", r.URL, component, l.Digest)
	response, err := http.Post(address, "application/octet-stream", bytes.NewReader(content))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusCreated, response.StatusCode)
	return l
}

func (r *testRegistry) put(t *testing.T, path, mediaType string, content []byte) {
	t.Helper()
	request, err := http.NewRequest(http.MethodPut, r.URL+path, bytes.NewReader(content))
	require.NoError(t, err)
	request.Header.Set("Content-Type", mediaType)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusCreated, response.StatusCode)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (r *testRegistry) store(t testing.TB, change func(*Options)) *Store {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	options := Options{
		PlainHTTPHosts: []string{r.host}, Timeout: 10 * time.Second, Pause: 5 * time.Millisecond, Renderer: []string{program, rendererArgument},
	}
	if change != nil {
		change(&options)
	}
	s, err := New(options)
	require.NoError(t, err)
	return s
}

func TestFetchReturnsTheContentOfTheDigest(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	l := r.push(t, []byte("content"))
	l.Repository = "http://" + l.Repository
	content, err := r.store(t, nil).Fetch(context.Background(), l)
	require.NoError(t, err)
	require.Equal(t, "content", string(content))
}

func TestFetchSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	sent := func(status int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, req *http.Request) bool {
			if strings.Contains(req.URL.Path, "/blobs/") {
				w.WriteHeader(status)
				_, _ = w.Write([]byte(body))
				return true
			}
			return false
		}
	}
	tests := []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request) bool
		change func(*Layer)
		kind   fault.Kind
		reason string
	}{
		{"the registry does not have the layer", nil, func(l *Layer) { l.Digest = digest([]byte("other")) }, fault.Transient, ReasonLayerNotFound},
		{"the registry sends other content", sent(200, "tampered"), nil, fault.Transient, ReasonDigestMismatch},
		{"the registry sends an HTML page", sent(200, "<html>login</html>"), nil, fault.Transient, ReasonDigestMismatch},
		{"the registry sends too much", sent(200, strings.Repeat("x", 2000)), nil, fault.Rejected, render.ReasonLayerTooLarge},
		{"the registry refuses our credentials", sent(401, ""), nil, fault.Transient, ReasonRegistryUnauthorized},
		{"the registry forbids the request", sent(403, ""), nil, fault.Transient, ReasonRegistryUnauthorized},
		{"the registry fails", sent(500, ""), nil, fault.Transient, ReasonRegistryUnavailable},
		{"the reference is a tag", nil, func(l *Layer) { l.Digest = "v1.0.0" }, fault.Rejected, ReasonInvalidReference},
		{"the digest is cut off", nil, func(l *Layer) { l.Digest = "sha256:abc" }, fault.Rejected, ReasonInvalidReference},
		{"the component name is not a path", nil, func(l *Layer) { l.Name = "Sample Module" }, fault.Rejected, ReasonInvalidReference},
		{"no server listens", nil, func(l *Layer) { l.Repository = "127.0.0.1:1/x" }, fault.Transient, ReasonRegistryUnavailable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newTestRegistry(t)
			l := r.push(t, []byte("content"))
			r.answer = test.answer
			if test.change != nil {
				test.change(&l)
			}
			_, err := r.store(t, func(o *Options) { o.Limits.LayerBytes = 1000 }).Fetch(context.Background(), l)
			require.Error(t, err)
			require.Equal(t, test.reason, fault.Of(err).Reason, err.Error())
			require.Equal(t, test.kind, fault.Of(err).Kind)
			require.Equal(t, test.reason == ReasonLayerNotFound || test.reason == ReasonDigestMismatch, fault.Of(err).SlowRetry)
		})
	}
}

func TestFetchRetriesOnceAfterOtherContent(t *testing.T) {
	t.Parallel()
	for wrong, works := range map[int64]bool{1: true, 2: false} {
		r := newTestRegistry(t)
		l := r.push(t, []byte("content"))
		r.answer = func(w http.ResponseWriter, req *http.Request) bool {
			if !strings.Contains(req.URL.Path, "/blobs/") || r.blobs.Load() > wrong {
				return false
			}
			_, _ = w.Write([]byte("<html>login</html>"))
			return true
		}
		s := r.store(t, nil)
		content, err := s.Fetch(context.Background(), l)
		require.EqualValues(t, 2, r.blobs.Load())
		if works {
			require.NoError(t, err)
			require.Equal(t, "content", string(content))
			continue
		}
		require.Equal(t, ReasonDigestMismatch, fault.Of(err).Reason)
		_, err = s.Fetch(context.Background(), l)
		require.NoError(t, err, "wrong content is not kept")
	}
}

func TestFetchUsesPlainHTTPOnlyForListedHosts(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	l := r.push(t, []byte("content"))
	s, err := New(Options{Timeout: 10 * time.Second})
	require.NoError(t, err)
	_, err = s.Fetch(context.Background(), l)
	require.Equal(t, ReasonRegistryUnavailable, fault.Of(err).Reason)
	require.Contains(t, fault.Of(err).Hint, "--oci-registry-plain-http", "the hint names the missing flag")
	require.Zero(t, r.blobs.Load())

	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	l.Repository = strings.TrimPrefix(secure.URL, "https://") + "/modules"
	_, err = s.Fetch(context.Background(), l)
	require.Equal(t, ReasonRegistryUnavailable, fault.Of(err).Reason)
	require.Contains(t, fault.Of(err).Hint, "--oci-registry-ca-file")
	l.Repository = "127.0.0.1:1/x"
	_, err = s.Fetch(context.Background(), l)
	require.Empty(t, fault.Of(err).Hint, "the hint of the reason is enough")
}

func TestLayersComeFromAllowedRegistriesOnly(t *testing.T) {
	t.Parallel()
	own, foreign := newTestRegistry(t), newTestRegistry(t)
	allowed, err := NewRegistries([]string{"docker.io", own.host})
	require.NoError(t, err)
	folder := t.TempDir()
	l := foreign.push(t, []byte("content"))
	_, err = foreign.store(t, func(o *Options) { o.CacheDir = folder }).Fetch(t.Context(), l)
	require.NoError(t, err, "any is allowed by default")

	asked := foreign.blobs.Load()
	s := own.store(t, func(o *Options) {
		o.CacheDir, o.Registries, o.PlainHTTPHosts = folder, allowed, []string{own.host, foreign.host}
	})
	for _, scheme := range []string{"", "https://", "http://", "oci://"} {
		l := l
		l.Repository = scheme + l.Repository
		_, err = s.Fetch(t.Context(), l)
		require.ErrorContains(t, err, "registry "+foreign.host+" must not be used for layers (allowed: ", "cached layers count too")
		require.Equal(t, ReasonRegistryNotAllowed, fault.Of(err).Reason)
	}
	_, err = s.Prepare(t.Context(), Source{Install: l}, nil)
	require.Equal(t, ReasonRegistryNotAllowed, fault.Of(err).Reason)
	require.Equal(t, asked, foreign.blobs.Load())

	_, err = s.Fetch(t.Context(), own.push(t, []byte("content")))
	require.NoError(t, err)
	_, err = s.Fetch(t.Context(), Layer{Repository: "//x", Name: "n", Digest: l.Digest})
	require.Equal(t, ReasonRegistryNotAllowed, fault.Of(err).Reason, "a reference without a registry")
}

func TestReferencesToAllowedRegistries(t *testing.T) {
	t.Parallel()
	r, err := NewRegistries([]string{"Registry.Example.com", "docker.io", "registry.example.com", "localhost:5000"})
	require.NoError(t, err)
	for reference, want := range map[string]bool{
		"registry.example.com/a/b": true, "https://REGISTRY.example.com": true, "docker.io/library/a": true, "index.docker.io/a": true, "localhost:5000/a": true,
		"localhost:5001/a": false, "registry.example.com:5000/a": false, "registry.example.com.evil.example/a": false, "registry.example.com@evil.example/a": false, "/registry.example.com": false, "": false,
	} {
		_, ok := r.Has(reference)
		require.Equal(t, want, ok, reference)
	}
	for _, host := range []string{"", "https://registry.example.com", "registry.example.com/path", "a b"} {
		_, err := NewRegistries([]string{host})
		require.Error(t, err, host)
	}
}

func TestFetchAuthenticatesWithItsOwnHostsCredentials(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	l := r.push(t, []byte("content"))
	r.answer = func(w http.ResponseWriter, req *http.Request) bool {
		if user, password, _ := req.BasicAuth(); user == "me" && password == "pass" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	with := func(config string) *Store {
		keychain, err := KeychainFromDockerConfig([]byte(config))
		require.NoError(t, err)
		return r.store(t, func(o *Options) { o.Keychain = keychain })
	}
	_, err := with(`{"auths":{"https://`+r.host+`":{"username":"me","password":"pass"}}}`).Fetch(context.Background(), l)
	require.NoError(t, err)
	_, err = with(`{"auths":{"`+r.host+`":{"auth":"bWU6cGFzcw=="}}}`).Fetch(context.Background(), l)
	require.NoError(t, err)
	_, err = with(`{"auths":{"other.example.com":{"username":"me","password":"pass"}}}`).Fetch(context.Background(), l)
	require.Equal(t, ReasonRegistryUnauthorized, fault.Of(err).Reason)
	require.NotContains(t, err.Error(), "pass")

	_, err = KeychainFromDockerConfig([]byte(`{"auths": "s3cret"`))
	require.Error(t, err)
	require.NotContains(t, err.Error(), "s3cret")
}

func TestManyInstallationsCauseOnePull(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	l := r.push(t, []byte("content"))
	s := r.store(t, nil)
	var callers sync.WaitGroup
	for range 200 {
		callers.Go(func() { _, _ = s.Fetch(context.Background(), l) })
	}
	callers.Wait()
	require.EqualValues(t, 1, r.blobs.Load())
}

func TestACallerThatGoesAwayDoesNotInterruptThePullOfOthers(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	l := r.push(t, []byte("content"))
	begun, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r.answer = func(_ http.ResponseWriter, req *http.Request) bool {
		if strings.Contains(req.URL.Path, "/blobs/") {
			once.Do(func() { close(begun) })
			<-proceed
		}
		return false
	}
	s := r.store(t, nil)
	impatient, leave := context.WithCancel(context.Background())
	first := make(chan error, 1)
	go func() { _, err := s.Fetch(impatient, l); first <- err }()
	<-begun
	second := make(chan error, 1)
	go func() { _, err := s.Fetch(context.Background(), l); second <- err }()
	leave()
	require.ErrorIs(t, <-first, context.Canceled)
	close(proceed)
	require.NoError(t, <-second)
}

// The author of a template may learn digests from a catalog or a descriptor, and can combine them with any repository.
func TestADigestGivesNoAccessToALayerOfAnotherRepository(t *testing.T) {
	t.Parallel()
	private, foreign := newTestRegistry(t), newTestRegistry(t)
	l := private.push(t, []byte(configMapNamed("private")))
	foreign.answer = func(w http.ResponseWriter, req *http.Request) bool {
		w.WriteHeader(map[bool]int{true: http.StatusOK, false: http.StatusUnauthorized}[req.Method == http.MethodHead])
		return true
	}
	private.answer = func(w http.ResponseWriter, req *http.Request) bool {
		if refused := strings.HasPrefix(req.URL.Path, "/v2/other/"); !refused {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	folder := t.TempDir()
	again := func() *Store {
		return private.store(t, func(o *Options) { o.CacheDir, o.PlainHTTPHosts = folder, []string{private.host, foreign.host} })
	}
	s := again()
	renderOf := func(s *Store, l Layer) error {
		request, err := s.Prepare(t.Context(), Source{Install: l}, &fakeCluster{})
		if err == nil {
			_, err = request.Render(t.Context())
		}
		return err
	}
	require.NoError(t, renderOf(s, l))
	for name, elsewhere := range map[string]Layer{
		"another registry":   {Repository: foreign.host + "/sub/component-descriptors", Name: l.Name, Digest: l.Digest},
		"another repository": {Repository: private.host + "/other", Name: l.Name, Digest: l.Digest},
	} {
		for _, store := range []*Store{s, again()} {
			_, err := store.Fetch(t.Context(), elsewhere)
			require.Error(t, err, name)
			require.Error(t, renderOf(store, elsewhere), name)
		}
	}
	before := private.blobs.Load()
	require.NoError(t, renderOf(again(), l), "the folder serves the layer for its own repository")
	require.Equal(t, before, private.blobs.Load())
}

func TestTheFolderServesOnlyCompleteFiles(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	l := r.push(t, []byte("content"))
	folder := t.TempDir()
	again := func() *Store { return r.store(t, func(o *Options) { o.CacheDir = folder; o.DiskBytes = 20 }) }

	_, err := again().Fetch(context.Background(), l)
	require.NoError(t, err)
	content, err := again().Fetch(context.Background(), l)
	require.NoError(t, err)
	require.Equal(t, "content", string(content))
	require.EqualValues(t, 1, r.blobs.Load(), "another process finds the layer in the folder")

	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, files, 1)
	path := filepath.Join(folder, files[0].Name())
	require.NoError(t, os.WriteFile(path, []byte("cont"), 0o600))
	content, err = again().Fetch(context.Background(), l)
	require.NoError(t, err)
	require.Equal(t, "content", string(content))
	require.EqualValues(t, 2, r.blobs.Load(), "a truncated file is fetched again")

	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))
	_, err = again().Fetch(context.Background(), r.push(t, []byte("fifteen letters")))
	require.NoError(t, err)
	require.NoFileExists(t, path, "the least recently used file is evicted to keep the budget")
}

func TestTheCacheKeepsItsBudgetAndSurvivesAPanic(t *testing.T) {
	t.Parallel()
	c := NewCache[int](10)
	load := func(value int, bytes int64) func(context.Context) (int, int64, error) {
		return func(context.Context) (int, int64, error) { return value, bytes, nil }
	}
	for key, value := range map[string]int{"a": 1, "b": 2, "c": 3} {
		got, err := c.Get(context.Background(), key, load(value, 4))
		require.NoError(t, err)
		require.Equal(t, value, got)
	}
	kept := 0
	for _, key := range []string{"a", "b", "c"} {
		if _, ok := c.Peek(key); ok {
			kept++
		}
	}
	require.Equal(t, 2, kept)
	_, err := c.Get(context.Background(), "large", load(4, 11))
	require.NoError(t, err)
	_, ok := c.Peek("large")
	require.False(t, ok, "a value above the whole budget is not kept")
	_, err = c.Get(context.Background(), "panic", func(context.Context) (int, int64, error) { panic("boom\nand more") })
	require.EqualError(t, err, "panic: boom", "the stack is for the log only")
}

func TestFetchDescriptorReadsEveryStoredForm(t *testing.T) {
	t.Parallel()
	const content = "meta:\n  schemaVersion: v2\n"
	tests := []struct {
		name, mediaType string
		layer           []byte
		version, tag    string
	}{
		{"as an archive", "application/vnd.ocm.software.component-descriptor.v2+yaml+tar", archive(entry{name: "component-descriptor.yaml", content: content}), "1.0.0", "1.0.0"},
		{"as YAML", "application/vnd.ocm.software.component-descriptor.v2+yaml", []byte(content), "1.0.0", "1.0.0"},
		{"as JSON", "application/vnd.ocm.software.component-descriptor.v2+json", []byte(content), "1.0.0", "1.0.0"},
		{"by the predecessor", "application/vnd.gardener.cloud.cnudie.component-descriptor.v2+yaml+tar", archive(entry{name: "component-descriptor.yaml", content: content}), "1.0.0", "1.0.0"},
		{"with build metadata in the version", "application/vnd.ocm.software.component-descriptor.v2+yaml", []byte(content), "1.0.0+abc", "1.0.0.build-abc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newTestRegistry(t)
			r.pushComponent(t, test.mediaType, test.layer, test.tag)
			got, err := r.store(t, nil).FetchDescriptor(context.Background(), r.host+"/sub", component, test.version)
			require.NoError(t, err)
			require.Equal(t, content, string(got))
		})
	}
}

func (r *testRegistry) pushComponent(t *testing.T, mediaType string, layer []byte, tag string) {
	t.Helper()
	r.pushManifest(t, "application/vnd.ocm.software.component.config.v1+json", mediaType, layer, tag)
}

// pushManifest stores a manifest with one layer under a tag, or else under its digest, and returns its entry in an
// index.
func (r *testRegistry) pushManifest(t *testing.T, configType, mediaType string, layer []byte, tag string) map[string]any {
	t.Helper()
	config := []byte("{}")
	r.push(t, layer)
	r.push(t, config)
	return r.putManifest(t, "application/vnd.oci.image.manifest.v1+json", tag, map[string]any{
		"config": map[string]any{"mediaType": configType, "digest": digest(config), "size": len(config)},
		"layers": []any{map[string]any{"mediaType": mediaType, "digest": digest(layer), "size": len(layer)}},
	})
}

func (r *testRegistry) pushIndex(t *testing.T, tag string, manifests ...map[string]any) map[string]any {
	t.Helper()
	return r.putManifest(t, "application/vnd.oci.image.index.v1+json", tag, map[string]any{"manifests": manifests})
}

func (r *testRegistry) putManifest(t *testing.T, mediaType, tag string, content map[string]any) map[string]any {
	t.Helper()
	content["schemaVersion"], content["mediaType"] = 2, mediaType
	encoded, err := json.Marshal(content)
	require.NoError(t, err)
	r.put(t, "/v2/sub/component-descriptors/"+component+"/manifests/"+cmp.Or(tag, digest(encoded)), mediaType, encoded)
	return map[string]any{"mediaType": mediaType, "digest": digest(encoded), "size": len(encoded)}
}

func annotated(entry map[string]any) map[string]any {
	entry["annotations"] = map[string]string{"software.ocm.descriptor": "true"}
	return entry
}

func TestAComponentVersionMayBeAnIndex(t *testing.T) {
	t.Parallel()
	const yaml, ocm = "application/vnd.ocm.software.component-descriptor.v2+yaml", "application/vnd.ocm.software.component.config.v1+json"
	r := newTestRegistry(t)
	described := func(content string) map[string]any { return r.pushManifest(t, ocm, yaml, []byte(content), "") }
	image := r.pushManifest(t, "application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar+gzip", []byte("an image"), "")
	r.pushIndex(t, "1.0.0", described("the only one"))
	r.pushIndex(t, "1.1.0", described("the first"), image, described("another"))
	r.pushIndex(t, "1.2.0", image, annotated(described("the annotated")))
	r.pushIndex(t, "2.0.0")
	r.pushIndex(t, "2.1.0", annotated(described("one")), annotated(described("two")))
	r.pushIndex(t, "2.2.0", r.pushIndex(t, "", image))
	r.pushIndex(t, "2.3.0", image)
	lying := r.pushIndex(t, "", image)
	lying["mediaType"] = "application/vnd.oci.image.manifest.v1+json"
	r.pushIndex(t, "2.4.0", lying)
	r.pushManifest(t, "application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar+gzip", []byte("an image"), "2.5.0")
	r.pushManifest(t, "application/vnd.docker.container.image.v1+json", "application/vnd.docker.image.rootfs.diff.tar.gzip", []byte("an image"), "2.6.0")
	r.pushManifest(t, "application/vnd.cncf.helm.config.v1+json", ChartMediaType, []byte("a chart"), "2.7.0")
	r.pushManifest(t, "application/vnd.oci.empty.v1+json", "application/x-thing", []byte("a thing"), "2.8.0")
	r.putManifest(t, "application/vnd.oci.image.manifest.v1+json", "2.9.0", map[string]any{})
	for version, want := range map[string]string{"1.0.0": "the only one", "1.1.0": "the first", "1.2.0": "the annotated"} {
		content, err := r.store(t, nil).FetchDescriptor(t.Context(), r.host+"/sub", component, version)
		require.NoError(t, err, version)
		require.Equal(t, want, string(content))
	}
	for version, want := range map[string]string{
		"2.0.0": "is an OCI index without a manifest",
		"2.1.0": "is an OCI index with 2 manifests that have the annotation software.ocm.descriptor; only one may have it",
		"2.2.0": "is an OCI index that refers to another index for its component descriptor",
		"2.3.0": "is a container image: it has no layer with a component descriptor",
		"2.4.0": "is an OCI index that refers to another index for its component descriptor",
		"2.5.0": "is a container image: it has no layer with a component descriptor",
		"2.6.0": "is a container image: it has no layer with a component descriptor",
		"2.7.0": "is a Helm chart: it has no layer with a component descriptor",
		"2.8.0": "is an OCI artifact of another kind (application/x-thing): it has no layer with a component descriptor",
		"2.9.0": "is an OCI manifest without layers: it has no layer with a component descriptor",
	} {
		_, err := r.store(t, nil).FetchDescriptor(t.Context(), r.host+"/sub", component, version)
		require.EqualError(t, err, "component version "+component+":"+version+" "+want)
		require.Equal(t, fault.Rejected, fault.Of(err).Kind)
		require.Equal(t, ReasonInvalidDescriptor, fault.Of(err).Reason)
	}
}

// A proxy that answers instead of the registry, or damages responses, does not make a component version invalid.
func TestAManifestThatWasDamagedOnItsWayIsRetried(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	r.pushComponent(t, "application/vnd.ocm.software.component-descriptor.v2+yaml", []byte("meta: {}"), "1.0.0")
	for name, answer := range map[string]func(http.ResponseWriter){
		"a page": func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>login</html>")) },
		"other JSON": func(w http.ResponseWriter) {
			w.Header().Set("Docker-Content-Digest", digest([]byte("it")))
			_, _ = w.Write([]byte("{}"))
		},
		"a truncated manifest": func(w http.ResponseWriter) {
			w.Header().Set("Docker-Content-Digest", digest([]byte("{}")))
			_, _ = w.Write([]byte("{"))
		},
	} {
		var well atomic.Bool
		r.answer = func(w http.ResponseWriter, req *http.Request) bool {
			if well.Load() || !strings.Contains(req.URL.Path, "/manifests/") {
				return false
			}
			answer(w)
			return true
		}
		s := r.store(t, nil)
		_, err := s.FetchDescriptor(t.Context(), r.host+"/sub", component, "1.0.0")
		require.Equal(t, fault.Transient, fault.Of(err).Kind, name)
		require.Equal(t, ReasonDigestMismatch, fault.Of(err).Reason, name)
		well.Store(true)
		_, err = s.FetchDescriptor(t.Context(), r.host+"/sub", component, "1.0.0")
		require.NoError(t, err, name)
	}
}

func TestFetchDescriptorSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	r.pushComponent(t, "application/octet-stream", []byte("x"), "1.0.0")
	r.pushComponent(t, "application/vnd.ocm.software.component-descriptor.v2+yaml+tar", archive(entry{name: "other.yaml", content: "x"}), "2.0.0")
	s := r.store(t, nil)
	for version, reason := range map[string]string{"1.0.0": ReasonInvalidDescriptor, "2.0.0": ReasonInvalidDescriptor, "3.0.0": ReasonDescriptorNotFound} {
		_, err := s.FetchDescriptor(context.Background(), r.host+"/sub", component, version)
		f := fault.Of(err)
		require.Equal(t, reason, f.Reason)
		missing := reason == ReasonDescriptorNotFound
		require.Equal(t, missing, f.SlowRetry, "the component version may still be pushed")
		require.Equal(t, !missing, f.Kind == fault.Rejected)
	}
}

func TestADescriptorRemainsAvailableWhileItsRegistryIsDown(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	r.pushComponent(t, "application/vnd.ocm.software.component-descriptor.v2+yaml", []byte("first"), "1.0.0")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := r.store(t, func(o *Options) { o.Clock = func() time.Time { return now } })
	fetch := func() string {
		content, err := s.FetchDescriptor(context.Background(), r.host+"/sub", component, "1.0.0")
		require.NoError(t, err)
		return string(content)
	}
	require.Equal(t, "first", fetch())
	before := r.blobs.Load()
	require.Equal(t, "first", fetch())
	require.Equal(t, before, r.blobs.Load(), "the descriptor is cached for a while")
	now = now.Add(time.Hour)
	r.pushComponent(t, "application/vnd.ocm.software.component-descriptor.v2+yaml", []byte("second"), "1.0.0")
	require.Equal(t, "second", fetch())
	now = now.Add(time.Hour)
	r.answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusTeapot); return true }
	require.Equal(t, "second", fetch())
}
