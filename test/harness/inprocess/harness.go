// Package inprocess runs workflow and activities of a Manifest in the test's own process, on real API servers and a real
// Temporal server. A [Harness] has the clusters, a registry and a Temporal namespace; an [Installation] is a Manifest of the
// module of package fixture; a [Worker] does the work through a fault proxy; a [Snapshot] is the result, comparable between
// installations.
package inprocess

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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/harness/fixture"
	"github.com/kyma-project/lifecycle-manager/test/harness/recorder"
	"github.com/kyma-project/lifecycle-manager/test/harness/temporaltest"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Harness runs the work on one Manifest after another, with a Temporal namespace of its own, so that the workers of one
// harness never get the work of another. Work on one installation of a harness at a time.
type Harness struct {
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

// New makes a harness. Its test is skipped where there is no fleet.
func New(t testing.TB, name string) *Harness {
	t.Helper()
	controlPath, remotePath := testfleet.Require(t, "LM_TEST_CONTROL_PLANE"), testfleet.Require(t, "LM_TEST_REMOTE")
	h := &Harness{Scheme: cluster.NewScheme(t)}
	h.ControlConfig = cluster.AdminConfig(t, controlPath)
	h.remoteConfig = cluster.AdminConfig(t, remotePath)
	direct, err := client.New(h.ControlConfig, client.Options{Scheme: h.Scheme})
	require.NoError(t, err)
	h.Control = cluster.Planning(direct)
	h.connect(t, h.remoteConfig)
	h.Kubeconfig, err = os.ReadFile(remotePath)
	require.NoError(t, err)
	h.define(t)
	h.registry = httptest.NewServer(ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(h.registry.Close)
	h.artifacts, err = artifacts.New(artifacts.Options{PlainHTTPHosts: []string{h.Registry()}})
	require.NoError(t, err)
	h.Namespace, h.Temporal = temporaltest.Namespace(t, name)
	return h
}

// AccessSecret is the Secret that gives a Kyma access to the remote cluster.
func (h *Harness) AccessSecret(namespace, kyma string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "access", Namespace: namespace, Labels: map[string]string{shared.LabelKymaName: kyma}},
		Data:       map[string][]byte{shared.AccessSecretKey: h.Kubeconfig},
	}
}

// connect makes the test's own clients of the remote cluster.
func (h *Harness) connect(t testing.TB, config *rest.Config) {
	t.Helper()
	var err error
	h.Remote, err = client.New(config, client.Options{Scheme: h.Scheme})
	require.NoError(t, err)
	h.remote, err = dynamic.NewForConfig(config)
	require.NoError(t, err)
}

// Record keeps what the test itself, and the operators that it runs, write into the remote cluster from now on. What is
// under test makes its requests through the recorder as well.
func (h *Harness) Record(t testing.TB, id string) *recorder.Recorder {
	t.Helper()
	r := recorder.New(id, h.Registry())
	config := rest.CopyConfig(h.remoteConfig)
	config.Wrap(r.WritesThrough)
	h.connect(t, config)
	return r
}

// define creates those of our definitions that the control plane does not have: other packages' tests use it
// at the same time.
func (h *Harness) define(t testing.TB) {
	t.Helper()
	definitions, err := crds.All()
	require.NoError(t, err)
	for _, definition := range definitions {
		if err := h.Control.Create(context.Background(), definition); !apierrors.IsAlreadyExists(err) {
			require.NoError(t, err)
		}
	}
	require.Eventually(t, func() bool {
		for _, list := range []client.ObjectList{
			&v1beta2.ManifestList{}, &v1beta2.KymaList{}, &v1beta2.ModuleTemplateList{}, &v1beta2.ModuleReleaseMetaList{},
			&v1beta2.WatcherList{}, &v1beta2.RolloutPolicyList{}, &v1beta2.ModuleRolloutList{}, &v1beta2.RemovalBudgetList{}, &v1beta2.RemoteAgentList{},
		} {
			if h.Control.List(context.Background(), list, client.Limit(1)) != nil {
				return false
			}
		}
		return true
	}, 2*time.Minute, 100*time.Millisecond)
}

// Registry is the host of the registry, which speaks plain HTTP.
func (h *Harness) Registry() string { return strings.TrimPrefix(h.registry.URL, "http://") }

// Push pushes a layer and returns its reference in a Manifest.
func (h *Harness) Push(t testing.TB, content []byte) v1beta2.ImageSpec {
	t.Helper()
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	address := h.registry.URL + "/v2/component-descriptors/" + fixture.Component + "/blobs/uploads/?digest=" + digest
	response, err := http.Post(address, "application/octet-stream", bytes.NewReader(content)) //nolint:noctx // on loopback
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusCreated, response.StatusCode)
	return v1beta2.ImageSpec{Repo: h.Registry() + "/component-descriptors", Name: fixture.Component, Ref: digest, Type: v1beta2.ImageSourceOCIRef}
}
