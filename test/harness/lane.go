package harness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"
	temporal "go.temporal.io/sdk/client"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Lane runs the work on one Manifest after another in the test's own process: the real workflow and activities, real
// API servers and a real Temporal server, through wires that count and cut. It has a Temporal namespace of its own, so
// that the workers of one lane never get the work of another. Work on one place of a lane at a time.
type Lane struct {
	Scheme *runtime.Scheme
	// Control and Remote are the clusters as the test's admin sees them.
	Control, Remote client.Client
	// ControlConfig is without limits. Copy it before changing it.
	ControlConfig *rest.Config
	// Temporal is the test's own connection to the namespace.
	Temporal  temporal.Client
	Namespace string

	// Kubeconfig gives access to the remote cluster.
	Kubeconfig []byte

	remote       dynamic.Interface
	remoteConfig *rest.Config
	registry     *httptest.Server
	artifacts    *artifacts.Store
}

// NewLane makes a lane. Its test is skipped where there is no fleet.
func NewLane(t testing.TB, name string) *Lane {
	t.Helper()
	controlPath, remotePath := testfleet.Require(t, "LM_TEST_CONTROL_PLANE"), testfleet.Require(t, "LM_TEST_REMOTE")
	l := &Lane{Scheme: newScheme(t)}
	l.ControlConfig = adminConfig(t, controlPath)
	l.remoteConfig = adminConfig(t, remotePath)
	var err error
	l.Control, err = client.New(l.ControlConfig, client.Options{Scheme: l.Scheme})
	require.NoError(t, err)
	l.connect(t, l.remoteConfig)
	l.Kubeconfig, err = os.ReadFile(remotePath)
	require.NoError(t, err)
	l.define(t)
	l.registry = httptest.NewServer(ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(l.registry.Close)
	l.artifacts, err = artifacts.New(artifacts.Options{PlainHTTPHosts: []string{l.Registry()}})
	require.NoError(t, err)
	l.Namespace, l.Temporal = TemporalNamespace(t, name)
	return l
}

// connect makes the test's own clients of the remote cluster.
func (l *Lane) connect(t testing.TB, config *rest.Config) {
	t.Helper()
	var err error
	l.Remote, err = client.New(config, client.Options{Scheme: l.Scheme})
	require.NoError(t, err)
	l.remote, err = dynamic.NewForConfig(config)
	require.NoError(t, err)
}

// Record keeps what the test itself, and the operators that it runs, write into the remote cluster from now on. What is
// under test makes its requests through the recorder as well.
func (l *Lane) Record(t testing.TB, id string) *Recorder {
	t.Helper()
	recorder := NewRecorder(id, l.Registry())
	config := rest.CopyConfig(l.remoteConfig)
	config.Wrap(recorder.WritesThrough)
	l.connect(t, config)
	return recorder
}

// define brings those of our definitions that are needed into the control plane, where no other test has yet: other
// packages' tests use it at the same time.
func (l *Lane) define(t testing.TB) {
	t.Helper()
	definitions, err := crds.Get(crds.Kymas, crds.Manifests, crds.ModuleTemplates, crds.ModuleReleaseMetas)
	require.NoError(t, err)
	for _, definition := range definitions {
		if err := l.Control.Create(context.Background(), definition); !apierrors.IsAlreadyExists(err) {
			require.NoError(t, err)
		}
	}
	require.Eventually(t, func() bool {
		for _, list := range []client.ObjectList{&v1beta2.ManifestList{}, &v1beta2.KymaList{}, &v1beta2.ModuleTemplateList{}, &v1beta2.ModuleReleaseMetaList{}} {
			if l.Control.List(context.Background(), list, client.Limit(1)) != nil {
				return false
			}
		}
		return true
	}, 2*time.Minute, 100*time.Millisecond)
}

// Registry is the host of the lane's registry, which speaks plain HTTP.
func (l *Lane) Registry() string { return strings.TrimPrefix(l.registry.URL, "http://") }

// TwentyComponent is the name of the component that all layers are pushed for.
const TwentyComponent = "kyma-project.io/module/twenty"

// Push pushes a layer and returns how a Manifest names it.
func (l *Lane) Push(t testing.TB, content []byte) v1beta2.ImageSpec {
	t.Helper()
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	address := l.registry.URL + "/v2/component-descriptors/" + TwentyComponent + "/blobs/uploads/?digest=" + digest
	response, err := http.Post(address, "application/octet-stream", bytes.NewReader(content)) //nolint:noctx // on loopback
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusCreated, response.StatusCode)
	return v1beta2.ImageSpec{Repo: l.Registry() + "/component-descriptors", Name: TwentyComponent, Ref: digest, Type: v1beta2.ImageSourceOCIRef}
}
