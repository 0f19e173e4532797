package planning

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor/descriptortest"
)

func synced() *v1beta2.Kyma {
	return desiredtest.Accepted(desiredtest.Kyma(), v1beta2.SyncGenerationDefault, "regular", v1beta2.Module{Name: "btp-operator"})
}

func manifestOf(t *testing.T, kyma *v1beta2.Kyma, settings desired.Settings, template *v1beta2.ModuleTemplate) *v1beta2.Manifest {
	t.Helper()
	plans, _ := (&setup{kyma: kyma, settings: settings, templates: []*v1beta2.ModuleTemplate{template}}).plan(t)
	require.Len(t, plans, 1)
	for _, plan := range plans {
		require.Nil(t, plan.Refusal)
		return plan.Manifest
	}
	return nil
}

func TestAManifestIsBuiltAsTheContractSays(t *testing.T) {
	template := desiredtest.ChannelTemplate("btp-operator", "regular", "0.2.3")
	template.Spec.Descriptor = desiredtest.Descriptor("kyma.project.io/module/btp-operator", "0.2.3")
	template.Spec.Data = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"operator.example.com/v1","kind":"BTP","metadata":{"name":"default"},"spec":{"a":1},"status":{"state":"Ready"}}`)}
	template.Spec.Manager = &v1beta2.Manager{GroupVersionKind: v1beta2.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Name: "btp"}
	template.Spec.AssociatedResources = []v1beta2.GroupVersionKind{{Group: "z.example.com", Version: "v1", Kind: "Late"}, {Group: "a.example.com", Version: "v1", Kind: "Early"}}
	template.Spec.CustomStateCheck = []v1beta2.CustomStateCheck{{JSONPath: "status.health", Value: "green", MappedState: "Ready"}}
	kyma := synced()
	kyma.Name = "24bd3cbf-454a-4075-baa6-113a23fdfcd0"
	kyma.Status.Remote.Modules[0].CustomResourcePolicy = v1beta2.CustomResourcePolicyIgnore

	manifest := manifestOf(t, kyma, desired.Settings{Mode: desired.ModeControlPlane}, template)
	require.Equal(t, "24bd3cbf-454a-4075-baa6-113a23fdfcd0-btp-operator-4128321918", manifest.Name)
	require.Equal(t, "kcp-system", manifest.Namespace)
	require.Equal(t, map[string]string{
		"operator.kyma-project.io/kyma-name": kyma.Name, "operator.kyma-project.io/module-name": "btp-operator",
		"operator.kyma-project.io/channel": "regular", "operator.kyma-project.io/managed-by": "lifecycle-manager",
	}, manifest.Labels)
	require.Equal(t, map[string]string{
		"operator.kyma-project.io/fqdn":               "kyma.project.io/module/btp-operator",
		"operator.kyma-project.io/ocm-component-name": "kyma.project.io/module/btp-operator",
		"operator.kyma-project.io/remote-namespace":   "kyma-system",
		"operator.kyma-project.io/custom-state-check": `[{"jsonPath":"status.health","value":"green","mappedState":"Ready"}]`,
		"operator.kyma-project.io/spec-digest":        desired.SpecDigest(manifest.Spec),
		"operator.kyma-project.io/associated-kinds":   "Early.a.example.com,Late.z.example.com",
	}, manifest.Annotations)
	require.True(t, metav1.IsControlledBy(manifest, kyma))
	require.Equal(t, "operator.kyma-project.io/v1beta2", manifest.OwnerReferences[0].APIVersion)

	require.True(t, manifest.Spec.Remote)
	require.Equal(t, "0.2.3", manifest.Spec.Version)
	require.Equal(t, v1beta2.CustomResourcePolicyIgnore, manifest.Spec.CustomResourcePolicy)
	require.Equal(t, v1beta2.InstallInfo{Name: "raw-manifest", Source: v1beta2.ImageSpec{
		Repo: "registry.example.com/modules", Name: "kyma.project.io/module/btp-operator",
		Ref: desiredtest.Digest("a"), Type: "oci-ref", MediaType: "application/x-yaml",
	}}, manifest.Spec.Install)
	require.JSONEq(t, `{"apiVersion":"operator.example.com/v1","kind":"BTP","metadata":{"name":"default","namespace":"kyma-system"},"spec":{"a":1}}`,
		string(manifest.Spec.Resource.Raw), "the namespace is defaulted, the status dropped")
	require.Equal(t, template.Spec.Manager, manifest.Spec.Manager)
}

func TestTheImagesOfAComponentReachTheManifest(t *testing.T) {
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	image := func(reference string) map[string]any {
		return resource("operator", "ociArtifact", map[string]any{"type": "ociArtifact", "imageReference": reference})
	}
	layer := resource("raw-manifest", "raw-manifest", map[string]any{"type": "localBlob", "localReference": desiredtest.Digest("a"), "mediaType": "application/x-yaml"})
	describe := func(resources ...map[string]any) *v1beta2.Manifest {
		template.Spec.Descriptor = desiredtest.RawDescriptor("a.example/keda", "1.0.0", resources...)
		return manifestOf(t, desiredtest.Kyma("keda"), desired.Settings{Mode: desired.ModeSingleCluster}, template)
	}
	copied := describe(layer, image("local.example.com/x/operator:1.0.0"))
	require.Equal(t, []string{"local.example.com/x/operator:1.0.0"}, copied.Spec.LocalizedImages)
	require.True(t, Differs(describe(layer), copied), "an existing Manifest gets the images")
	require.False(t, Differs(copied.DeepCopy(), copied))
}

func TestAManifestForARemoteClusterNamesTheImagePullSecret(t *testing.T) {
	const annotation = "operator.kyma-project.io/image-pull-secret"
	template := desiredtest.ChannelTemplate("btp-operator", "regular", "1.0.0")
	with := manifestOf(t, synced(), desired.Settings{Mode: desired.ModeControlPlane, ImagePullSecret: "regcred"}, template)
	require.Equal(t, "regcred", with.Annotations[annotation])
	without := manifestOf(t, synced(), desired.Settings{Mode: desired.ModeControlPlane}, template)
	require.NotContains(t, without.Annotations, annotation)
	require.True(t, Differs(with, without), "the annotation is removed")
	here := manifestOf(t, desiredtest.Kyma("btp-operator"), desired.Settings{Mode: desired.ModeSingleCluster, ImagePullSecret: "regcred"}, template)
	require.False(t, here.Spec.Remote)
	require.NotContains(t, here.Annotations, annotation, "only remote clusters get the Secret")
}

func TestAManifestRecordsWhetherItsModuleMayReadDataOfTheControlPlane(t *testing.T) {
	const annotation = "operator.kyma-project.io/injects-data"
	settings := desired.Settings{Mode: desired.ModeControlPlane, InjectingModules: []string{"deployer", "btp-operator"}}
	template := desiredtest.ChannelTemplate("btp-operator", "regular", "1.0.0")
	with := manifestOf(t, synced(), settings, template)
	require.Equal(t, "true", with.Annotations[annotation])
	settings.InjectingModules = []string{"deployer"}
	without := manifestOf(t, synced(), settings, template)
	require.NotContains(t, without.Annotations, annotation)
	require.True(t, Differs(with, without), "the annotation is removed")

	settings.InjectingModules = []string{"btp-operator"}
	kyma := synced()
	userProvided(&kyma.Status.Remote.Modules[0])
	own := manifestOf(t, kyma, settings, imported("btp-operator", "1.0.0", "mine"))
	require.NotContains(t, own.Annotations, annotation, "a user-provided template of that name gives no access to data")
}

func TestTheNamespaceOfADefaultCR(t *testing.T) {
	bare := `{"apiVersion":"v1","kind":"Thing"}`
	explicit := func(namespace string) *v1beta2.Sync {
		on := true
		return &v1beta2.Sync{Enabled: &on, Namespace: namespace}
	}
	tests := []struct {
		name, data    string
		clusterScoped bool
		kyma          func() *v1beta2.Kyma
		wantNamespace string
	}{
		{name: "without spec.sync into the namespace of the flag", data: bare, kyma: func() *v1beta2.Kyma { return desiredtest.Kyma("keda") }, wantNamespace: "kyma-system"},
		{
			name: "with spec.sync into its namespace", data: bare, wantNamespace: "there",
			kyma: func() *v1beta2.Kyma {
				k := desiredtest.Accepted(desiredtest.Kyma("keda"), v1beta2.SyncGenerationExplicit, "regular")
				k.Spec.Sync, k.Status.Remote.Namespace = explicit("there"), "there"
				return k
			},
		},
		{
			name: "with spec.sync that names none into the Kyma's", data: bare, wantNamespace: "kcp-system",
			kyma: func() *v1beta2.Kyma {
				k := desiredtest.Kyma("keda")
				k.Spec.Sync = &v1beta2.Sync{}
				return k
			},
		},
		{name: "its own namespace is respected", data: `{"apiVersion":"v1","kind":"Thing","metadata":{"namespace":"mine"}}`, kyma: func() *v1beta2.Kyma { return desiredtest.Kyma("keda") }, wantNamespace: "mine"},
		{name: "a cluster scoped one has none", data: `{"apiVersion":"v1","kind":"Thing","metadata":{"namespace":"mine"}}`, clusterScoped: true, kyma: func() *v1beta2.Kyma { return desiredtest.Kyma("keda") }, wantNamespace: ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
			template.Spec.Data = &runtime.RawExtension{Raw: []byte(test.data)}
			if test.clusterScoped {
				template.Annotations[shared.AnnotationIsClusterScoped] = "true"
			}
			manifest := manifestOf(t, test.kyma(), desired.Settings{Mode: desired.ModeSingleCluster}, template)
			object, err := manifest.Spec.DefaultCR()
			require.NoError(t, err)
			require.Equal(t, test.wantNamespace, object.GetNamespace())
			require.Equal(t, manifest.Name, object.GetName(), "a default CR without a name gets the Manifest's name")
		})
	}
}

func TestADefaultCRWithoutKindIsRefused(t *testing.T) {
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	template.Spec.Data = &runtime.RawExtension{Raw: []byte(`{"metadata":{"name":"x"}}`)}
	plans, _ := (&setup{kyma: desiredtest.Kyma("keda"), templates: []*v1beta2.ModuleTemplate{template}}).plan(t)
	require.Equal(t, versions.ReasonInvalidDefaultCR, plans["keda"].Refusal.Reason)
	require.Contains(t, plans["keda"].Refusal.Message, "ModuleTemplate kcp-system/keda-regular: spec.data")
}

func resource(name, kind string, access map[string]any) map[string]any {
	return map[string]any{"name": name, "type": kind, "relation": "local", "version": "1.0.0", "access": access}
}

func TestLayers(t *testing.T) {
	local := func(mediaType string) map[string]any {
		return map[string]any{"type": "localBlob", "localReference": desiredtest.Digest("a"), "mediaType": mediaType}
	}
	seed := map[string]any{"type": "localOciBlob", "digest": desiredtest.Digest("b")}
	tests := []struct {
		name      string
		resources []map[string]any
		want      v1beta2.ImageSpec
		config    bool
		refused   string
	}{
		{
			name: "a YAML file", resources: []map[string]any{resource("raw-manifest", "raw-manifest", local("application/x-yaml"))},
			want: v1beta2.ImageSpec{Ref: desiredtest.Digest("a"), Type: "oci-ref", MediaType: "application/x-yaml"},
		},
		{
			name: "a folder as tar", resources: []map[string]any{resource("raw-manifest", "directoryTree", local("application/x-tar"))},
			want: v1beta2.ImageSpec{Ref: desiredtest.Digest("a"), Type: "oci-dir", MediaType: "application/x-tar"},
		},
		{
			name: "a chart", resources: []map[string]any{resource("keda", "helm-chart", local(chartMediaType))},
			want: v1beta2.ImageSpec{Ref: desiredtest.Digest("a"), Type: "helm-chart", MediaType: chartMediaType},
		},
		{
			name: "a chart as the seeds have it, with its configuration", config: true,
			resources: []map[string]any{resource("keda", "helm-chart", seed), resource("config", "yaml", seed)},
			want:      v1beta2.ImageSpec{Ref: desiredtest.Digest("b"), Type: "oci-ref", MediaType: chartMediaType},
		},
		{
			name: "images and metadata are passed over", resources: []map[string]any{
				resource("raw-manifest", "raw-manifest", local("application/x-yaml")),
				resource("module-image", "ociArtifact", map[string]any{"type": "ociArtifact", "imageReference": "example.com/a:1"}),
				resource("default-cr", "default-cr", local("application/x-yaml")),
			},
			want: v1beta2.ImageSpec{Ref: desiredtest.Digest("a"), Type: "oci-ref", MediaType: "application/x-yaml"},
		},
		{name: "nothing to install", resources: []map[string]any{resource("config", "yaml", seed)}, refused: "has nothing to install"},
		{
			name: "two things to install", refused: "more than one thing to install: raw-manifest, keda",
			resources: []map[string]any{resource("raw-manifest", "raw-manifest", seed), resource("keda", "helm-chart", seed)},
		},
		{name: "a kustomize folder", resources: []map[string]any{resource("operator", "kustomize", seed)}, refused: "kustomize folders are not supported"},
		{
			name: "an access that we cannot read", refused: `access type "s3" is not supported`,
			resources: []map[string]any{resource("raw-manifest", "raw-manifest", map[string]any{"type": "s3", "bucket": "x"})},
		},
		{
			name: "an access without digest", refused: "no sha256 digest",
			resources: []map[string]any{resource("raw-manifest", "raw-manifest", map[string]any{"type": "localBlob", "localReference": "file", "mediaType": "x/y"})},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			descriptor, err := versions.ParseDescriptor(desiredtest.RawDescriptor("a.example/keda", "1.0.0", test.resources...).Raw)
			require.NoError(t, err)
			found, refusal := layersOf(descriptor, descriptor.Repository)
			if test.refused != "" {
				require.NotNil(t, refusal)
				require.Contains(t, refusal.Message, test.refused)
				return
			}
			require.Nil(t, refusal)
			test.want.Repo, test.want.Name = "registry.example.com/modules/component-descriptors", "a.example/keda"
			require.Equal(t, test.want, found.install.Source)
			require.Equal(t, test.config, found.config != nil)
		})
	}
}

func TestABlobElsewhereKeepsItsOwnRepository(t *testing.T) {
	descriptor, err := versions.ParseDescriptor(desiredtest.RawDescriptor("a.example/keda", "1.0.0", resource("raw-manifest", "raw-manifest", map[string]any{
		"type": "ociBlob", "ref": "ghcr.io/org/blobs", "mediaType": "application/x-yaml", "digest": desiredtest.Digest("c"), "size": 12,
	})).Raw)
	require.NoError(t, err)
	found, refusal := layersOf(descriptor, descriptor.Repository)
	require.Nil(t, refusal)
	require.Equal(t, v1beta2.ImageSpec{
		Repo: "ghcr.io/org", Name: "blobs", Ref: desiredtest.Digest("c"), Type: "oci-ref", MediaType: "application/x-yaml", Size: 12,
	}, found.install.Source)
}

func TestInvalidDescriptorsAreRefused(t *testing.T) {
	valid := string(desiredtest.Descriptor("a.example/keda", "1.0.0").Raw)
	for name, raw := range map[string]string{
		"not YAML":           "{{",
		"no schema":          `{"component":{"name":"a.example/b"}}`,
		"an unknown schema":  `{"meta":{"schemaVersion":"v9"},"component":{"name":"a.example/b","version":"1.0.0"}}`,
		"no version":         `{"meta":{"schemaVersion":"v2"},"component":{"name":"a.example/b","provider":"x","resources":[],"sources":[],"componentReferences":[],"repositoryContexts":[]}}`,
		"empty":              "",
		"resources as text":  `{"meta":{"schemaVersion":"v2"},"component":{"name":"a.example/b","version":"1.0.0","resources":"x"}}`,
		"an unknown mapping": strings.ReplaceAll(valid, `"urlPath"`, `"by-colour"`),
	} {
		_, err := versions.ParseDescriptor([]byte(raw))
		require.ErrorIs(t, err, versions.ErrDescriptor, name)
	}

	v3 := `apiVersion: ocm.software/v3alpha1
kind: ComponentVersion
metadata:
  name: a.example/keda
  version: 1.0.0
  provider:
    name: kyma-project.io
repositoryContexts:
- type: ociRegistry
  baseUrl: https://registry.example.com/prod
spec:
  resources:
  - name: raw-manifest
    type: raw-manifest
    relation: local
    version: 1.0.0
    access:
      type: localBlob
      localReference: ` + desiredtest.Digest("a") + `
      mediaType: application/x-yaml
`
	descriptor, err := versions.ParseDescriptor([]byte(v3))
	require.NoError(t, err)
	require.Equal(t, "a.example/keda", descriptor.Component)
	require.Equal(t, "registry.example.com/prod", descriptor.Repository)
	require.Len(t, descriptor.Resources, 1)
}

func TestComponentsOfTheModuleToolAreUnderstood(t *testing.T) {
	descriptor, err := versions.ParseDescriptor(descriptortest.Example)
	require.NoError(t, err)
	found, refusal := layersOf(descriptor, descriptor.Repository)
	require.Nil(t, refusal)
	require.Equal(t, "127.0.0.1:5000/modules/component-descriptors", found.install.Source.Repo)
	require.Equal(t, "kyma-project.io/module/sample", found.install.Source.Name)
	require.Equal(t, v1beta2.ImageSourceOCIRef, found.install.Source.Type)
	require.NotNil(t, found.defaultCR)
}

func TestUnmanagedKeepsEverythingElse(t *testing.T) {
	existing := installed("keda", "1.0.0")
	existing.Labels["someone"] = "else"
	existing.Spec.Install.Name = "raw-manifest"
	existing.Spec.Resource = &runtime.RawExtension{Raw: []byte(`{"a":1}`)}
	marked := unmanaged(existing)
	require.Equal(t, "true", marked.Annotations[shared.AnnotationIsUnmanaged])
	require.Equal(t, existing.Spec, marked.Spec)
	require.NotContains(t, marked.Labels, "someone", "we do not apply labels of others")
}

func TestDifferencesThatDoNotCount(t *testing.T) {
	manifest := manifestOf(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	manifest.Spec.Resource = &runtime.RawExtension{Raw: []byte(`{"a":1,"b":[1,2]}`)}
	stored := manifest.DeepCopy()
	stored.Spec.Resource.Raw = []byte(`{ "b": [1,2], "a": 1 }`)
	stored.Labels["someone"] = "else"
	stored.Annotations["sync-oci-ref"] = "x"
	stored.Finalizers = []string{"f"}
	stored.Status.State = shared.StateReady
	require.False(t, Differs(stored, manifest))

	for name, change := range map[string]func(*v1beta2.Manifest){
		"a label of ours":      func(m *v1beta2.Manifest) { m.Labels[shared.LabelChannel] = "fast" },
		"a label of ours gone": func(m *v1beta2.Manifest) { delete(m.Labels, shared.LabelKymaName) },
		"an unmanaged mark":    func(m *v1beta2.Manifest) { m.Annotations[shared.AnnotationIsUnmanaged] = "true" },
		"another owner":        func(m *v1beta2.Manifest) { m.OwnerReferences[0].UID = "x" },
		"no owner":             func(m *v1beta2.Manifest) { m.OwnerReferences = nil },
		"another version":      func(m *v1beta2.Manifest) { m.Spec.Version = "0.9.0" },
		"another default CR":   func(m *v1beta2.Manifest) { m.Spec.Resource = &runtime.RawExtension{Raw: []byte(`{"a":2}`)} },
		"no default CR":        func(m *v1beta2.Manifest) { m.Spec.Resource = nil },
		"a broken default CR":  func(m *v1beta2.Manifest) { m.Spec.Resource = &runtime.RawExtension{Raw: []byte(`{`)} },
	} {
		changed := stored.DeepCopy()
		change(changed)
		require.True(t, Differs(changed, manifest), name)
	}
}

func TestAManifestRecordsTheNamespaceForObjectsThatNameNone(t *testing.T) {
	on := true
	explicit := func(namespace string) *v1beta2.Kyma {
		k := desiredtest.Accepted(desiredtest.Kyma("keda"), v1beta2.SyncGenerationExplicit, "regular")
		k.Spec.Sync, k.Status.Remote.Namespace = &v1beta2.Sync{Enabled: &on, Namespace: namespace}, namespace
		return k
	}
	for name, test := range map[string]struct {
		kyma *v1beta2.Kyma
		want string
	}{
		"without spec.sync it is the flag's":         {kyma: desiredtest.Kyma("keda"), want: "flagged"},
		"with spec.sync it is the one that is named": {kyma: explicit("custom"), want: "custom"},
		"with spec.sync that names none it is the Kyma's": {kyma: func() *v1beta2.Kyma {
			k := desiredtest.Kyma("keda")
			k.Spec.Sync = &v1beta2.Sync{}
			return k
		}(), want: "kcp-system"},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := manifestOf(t, test.kyma, desired.Settings{Mode: desired.ModeSingleCluster, SyncNamespace: "flagged"},
				desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
			require.Equal(t, test.want, manifest.Annotations["operator.kyma-project.io/remote-namespace"])
		})
	}
}

func TestAManifestRecordsTheStrategyLocalClient(t *testing.T) {
	kyma := desiredtest.Accepted(desiredtest.Kyma("keda"), v1beta2.SyncGenerationExplicit, "regular")
	on := true
	for strategy, want := range map[v1beta2.SyncStrategy]string{
		v1beta2.SyncStrategyLocalClient: "local-client", v1beta2.SyncStrategyLocalSecret: "", v1beta2.SyncStrategySecret: "",
	} {
		kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on, Strategy: strategy, Namespace: kyma.Status.Remote.Namespace}
		manifest := manifestOf(t, kyma, desired.Settings{AllowControlPlaneModules: true}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
		require.Equal(t, want, manifest.Annotations["operator.kyma-project.io/remote-strategy"], strategy)
	}
}

func TestAManifestRecordsTheKindsThatMayHoldUserData(t *testing.T) {
	template := desiredtest.ChannelTemplate("btp-operator", "regular", "0.2.3")
	kinds := func() []schema.GroupKind {
		return desired.AssociatedKinds(manifestOf(t, synced(), desired.Settings{Mode: desired.ModeControlPlane}, template))
	}
	require.Empty(t, kinds())
	template.Spec.AssociatedResources = []v1beta2.GroupVersionKind{
		{Group: "keda.sh", Version: "v2", Kind: "ScaledObject"}, {Group: "keda.sh", Version: "v1", Kind: "ScaledObject"}, {Version: "v1", Kind: "Secret"},
	}
	require.Equal(t, []schema.GroupKind{{Group: "keda.sh", Kind: "ScaledObject"}, {Kind: "Secret"}}, kinds(), "whatever their version")
}
