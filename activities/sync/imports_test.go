package sync

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/imports"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

const allowedRegistry = "registry.example.com"

// handBench returns a bench with the user-provided template default/mine and a Kyma that asks for it.
func handBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	kyma := desiredtest.Kyma()
	kyma.Spec.Modules = []v1beta2.Module{{Name: "own", RemoteModuleTemplateRef: "default/mine"}}
	b := newBench(t, kyma, desired.Settings{}, objects...)
	b.allow(t, allowedRegistry)
	require.NoError(t, b.remote.Create(context.Background(), madeTemplate("default", "mine")))
	return b
}

func (b *bench) allow(t *testing.T, hosts ...string) {
	t.Helper()
	definitions, err := crds.Get(crds.Kymas, crds.ModuleTemplates, crds.ModuleReleaseMetas)
	require.NoError(t, err)
	b.Activities, err = New(Options{
		ControlPlane: b.control, Catalog: b.control, Clusters: b, Definitions: definitions, Version: "1.0.0",
		RemoteTemplateRegistries: hosts,
	})
	require.NoError(t, err)
}

func madeTemplate(namespace, name string) *v1beta2.ModuleTemplate {
	template := desiredtest.Template("mine", "1.0.0")
	template.Namespace, template.Name, template.UID = namespace, name, types.UID(namespace+"-"+name)
	return template
}

// copies returns the templates accepted for the Kyma, by the name of their source.
func (b *bench) copies(t *testing.T) map[string]v1beta2.ModuleTemplate {
	t.Helper()
	var list v1beta2.ModuleTemplateList
	require.NoError(t, b.control.List(context.Background(), &list))
	copies := map[string]v1beta2.ModuleTemplate{}
	for _, template := range list.Items {
		if ref, ok := desired.ImportedFrom(&template); ok {
			copies[ref] = template
		}
	}
	return copies
}

func (b *bench) editMade(t *testing.T, change func(*v1beta2.ModuleTemplate)) {
	t.Helper()
	template := &v1beta2.ModuleTemplate{}
	require.NoError(t, b.remote.Get(context.Background(), types.NamespacedName{Namespace: "default", Name: "mine"}, template))
	change(template)
	require.NoError(t, b.remote.Update(context.Background(), template))
	b.forget()
}

func TestAUserProvidedTemplateIsImportedForItsKymaAndForItsClusterOnly(t *testing.T) {
	ctx := context.Background()
	b := handBench(t)
	b.editMade(t, func(m *v1beta2.ModuleTemplate) {
		m.Spec.Mandatory, m.Spec.Target = true, v1beta2.TargetControlPlane
		m.Labels = map[string]string{
			shared.LabelBeta: "true", shared.LabelInternal: "true", shared.LabelMandatoryModule: "true", shared.LabelSignature: "mine",
			shared.LabelManagedBy: "somebody", "other": "label",
		}
		m.Annotations = map[string]string{shared.AnnotationIsClusterScoped: "true", "other": "annotation"}
	})
	result := b.sync(t)
	require.Empty(t, result.Refused)
	require.True(t, result.Faults[fault.PartTemplates].IsZero(), result.Faults[fault.PartTemplates].Message)
	require.Len(t, result.Imported, 1)

	taken := b.copies(t)["default/mine"]
	require.Equal(t, taken.Name, result.Imported[0].Name)
	require.Equal(t, taken.ResourceVersion, result.Imported[0].ResourceVersion)
	require.Equal(t, "kcp-system", taken.Namespace)
	require.False(t, taken.Spec.Mandatory)
	require.Equal(t, v1beta2.TargetRemote, taken.Spec.Target)
	require.Equal(t, map[string]string{
		shared.LabelKymaName: "kyma-sample", shared.LabelManagedBy: "lifecycle-manager", shared.LabelSignature: "mine",
	}, taken.Labels)
	require.Equal(t, "true", taken.Annotations[shared.AnnotationIsClusterScoped])
	require.NotContains(t, taken.Annotations, "other")
	owner := metav1.GetControllerOf(&taken)
	require.Equal(t, types.UID("kyma-uid"), owner.UID)
	require.Equal(t, []string{desired.RemoteTemplateKey("kyma-uid", "default", "mine")}, desired.KeysOfTemplate(&taken))

	templates, only, err := desired.UserProvided(ctx, desired.NewCached(b.control), desired.Settings{}, "kyma-uid", b.kyma(t).Spec.Modules[0], "kyma-system")
	require.NoError(t, err)
	require.True(t, only)
	require.Len(t, templates, 1)
	require.NotContains(t, strings.Join(b.remote.Writes(), "\n"), "apply ModuleTemplate", "the template is in no catalog")
}

func TestASteadyReconcileOfAUserProvidedTemplateReadsItsMetadataAndWritesNothing(t *testing.T) {
	b := handBench(t)
	b.sync(t)
	b.forget()
	require.Empty(t, b.sync(t).Imported)
	require.Empty(t, b.control.Writes())
	require.Empty(t, b.remote.Writes())
	require.Equal(t, []string{
		"get Namespace kube-system", "get Namespace kyma-system", "list CustomResourceDefinitionList",
		"get Kyma default", "list ModuleTemplateList", "list ModuleReleaseMetaList", "get ModuleTemplate mine",
	}, b.remote.Reads())

	require.NoError(t, b.remote.Create(context.Background(), madeTemplate("kyma-system", "near")))
	b.editRemote(t, func(k *v1beta2.Kyma) {
		k.Spec.Modules = []v1beta2.Module{{Name: "own", RemoteModuleTemplateRef: "near"}}
	})
	b.sync(t)
	require.Contains(t, b.copies(t), "kyma-system/near")
	b.forget()
	b.sync(t)
	require.Len(t, b.remote.Reads(), 6, "in the remote namespace, the list for the catalog is enough")
}

func TestAnImportedTemplateFollowsTheUserProvidedOne(t *testing.T) {
	ctx := context.Background()
	b := handBench(t)
	b.sync(t)
	b.editMade(t, func(m *v1beta2.ModuleTemplate) {
		m.Spec.Version, m.Spec.Descriptor = "2.0.0", desiredtest.Descriptor(desiredtest.Component("mine"), "2.0.0")
	})
	require.Len(t, b.sync(t).Imported, 1)
	require.Contains(t, string(ptrTo(b.copies(t)["default/mine"]).Spec.Descriptor.Raw), "2.0.0")
	b.editMade(t, func(m *v1beta2.ModuleTemplate) { m.Labels = map[string]string{shared.LabelSignature: "mine"} })
	b.sync(t)
	require.Equal(t, "mine", b.copies(t)["default/mine"].Labels[shared.LabelSignature])

	taken := ptrTo(b.copies(t)["default/mine"])
	taken.Spec.Target = v1beta2.TargetControlPlane
	require.NoError(t, b.control.Update(ctx, taken))
	b.sync(t)
	require.Equal(t, v1beta2.TargetRemote, b.copies(t)["default/mine"].Spec.Target, "an edit of the copy is reverted")
	b.forget()
	b.sync(t)
	require.Empty(t, b.control.Writes())
}

func ptrTo[T any](value T) *T { return &value }

func TestAnImportedTemplateIsDeletedWhenItIsNoLongerUsed(t *testing.T) {
	ctx := context.Background()
	for name, test := range map[string]struct {
		change  func(*testing.T, *bench)
		refused string
	}{
		"no module refers to it": {change: func(t *testing.T, b *bench) {
			b.editRemote(t, func(k *v1beta2.Kyma) { k.Spec.Modules = []v1beta2.Module{{Name: "own"}} })
		}},
		"it is gone": {change: func(t *testing.T, b *bench) {
			require.NoError(t, b.remote.Delete(ctx, madeTemplate("default", "mine")))
		}, refused: "ModuleTemplate default/mine of the remote cluster: not found"},
		"it became a copy of a catalog": {change: func(t *testing.T, b *bench) {
			b.editMade(t, func(m *v1beta2.ModuleTemplate) {
				m.Annotations = map[string]string{desired.AnnotationSyncedFrom: "a/b"}
			})
		}, refused: "not found"},
		"its registry is no longer allowed": {change: func(t *testing.T, b *bench) { b.allow(t, "other.example.com") },
			refused: "user-provided templates must not use registry registry.example.com (allowed: other.example.com)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := handBench(t)
			b.sync(t)
			require.Len(t, b.copies(t), 1)
			test.change(t, b)
			result := b.sync(t)
			require.True(t, result.Faults[fault.PartTemplates].IsZero())
			require.Empty(t, b.copies(t))
			if test.refused == "" {
				require.Empty(t, result.Refused)
				return
			}
			require.Contains(t, result.Refused["own"], test.refused)
		})
	}
}

func TestAFailedReadDeletesNothing(t *testing.T) {
	b := handBench(t)
	b.sync(t)
	b.remote.Fail = func(verb, object string) error {
		if verb == "get" && strings.HasPrefix(object, "ModuleTemplate") {
			return apierrors.NewInternalError(errors.New("etcd is tired"))
		}
		return nil
	}
	result := b.sync(t)
	require.Equal(t, OutcomeSynced, result.Outcome)
	require.Equal(t, fault.Transient, result.Faults[fault.PartTemplates].Kind)
	require.Contains(t, result.Faults[fault.PartTemplates].Message, "default/mine")
	require.Len(t, b.copies(t), 1)
}

func TestWhichUserProvidedTemplatesAreRefused(t *testing.T) {
	large := func(size int) func(*v1beta2.ModuleTemplate) {
		return func(m *v1beta2.ModuleTemplate) {
			m.Spec.Data = &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion":"example.com/v1","kind":"Large","x":%q}`, strings.Repeat("a", size))}
		}
	}
	for name, test := range map[string]struct {
		module v1beta2.Module
		change func(*v1beta2.ModuleTemplate)
		want   string
	}{
		"a missing one":         {module: v1beta2.Module{RemoteModuleTemplateRef: "default/missing"}, want: "ModuleTemplate default/missing of the remote cluster: not found"},
		"an invalid reference":  {module: v1beta2.Module{RemoteModuleTemplateRef: "a/b/c"}, want: `remoteModuleTemplateRef "a/b/c" is neither the name nor the namespace/name of a ModuleTemplate`},
		"one that is too large": {module: v1beta2.Module{RemoteModuleTemplateRef: "default/mine"}, change: large(1 << 20), want: "at most 1048576 are allowed"},
		"one with another registry": {module: v1beta2.Module{RemoteModuleTemplateRef: "default/mine"}, change: func(m *v1beta2.ModuleTemplate) {
			m.Spec.Descriptor.Raw = []byte(strings.ReplaceAll(string(m.Spec.Descriptor.Raw), allowedRegistry, "evil.example"))
		}, want: "must not use registry evil.example"},
		"one without a descriptor": {
			module: v1beta2.Module{RemoteModuleTemplateRef: "default/mine"}, change: func(m *v1beta2.ModuleTemplate) { m.Spec.Descriptor = nil },
			want: "it has no descriptor: embed the descriptor in spec.descriptor",
		},
		"one with an empty descriptor": {module: v1beta2.Module{RemoteModuleTemplateRef: "default/mine"}, change: func(m *v1beta2.ModuleTemplate) {
			m.Spec.Descriptor = &runtime.RawExtension{Raw: []byte(`{}`)}
		}, want: "it has no descriptor"},
		"one with nothing to install": {module: v1beta2.Module{RemoteModuleTemplateRef: "default/mine"}, change: func(m *v1beta2.ModuleTemplate) {
			m.Spec.Descriptor = desiredtest.RawDescriptor("example.com/mine", "1.0.0")
		}, want: "spec.descriptor: component.resources: Required value: component example.com/mine has nothing to install"},
		"one with another version than its descriptor": {module: v1beta2.Module{RemoteModuleTemplateRef: "default/mine"}, change: func(m *v1beta2.ModuleTemplate) {
			m.Spec.Version = "9.9.9"
		}, want: "the ModuleTemplate has version 9.9.9"},
		"one with an invalid default custom resource": {module: v1beta2.Module{RemoteModuleTemplateRef: "default/mine"}, change: func(m *v1beta2.ModuleTemplate) {
			m.Spec.Data = &runtime.RawExtension{Raw: []byte(`{"spec":{}}`)}
		}, want: "spec.data: "},
	} {
		t.Run(name, func(t *testing.T) {
			b := handBench(t)
			if test.change != nil {
				b.editMade(t, test.change)
			}
			b.sync(t)
			test.module.Name = "own"
			b.editRemote(t, func(k *v1beta2.Kyma) { k.Spec.Modules = []v1beta2.Module{test.module} })
			result := b.sync(t)
			require.Contains(t, result.Refused["own"], test.want)
			require.True(t, result.Faults[fault.PartTemplates].IsZero())
			require.Empty(t, b.copies(t))
		})
	}
}

func TestACopyOfATemplateThatCanNeverBeUsedIsDeleted(t *testing.T) {
	b := handBench(t)
	b.sync(t)
	taken := b.copies(t)["default/mine"]
	taken.Spec.Descriptor = nil // earlier builds copied templates without a descriptor
	require.NoError(t, b.control.Update(context.Background(), &taken))
	b.editMade(t, func(m *v1beta2.ModuleTemplate) { m.Spec.Descriptor = nil })
	require.Contains(t, b.sync(t).Refused["own"], "it has no descriptor")
	require.Empty(t, b.copies(t))
}

func TestATemplateThatTheControlPlaneRejectsIsRefused(t *testing.T) {
	b := handBench(t)
	b.control.Fail = func(verb, object string) error {
		if verb == "apply" && strings.HasPrefix(object, "ModuleTemplate") {
			return apierrors.NewForbidden(v1beta2.GroupVersion.WithResource("moduletemplates").GroupResource(), "x", errors.New("admission says no"))
		}
		return nil
	}
	result := b.sync(t)
	require.Contains(t, result.Refused["own"], "admission says no")
	require.True(t, result.Faults[fault.PartTemplates].IsZero())
}

func TestTheNumberAndSizeOfImportedTemplatesAreLimited(t *testing.T) {
	ctx := context.Background()
	b := handBench(t)
	var modules []v1beta2.Module
	for i := range imports.MaxTemplates + 3 {
		name := fmt.Sprintf("made-%02d", i)
		require.NoError(t, b.remote.Create(ctx, madeTemplate("kyma-system", name)))
		modules = append(modules, v1beta2.Module{Name: name})
	}
	b.sync(t)
	b.editRemote(t, func(k *v1beta2.Kyma) { k.Spec.Modules = modules })
	result := b.sync(t)
	require.Len(t, result.Imported, imports.MaxTemplates)
	require.Len(t, result.Refused, 3)
	require.Contains(t, result.Refused["made-34"], "at most 32 user-provided templates can be used")

	modules = modules[:6]
	for i := range modules {
		big := remoteTemplate(t, b, modules[i].Name)
		big.Spec.Data = &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion":"example.com/v1","kind":"Large","x":%q}`, strings.Repeat("a", 900_000))}
		require.NoError(t, b.remote.Update(ctx, big))
	}
	b.editRemote(t, func(k *v1beta2.Kyma) { k.Spec.Modules = modules })
	for range 2 {
		result = b.sync(t)
		require.Len(t, b.copies(t), 4)
		require.Len(t, result.Refused, 2)
		require.Contains(t, result.Refused["made-05"], "all user-provided templates together exceed 4194304 bytes")
	}
}

func TestAUserProvidedTemplateNeverShadowsOneOfTheControlPlane(t *testing.T) {
	ctx := context.Background()
	b := handBench(t)
	b.sync(t)
	require.NoError(t, b.remote.Create(ctx, madeTemplate("kyma-system", "keda-regular")))
	for _, module := range []v1beta2.Module{{Name: "keda-regular"}, {Name: "keda", RemoteModuleTemplateRef: "keda-regular"}} {
		b.editRemote(t, func(k *v1beta2.Kyma) { k.Spec.Modules = []v1beta2.Module{module} })
		b.sync(t)
		require.Len(t, b.copies(t), 1, "the control plane has no template with that name")
		template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
		require.NoError(t, b.control.Create(ctx, template))
		result := b.sync(t)
		require.Empty(t, b.copies(t), "the control plane's template wins")
		require.Empty(t, result.Refused)
		require.Contains(t, result.Faults[fault.PartCatalog].Message, "ModuleTemplate keda-regular", "the condition names the conflicting template")
		require.Equal(t, "mine", remoteTemplate(t, b, "keda-regular").Spec.ModuleName, "the conflicting template stays unchanged")
		require.NoError(t, b.control.Delete(ctx, template))
	}
}

func TestNothingIsImportedFromTheControlPlanesOwnCluster(t *testing.T) {
	on := true
	kyma := desiredtest.Kyma()
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on, Namespace: "copies"}
	kyma.Spec.Modules = []v1beta2.Module{{Name: "own", RemoteModuleTemplateRef: "secret/internal"}}
	internal := madeTemplate("secret", "internal")
	internal.Labels[shared.LabelInternal] = "true"
	b := newBench(t, kyma, desired.Settings{}, internal)
	b.remote = b.control
	b.allow(t, allowedRegistry)
	b.Settings.AllowControlPlaneModules = true
	b.sync(t)
	b.sync(t)
	require.Empty(t, b.copies(t), "otherwise every Kyma could get internal templates")
}

func TestNothingIsImportedBeforeTheRemoteKymaIsAccepted(t *testing.T) {
	b := handBench(t)
	b.sync(t)
	b.editRemote(t, func(k *v1beta2.Kyma) { k.Spec.Modules = []v1beta2.Module{{Name: "twice"}, {Name: "twice"}} })
	require.False(t, b.sync(t).Faults[fault.PartInvalid].IsZero())
	require.Len(t, b.copies(t), 1, "the last accepted state stays in force")
}

func TestTheProbeNoticesAnEditOfAUserProvidedTemplate(t *testing.T) {
	ctx := context.Background()
	setup := func(t *testing.T) *bench {
		b := handBench(t)
		b.sync(t)
		copied := b.remoteKyma(t)
		copied.Status = desired.RemoteStatus(b.kyma(t))
		require.NoError(t, b.remote.Status().Update(ctx, copied))
		b.forget()
		return b
	}
	probe := func(t *testing.T, b *bench) string {
		t.Helper()
		b.forget()
		changed, why, err := b.Probe(ctx, b.kyma(t), false)
		require.NoError(t, err)
		require.Equal(t, why != "", changed)
		require.Empty(t, append(b.remote.Writes(), b.control.Writes()...))
		require.LessOrEqual(t, len(b.remote.Reads()), 4)
		return why
	}
	b := setup(t)
	require.Empty(t, probe(t, b))
	b.editMade(t, func(m *v1beta2.ModuleTemplate) { m.Spec.Channel = "fast" })
	require.Equal(t, "template default/mine of the remote cluster was changed", probe(t, b))
	b.sync(t)
	require.Empty(t, probe(t, b))
	require.NoError(t, b.remote.Delete(ctx, madeTemplate("default", "mine")))
	require.Equal(t, "template default/mine of the remote cluster is gone", probe(t, b))
	b.sync(t)
	require.Empty(t, probe(t, b))

	made := madeTemplate("default", "mine")
	made.Spec.Descriptor.Raw = []byte(strings.ReplaceAll(string(made.Spec.Descriptor.Raw), allowedRegistry, "evil.example"))
	require.NoError(t, b.remote.Create(ctx, made))
	require.Equal(t, "template default/mine of the remote cluster was changed", probe(t, b), "the template exists again")
	require.NotEmpty(t, b.sync(t).Refused)
	require.Empty(t, probe(t, b), "a refused template is not reported by every sweep")
}
