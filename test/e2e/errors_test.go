package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// An error of one module is in the status of the Kyma, and stops no other module.
func errorsAreInTheStatus(t *testing.T, s *harness.Environment) {
	t.Helper()
	forger := newForger(t)
	s.Instance.Flags = []string{"--oci-registry-plain-http", forger.host, "--oci-registry-allowed", s.Registry + "," + forger.host}
	for _, module := range []string{"fine", "channelless", "forged", "lost", "foreign"} {
		s.PushMinimal(module)
	}
	changeDescriptor(s, "forged-1.0.0", func(descriptor string) string {
		return strings.ReplaceAll(descriptor, s.Registry, forger.host)
	})
	changeDescriptor(s, "foreign-1.0.0", func(descriptor string) string {
		return strings.ReplaceAll(descriptor, s.Registry, "elsewhere.invalid")
	})
	changeDescriptor(s, "lost-1.0.0", func(descriptor string) string {
		at := strings.Index(descriptor, "sha256:")
		require.Positive(t, at)
		return descriptor[:at] + "sha256:" + strings.Repeat("0", 64) + descriptor[at+len("sha256:")+64:]
	})
	forger.forge(t, s.Registry)
	s.Instance.Start()

	kyma := harness.NewKyma("faulty", "fine", "channelless", "forged", "lost", "foreign", "unheard-of")
	kyma.Spec.Modules[1].Channel = "nowhere"
	s.Create(kyma)
	s.Eventually("each module has its message", 2*time.Minute, func(c *assert.CollectT) {
		modules := harness.ModulesByName(s.Kyma("faulty").Status.Modules)
		for name, want := range map[string]string{
			"channelless": "no versions found for channel: nowhere in module channelless",
			"unheard-of":  "no ModuleReleaseMeta found",
			"forged":      "the registry sent other content",
			"lost":        "the registry does not have it",
			"foreign":     "registry elsewhere.invalid must not be used for layers (allowed: ",
		} {
			assert.Equal(c, shared.StateError, modules[name].State, name)
			assert.Contains(c, modules[name].Message, want, name)
		}
		assert.Equal(c, shared.StateReady, modules["fine"].State, modules["fine"].Message)
	})
	s.Eventually("the Kyma is in Error, with the reason", 2*time.Minute, func(c *assert.CollectT) {
		status := s.Kyma("faulty").Status
		assert.Equal(c, shared.StateError, status.State)
		if assert.NotNil(c, status.LastOperation) {
			assert.Contains(c, status.LastOperation.Operation, "module channelless: no versions found")
		}
		assert.True(c, meta.IsStatusConditionFalse(status.Conditions, string(shared.ConditionModules)))
		assert.Equal(c, "1/6", status.ModulesReady)
		assert.Equal(c, shared.StateError, s.RemoteKyma().Status.State, "its owner sees the same")
	})

	t.Run("what is repaired becomes Ready", func(t *testing.T) {
		s.EditRemote(func(k *v1beta2.Kyma) {
			for i := range k.Spec.Modules {
				k.Spec.Modules[i].Channel = ""
			}
		})
		changeDescriptor(s, "forged-1.0.0", func(descriptor string) string {
			return strings.ReplaceAll(descriptor, forger.host, s.Registry)
		})
		s.Eventually("they become Ready", 2*time.Minute, func(c *assert.CollectT) {
			modules := harness.ModulesByName(s.Kyma("faulty").Status.Modules)
			for _, name := range []string{"fine", "channelless", "forged"} {
				assert.Equal(c, shared.StateReady, modules[name].State, "%s: %s", name, modules[name].Message)
			}
		})
	})
	t.Run("none of them delays a deletion", func(t *testing.T) {
		require.NoError(t, s.ControlPlane.Delete(t.Context(), s.Kyma("faulty")))
		s.Eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(kyma)) })
		require.Empty(t, s.OfModule(t, s.Remote))
	})
}

// saysNowhere requires that a secret is neither in the log of the instance nor in Events.
func saysNowhere(t *testing.T, s *harness.Environment, secret string) {
	t.Helper()
	log, err := os.ReadFile(s.Instance.Log)
	require.NoError(t, err)
	require.NotContains(t, string(log), secret)
	var events corev1.EventList
	require.NoError(t, s.ControlPlane.List(t.Context(), &events))
	for _, event := range events.Items {
		require.NotContains(t, event.Message, secret)
	}
}

// changeDescriptor changes the descriptor that a ModuleTemplate embeds.
func changeDescriptor(s *harness.Environment, template string, change func(string) string) {
	s.T.Helper()
	found := &v1beta2.ModuleTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: harness.ControlPlaneNamespace, Name: template}}
	harness.EditObject(s.T, s.ControlPlane, found, func() {
		changed := change(string(found.Spec.Descriptor.Raw))
		require.NotEqual(s.T, string(found.Spec.Descriptor.Raw), changed)
		found.Spec.Descriptor.Raw = []byte(changed)
	})
}

// forger is a registry in front of another, that serves other layers than those that were asked for.
type forger struct {
	host    string
	forward http.Handler
}

func newForger(t *testing.T) *forger {
	t.Helper()
	f := &forger{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.forward.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	f.host = strings.TrimPrefix(server.URL, "http://")
	return f
}

// forge makes it one in front of this registry.
func (f *forger) forge(t *testing.T, registry string) {
	t.Helper()
	behind, err := url.Parse("http://" + registry)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(behind)
	proxy.ModifyResponse = func(response *http.Response) error {
		if !strings.Contains(response.Request.URL.Path, "/blobs/") || response.StatusCode != http.StatusOK {
			return nil
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || len(body) == 0 {
			return err
		}
		body[len(body)-1] ^= 1
		response.Body = io.NopCloser(bytes.NewReader(body))
		return nil
	}
	f.forward = proxy
}
