package planning

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestEveryAccessTypeIsTranslatedToItsBlob(t *testing.T) {
	const own, component = "registry.example.com/modules/component-descriptors", "a.example/keda"
	digest := desiredtest.Digest("c")
	for name, test := range map[string]struct {
		kind   string
		access map[string]any
		want   v1beta2.ImageSpec
	}{
		"a localOciBlob": {"raw-manifest", map[string]any{"type": "localOciBlob", "digest": digest}, v1beta2.ImageSpec{Repo: own, Name: component, Type: "oci-ref"}},
		"a localBlob with global access": {
			"raw-manifest",
			map[string]any{"type": "localBlob", "localReference": digest, "mediaType": "application/x-tar", "globalAccess": map[string]any{
				"type": "ociBlob", "ref": "ghcr.io/org/blobs", "digest": desiredtest.Digest("d"), "mediaType": "x/y", "size": 1,
			}},
			v1beta2.ImageSpec{Repo: own, Name: component, Type: "oci-dir", MediaType: "application/x-tar"},
		},
		"a localBlob with only a global access": {
			"raw-manifest",
			map[string]any{"type": "localBlob", "localReference": "file", "mediaType": "application/x-yaml", "globalAccess": map[string]any{
				"type": "ociBlob", "ref": "ghcr.io/org/blobs", "digest": digest,
			}},
			v1beta2.ImageSpec{Repo: "ghcr.io/org", Name: "blobs", Type: "oci-ref", MediaType: "application/x-yaml"},
		},
		"an ociArtifact": {
			"helm-chart", map[string]any{"type": "ociArtifact", "imageReference": "ghcr.io/org/charts/keda:1.0.0@" + digest},
			v1beta2.ImageSpec{Repo: "ghcr.io/org/charts", Name: "keda", Type: "helm-chart", MediaType: "application/vnd.oci.image.manifest.v1+json"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			described, err := versions.ParseDescriptor(desiredtest.RawDescriptor(component, "1.0.0", resource("keda", test.kind, test.access)).Raw)
			require.NoError(t, err)
			found, refusal := layersOf(described, "")
			require.Nil(t, refusal)
			test.want.Ref = digest
			require.Equal(t, test.want, found.install.Source)
		})
	}
}

func TestTransferredComponentsAreFetchedFromTheirNewRepository(t *testing.T) {
	settings := desired.Settings{Mode: desired.ModeSingleCluster, DescriptorRepository: "mirror.example.com/kyma"}
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	require.Equal(t, "mirror.example.com/kyma", manifestOf(t, desiredtest.Kyma("keda"), settings, template).Spec.Install.Source.Repo)

	b := manifestInputs{planner: &planner{Request: Request{Settings: settings}}, entry: &entry{Choice: versions.Choice{Template: template}}}
	require.Equal(t, "mirror.example.com/kyma", b.repository())
	b.Template = imported("keda", "1.0.0", "mine")
	require.Empty(t, b.repository(), "a user-provided template can use only the repository in its descriptor, not our registry")
	b.Template.Spec.Descriptor.Raw = []byte(strings.Replace(string(b.Template.Spec.Descriptor.Raw), "{", `{"metadata":5,`, 1))
	require.Empty(t, b.repository(), "the same applies if the component's name is hidden from other readers")
	b.Template.Spec.Descriptor = nil
	require.Equal(t, "mirror.example.com/kyma", b.repository(), "the repository from which it was fetched")
}

func TestADefaultCRMayBeALayer(t *testing.T) {
	yaml := map[string]any{"type": "localBlob", "localReference": desiredtest.Digest("a"), "mediaType": "application/x-yaml"}
	shipped := map[string]any{"type": "localBlob", "localReference": desiredtest.Digest("b"), "mediaType": "application/x-yaml"}
	template := func() *v1beta2.ModuleTemplate {
		made := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
		made.Spec.Descriptor = desiredtest.RawDescriptor(desiredtest.Component("keda"), "1.0.0",
			resource("raw-manifest", "raw-manifest", yaml), resource("default-cr", "default-cr", shipped))
		return made
	}
	plan := func(template *v1beta2.ModuleTemplate, raw string, failure error, manifests ...*v1beta2.Manifest) ModulePlan {
		plans, _ := (&setup{
			kyma: desiredtest.Kyma("keda"), templates: []*v1beta2.ModuleTemplate{template}, manifests: manifests,
			defaultCR: func(layer v1beta2.ImageSpec) ([]byte, error) {
				require.Equal(t, desiredtest.Digest("b"), layer.Ref)
				return []byte(raw), failure
			},
		}).plan(t)
		return plans["keda"]
	}
	const keda = `{"apiVersion":"a/v1","kind":"Keda","metadata":{"name":"shipped"},"status":{}}`

	t.Run("it gets the usual defaults", func(t *testing.T) {
		require.JSONEq(t, `{"apiVersion":"a/v1","kind":"Keda","metadata":{"name":"shipped","namespace":"kyma-system"}}`, string(plan(template(), keda, nil).Manifest.Spec.Resource.Raw))
	})
	t.Run("the template's own default custom resource goes first", func(t *testing.T) {
		given := template()
		given.Spec.Data = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"a/v1","kind":"Keda","metadata":{"name":"given"}}`)}
		require.Contains(t, string(plan(given, keda, nil).Manifest.Spec.Resource.Raw), "given")
	})
	t.Run("an invalid one is refused", func(t *testing.T) {
		refusal := plan(template(), `{"metadata":{}}`, nil).Refusal
		require.Equal(t, versions.ReasonInvalidDefaultCR, refusal.Reason)
		require.False(t, refusal.Transient)
		require.False(t, plan(template(), "", fault.New(fault.Rejected, "InvalidManifest", "it holds 2 objects")).Refusal.Transient)
	})
	t.Run("one that the registry does not have is retried slowly and delays no other module", func(t *testing.T) {
		refusal := plan(template(), "", &fault.Error{Kind: fault.Transient, Reason: "LayerNotFound", SlowRetry: true}).Refusal
		require.False(t, refusal.Transient)
		require.Equal(t, "the default custom resource in the registry", refusal.Elsewhere)
	})
	t.Run("a registry that is down only delays", func(t *testing.T) {
		require.True(t, plan(template(), "", errors.New("no route")).Refusal.Transient)
		there := plan(template(), "", errors.New("no route"), installed("keda", "1.0.0"))
		require.Nil(t, there.Refusal)
		require.Equal(t, ActionKeep, there.Action)
	})
}
