package artifacts

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// failing answers requests for blobs with these responses, one after the other, until all are used.
func failing(answers ...func(http.ResponseWriter)) (asked *atomic.Int64, answer func(http.ResponseWriter, *http.Request) bool) {
	asked = &atomic.Int64{}
	return asked, func(w http.ResponseWriter, req *http.Request) bool {
		if !strings.Contains(req.URL.Path, "/blobs/") {
			return false
		}
		number := int(asked.Add(1))
		if number > len(answers) {
			return false
		}
		answers[number-1](w)
		return true
	}
}

func status(code int, headers ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

func broken(w http.ResponseWriter) { panic(http.ErrAbortHandler) }

func brokenWithin(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "7")
	_, _ = w.Write([]byte("con"))
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
	panic(http.ErrAbortHandler)
}

func TestRetryableFailuresAreRetried(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string][]func(http.ResponseWriter){
		"too many requests":                   {status(429), status(429)},
		"too many requests, with Retry-After": {status(429, "Retry-After", "1")},
		"a failure of the registry":           {status(500), status(502), status(503)},
		"a connection that breaks":            {broken},
		"a connection that breaks in a layer": {brokenWithin, brokenWithin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestRegistry(t)
			l := r.push(t, []byte("content"))
			asked, answer := failing(answers...)
			r.answer = answer
			begun := time.Now()
			content, err := r.store(t, nil).Fetch(context.Background(), l)
			require.NoError(t, err)
			require.Equal(t, "content", string(content))
			require.EqualValues(t, len(answers)+1, asked.Load())
			if strings.Contains(name, "Retry-After") {
				require.GreaterOrEqual(t, time.Since(begun), time.Second)
			}
		})
	}
}

func TestTheFaultOfADownRegistryHasItsRetryAfter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		header string
		want   time.Duration
		tries  int64
	}{
		"without Retry-After":         {"", 0, 4},
		"longer than one fetch waits": {"120", 2 * time.Minute, 1},
		"longer than the upper bound": {"86400", 5 * time.Minute, 1},
		"a date":                      {"Thu, 01 Jan 2026 00:01:30 GMT", 90 * time.Second, 1},
		"nonsense":                    {"soon", 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestRegistry(t)
			l := r.push(t, []byte("content"))
			busy := status(503, "Retry-After", test.header)
			asked, answer := failing(slices.Repeat([]func(http.ResponseWriter){busy}, 6)...)
			r.answer = answer
			_, err := r.store(t, func(o *Options) {
				o.Clock = func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
			}).Fetch(context.Background(), l)
			f := fault.Of(err)
			require.Equal(t, fault.Transient, f.Kind)
			require.Equal(t, ReasonRegistryUnavailable, f.Reason)
			var known *fault.Error
			require.ErrorAs(t, err, &known)
			require.Equal(t, test.want, known.RetryAfter)
			require.Equal(t, test.tries, asked.Load())
		})
	}
}

func TestASlowRegistryTimesOutAndDoesNotBlockTheOthers(t *testing.T) {
	t.Parallel()
	slow, quick := newTestRegistry(t), newTestRegistry(t)
	release := make(chan struct{})
	t.Cleanup(sync.OnceFunc(func() { close(release) }))
	var most, present atomic.Int64
	slow.answer = func(_ http.ResponseWriter, req *http.Request) bool {
		if !strings.Contains(req.URL.Path, "/blobs/") || req.Method != http.MethodGet {
			return false
		}
		now := present.Add(1)
		defer present.Add(-1)
		for {
			if before := most.Load(); now <= before || most.CompareAndSwap(before, now) {
				break
			}
		}
		select {
		case <-release:
		case <-req.Context().Done():
		}
		return false
	}
	s := slow.store(t, func(o *Options) {
		o.PlainHTTPHosts = append(o.PlainHTTPHosts, quick.host)
		o.PullsPerHost, o.Timeout = 2, 2*time.Second
	})
	var waiting sync.WaitGroup
	var timedOut atomic.Int64
	layers := make([]Layer, 6)
	for i := range layers {
		layers[i] = slow.push(t, fmt.Appendf(nil, "content %d", i))
	}
	inTime := quick.push(t, []byte("content"))
	for _, l := range layers {
		waiting.Go(func() {
			if _, err := s.Fetch(context.Background(), l); fault.Of(err).Kind == fault.Transient {
				timedOut.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return present.Load() == 2 }, time.Minute, time.Millisecond)
	_, err := s.Fetch(context.Background(), inTime)
	require.NoError(t, err)
	waiting.Wait()
	require.EqualValues(t, 6, timedOut.Load())
	require.EqualValues(t, 2, most.Load(), "at most two requests at once")
}

func TestARegistryMayHaveAPrivateAuthority(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	l := r.push(t, []byte("content"))
	secure := httptest.NewTLSServer(r.Config.Handler)
	t.Cleanup(secure.Close)
	l.Repository = strings.Replace(l.Repository, r.host, strings.TrimPrefix(secure.URL, "https://"), 1)
	authorities := x509.NewCertPool()
	authorities.AddCert(secure.Certificate())

	content, err := r.store(t, func(o *Options) { o.RootCAs = authorities }).Fetch(context.Background(), l)
	require.NoError(t, err)
	require.Equal(t, "content", string(content))
	_, err = r.store(t, nil).Fetch(context.Background(), l)
	require.Equal(t, ReasonRegistryUnavailable, fault.Of(err).Reason)
	require.ErrorContains(t, err, "certificate")
}

func TestRotatedCredentialsTakeEffect(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	var valid atomic.Pointer[string]
	set := func(password string) { valid.Store(&password) }
	r.answer = func(w http.ResponseWriter, req *http.Request) bool {
		if _, password, _ := req.BasicAuth(); password == *valid.Load() {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	push := func(content string) Layer {
		answer := r.answer
		r.answer = nil
		defer func() { r.answer = answer }()
		return r.push(t, []byte(content))
	}
	var stored atomic.Pointer[string]
	store := func(password string) { stored.Store(&password) }
	var unreadable atomic.Bool
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	set("one")
	store("one")
	keychain, err := NewRotatingKeychain(context.Background(), time.Minute, func() time.Time { return now }, func(context.Context) ([]byte, error) {
		if unreadable.Load() {
			return nil, errors.New("the API server is down")
		}
		return json.Marshal(map[string]any{"auths": map[string]any{r.host: map[string]any{"username": "me", "password": *stored.Load()}}})
	})
	require.NoError(t, err)
	s := r.store(t, func(o *Options) { o.Keychain = keychain })
	fetch := func(content string) error { _, err := s.Fetch(context.Background(), push(content)); return err }
	require.NoError(t, fetch("a"))

	now = now.Add(time.Hour)
	unreadable.Store(true)
	require.NoError(t, fetch("b"), "if a read fails, the last credentials stay in use")

	unreadable.Store(false)
	set("two")
	store("two")
	now = now.Add(10 * time.Second)
	require.Equal(t, ReasonRegistryUnauthorized, fault.Of(fetch("c")).Reason)
	require.NoError(t, fetch("c"), "refused credentials are read again early")

	now = now.Add(time.Hour)
	set("three")
	store("three")
	require.NoError(t, fetch("d"))

	unreadable.Store(true)
	_, err = NewRotatingKeychain(context.Background(), time.Minute, time.Now, func(context.Context) ([]byte, error) { return nil, errors.New("away") })
	require.Error(t, err)
}

func TestCachedArtifactsServeWhileTheRegistryIsDownEvenAfterARestart(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	chart := r.push(t, chartOf(entry{name: "templates/a.yaml", content: configMapNamed("a")}))
	r.pushComponent(t, "application/vnd.ocm.software.component-descriptor.v2+yaml", []byte("meta: {}\n"), "1.0.0")
	folder := t.TempDir()
	started := func() *Store { return r.store(t, func(o *Options) { o.CacheDir = folder }) }
	install := func(s *Store) error {
		if _, err := s.FetchDescriptor(context.Background(), r.host+"/sub", component, "1.0.0"); err != nil {
			return err
		}
		request, err := s.Prepare(context.Background(), Source{Install: chart}, &fakeCluster{})
		if err != nil {
			return err
		}
		rendered, err := request.Render(context.Background())
		if err != nil {
			return err
		}
		require.Equal(t, []string{"a"}, names(rendered))
		return nil
	}
	require.NoError(t, install(started()))
	r.Close()
	again := started()
	require.NoError(t, install(again))
	require.Zero(t, again.Counts().Pulls)

	for _, name := range filesIn(t, folder) {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, content[:len(content)-1], 0o600))
	}
	err := install(started())
	require.Equal(t, fault.Transient, fault.Of(err).Kind, "damaged content is never served")
}

func filesIn(t *testing.T, folder string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

func TestSeveralWorkersMayShareATooSmallFolder(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	var layers []Layer
	for i := range 20 {
		layers = append(layers, r.push(t, []byte(strings.Repeat(fmt.Sprintf("%02d", i), 5_000))))
	}
	folder := t.TempDir()
	var workers sync.WaitGroup
	var wrong atomic.Int64
	for range 4 {
		s := r.store(t, func(o *Options) { o.CacheDir, o.DiskBytes, o.MemoryBytes = folder, 50_000, 1 })
		for range 4 {
			workers.Go(func() {
				for i, l := range layers {
					content, err := s.Fetch(context.Background(), l)
					if err != nil || string(content) != strings.Repeat(fmt.Sprintf("%02d", i), 5_000) {
						wrong.Add(1)
					}
				}
			})
		}
	}
	workers.Wait()
	require.Zero(t, wrong.Load())
}

func TestAnArtifactIsItsOneLayerOrItsChart(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	s := r.store(t, nil)
	chart := chartOf(entry{name: "templates/a.yaml", content: configMapNamed("a")})
	layer := func(mediaType string, content []byte) map[string]any {
		r.push(t, content)
		return map[string]any{"mediaType": mediaType, "digest": digest(content), "size": len(content)}
	}
	artifact := func(layers ...map[string]any) Layer {
		config := []byte("{}")
		r.push(t, config)
		manifest, err := json.Marshal(map[string]any{
			"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
			"config": map[string]any{"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": digest(config), "size": len(config)}, "layers": layers,
		})
		require.NoError(t, err)
		r.put(t, "/v2/sub/component-descriptors/"+component+"/manifests/"+digest(manifest), "application/vnd.oci.image.manifest.v1+json", manifest)
		return Layer{Repository: r.host + "/sub/component-descriptors", Name: component, Digest: digest(manifest), Artifact: true}
	}
	index := func(of ...Layer) Layer {
		var manifests []map[string]any
		for _, l := range of {
			manifests = append(manifests, map[string]any{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": l.Digest, "size": 1})
		}
		entry, _ := r.pushIndex(t, "", manifests...)["digest"].(string)
		return Layer{Repository: r.host + "/sub/component-descriptors", Name: component, Digest: entry, Artifact: true}
	}
	one := artifact(layer("application/x-yaml", []byte(configMapNamed("a"))))
	for name, l := range map[string]Layer{
		"an index of one artifact":       index(one),
		"the chart, with its provenance": artifact(layer(ChartMediaType, chart), layer("application/vnd.cncf.helm.chart.provenance.v1.prov", []byte("signed"))),
		"the one layer":                  one,
	} {
		request, err := s.Prepare(context.Background(), Source{Install: l}, &fakeCluster{})
		require.NoError(t, err, name)
		rendered, err := request.Render(context.Background())
		require.NoError(t, err, name)
		require.Equal(t, []string{"a"}, names(rendered), name)
	}
	for what, l := range map[string]Layer{
		"an OCI artifact of 2 layers":   artifact(layer("a/b", []byte("one")), layer("a/b", []byte("two"))),
		"an OCI index of 2 manifests":   index(one, artifact(layer("a/b", []byte("one")))),
		"an OCI index of 0 manifests":   index(),
		"an OCI index of another index": index(index(one)),
	} {
		_, err := s.Fetch(context.Background(), l)
		require.Equal(t, render.ReasonUnsupported, fault.Of(err).Reason, what)
		require.ErrorContains(t, err, "it is "+what)
	}
	blob := r.push(t, []byte("no manifest"))
	blob.Artifact = true
	_, err := s.Fetch(context.Background(), blob)
	require.Equal(t, ReasonLayerNotFound, fault.Of(err).Reason)
}

func TestAThousandInstallationsOfAChartCauseOnePullAndOneRendering(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	install := r.push(t, chartOf(entry{name: "templates/a.yaml", content: configMapNamed("a")}))
	s := r.store(t, nil)
	rendered := NewCache[*render.Rendered](1 << 20)
	var all sync.WaitGroup
	var done atomic.Int64
	for range 1000 {
		all.Go(func() {
			request, err := s.Prepare(context.Background(), Source{Install: install}, &fakeCluster{})
			if err != nil {
				return
			}
			got, err := rendered.Get(context.Background(), request.Key, func(ctx context.Context) (*render.Rendered, int64, error) {
				made, err := request.Render(ctx)
				return made, 1, err
			})
			if err == nil && len(got.Objects) == 1 {
				done.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1000, done.Load())
	require.Equal(t, Counts{Pulls: 1, Parses: 1, Renderings: 1}, s.Counts())
	require.EqualValues(t, 1, r.blobs.Load())
}
