package lifecycle

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
)

// Objects that a chart renders only where an API is served must not be removed because that API does not answer for a
// moment.
func TestNothingIsPrunedWhileTheClusterDoesNotSayWhatItServes(t *testing.T) {
	const template = `apiVersion: v1
kind: ConfigMap
metadata: {name: always}
---
{{ $api := "ID.example.com/v1" }}
{{ if .Capabilities.APIVersions.Has $api }}
apiVersion: v1
kind: ConfigMap
metadata: {name: with-api}
{{ end }}
`
	s := newEnvironment(t, "", nil)
	definition := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(strings.TrimSuffix(crdYAML, "---\n"), "ID", s.id)), definition))
	require.NoError(t, s.remote.Create(t.Context(), definition))
	// No access is cached: with a new one the cluster's APIs are read again.
	access, ok := s.activities.Steps.Options.Clusters.(*clusters.Registry)
	require.True(t, ok)
	anew := func() { access.Evict(s.id, "kyma", "") }
	says := func() bool {
		anew()
		cluster, err := access.ForKyma(context.Background(), s.id, "kyma")
		require.NoError(t, err)
		served, silent, err := cluster.APIVersions(context.Background())
		require.NoError(t, err)
		return len(silent) == 0 && strings.Contains(strings.Join(served, " "), s.id+".example.com/v1/Sample")
	}
	require.Eventually(t, says, time.Minute, 100*time.Millisecond)
	s.update(func(m *v1beta2.Manifest) { m.Spec.Install.Source = s.chart("1.0.0", template) })
	s.installReady()
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "with-api"))

	anew()
	s.requests.intercept(func(r *http.Request) error {
		// Each group version is a request of its own.
		r.Header.Set("Accept", "application/json")
		if r.URL.Path == "/apis/"+s.id+".example.com/v1" {
			return errors.New("cut off")
		}
		return nil
	})
	s.recorded.take()
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "with-api"))
	said, _ := s.recorded.take()
	require.Equal(t, []string{"Warning *v1beta2.Manifest NotPruned: 1 objects that the chart no longer renders are kept, " +
		"because the cluster does not say whether it serves " + s.id + ".example.com/v1"}, said)

	s.requests.intercept(nil)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome, "an incomplete answer does not count as complete")
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "with-api"))

	require.NoError(t, client.IgnoreNotFound(s.remote.Delete(t.Context(), definition)))
	require.Eventually(t, func() bool { return !says() }, 2*time.Minute, 100*time.Millisecond)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.Nil(t, s.get("v1", "ConfigMap", "ID-remote", "with-api"), "it is not served any more")
}
