package lifecycle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// BenchmarkApply installs a module of 200 ConfigMaps, whose layer is cached, through a server on loopback that
// answers at once. The server's own work is in the figures.
func BenchmarkApply(b *testing.B) {
	const objects = 200
	registry := httptest.NewServer(ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0))))
	defer registry.Close()
	m := &v1beta2.Manifest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "kyma-bench", UID: "1", ResourceVersion: "1", Generation: 1,
			Finalizers: manifests.OwnFinalizers()},
		Spec: v1beta2.ManifestSpec{Version: "1.0.0", Install: v1beta2.InstallInfo{Name: "raw-manifest", Source: benchLayer(b, registry.URL, objects)}},
	}
	server := httptest.NewServer(benchServer{manifest: m})
	defer server.Close()
	scheme := apiruntime.NewScheme()
	require.NoError(b, clientgoscheme.AddToScheme(scheme))
	require.NoError(b, v1beta2.AddToScheme(scheme))
	config := &rest.Config{Host: server.URL, QPS: -1}
	access, err := clusters.New(clusters.Options{ControlPlane: config, Scheme: scheme})
	require.NoError(b, err)
	control, err := client.New(config, client.Options{Scheme: scheme, Mapper: access.ControlPlane().Mapper})
	require.NoError(b, err)
	store, err := artifacts.New(artifacts.Options{PlainHTTPHosts: []string{strings.TrimPrefix(registry.URL, "http://")}})
	require.NoError(b, err)
	activities, err := worker.AssembleManifests(worker.ManifestOptions{
		Steps: manifests.Options{ControlPlane: control, Clusters: access},
		Apply: apply.Options{Artifacts: store},
	})
	require.NoError(b, err)
	applyOnce := func() {
		result, err := activities.Install.ApplyManifest(context.Background(), install.ApplyInput{Ref: kick.RefOf(m)})
		if err != nil || result.Outcome != manifests.OutcomeApplied {
			b.Fatal(result.Observed.Message, err)
		}
	}
	applyOnce()

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	for b.Loop() {
		applyOnce()
	}
	runtime.ReadMemStats(&after)
	total := float64(b.N * objects)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/total, "ns/object")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/total, "allocs/object")
}

// benchLayer pushes a layer of so many ConfigMaps.
func benchLayer(b *testing.B, registry string, objects int) v1beta2.ImageSpec {
	b.Helper()
	var layer bytes.Buffer
	for i := range objects {
		fmt.Fprintf(&layer, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: default}\ndata: {key: %q}\n---\n", i, strings.Repeat("x", 500))
	}
	sum := sha256.Sum256(layer.Bytes())
	digest := "sha256:" + hex.EncodeToString(sum[:])
	response, err := http.Post(registry+"/v2/component-descriptors/example.com/bench/blobs/uploads/?digest="+digest, "application/octet-stream", &layer)
	require.NoError(b, err)
	require.NoError(b, response.Body.Close())
	return v1beta2.ImageSpec{
		Repo: strings.TrimPrefix(registry, "http://") + "/component-descriptors", Name: "example.com/bench", Ref: digest, Type: v1beta2.ImageSourceOCIRef,
	}
}

// benchServer has one Manifest, which never changes, and accepts whatever is applied.
type benchServer struct{ manifest *v1beta2.Manifest }

// ServeHTTP implements http.Handler.
func (s benchServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	apiVersion := v1beta2.GroupVersion.String()
	partial := metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}
	switch {
	case r.Method == http.MethodPatch:
		_, _ = io.WriteString(w, `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"uid":"`+r.URL.Path+`","resourceVersion":"1","creationTimestamp":"`+time.Now().UTC().Format(time.RFC3339)+`",
			"managedFields":[{"manager":"declarative.kyma-project.io/applier","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1",
			"fieldsV1":{"f:data":{"f:key":{}},"f:metadata":{"f:labels":{"f:a":{}}}}}]}}`)
	case strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList"):
		partial.Kind += "List"
		_ = json.NewEncoder(w).Encode(metav1.PartialObjectMetadataList{TypeMeta: partial})
	case strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata"):
		_ = json.NewEncoder(w).Encode(metav1.PartialObjectMetadata{TypeMeta: partial, ObjectMeta: s.manifest.ObjectMeta})
	case strings.HasSuffix(r.URL.Path, "/manifests"):
		_ = json.NewEncoder(w).Encode(v1beta2.ManifestList{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: "ManifestList"}})
	case strings.HasSuffix(r.URL.Path, "/"+v1beta2.GroupVersion.Version):
		_ = json.NewEncoder(w).Encode(metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "manifests", Kind: "Manifest", Namespaced: true}}})
	default:
		answer := s.manifest.DeepCopy()
		answer.TypeMeta = metav1.TypeMeta{APIVersion: apiVersion, Kind: "Manifest"}
		_ = json.NewEncoder(w).Encode(answer)
	}
}
