package resolve

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/origin"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/requeue"
)

// registry serves descriptors by component and version.
type registry map[string][]byte

func (r registry) FetchDescriptor(_ context.Context, repository, component, version string) ([]byte, error) {
	raw, ok := r[repository+" "+component+":"+version]
	if !ok {
		f := fault.New(fault.Transient, "DescriptorNotFound", "no %s:%s in %s", component, version, repository)
		f.SlowRetry = true
		return nil, f
	}
	return raw, nil
}

// bench is an instance with one Kyma in an in-memory cluster.
type bench struct {
	*Activities
	Cluster *desiredtest.Cluster
	kyma    *v1beta2.Kyma
	in      Input
}

func newBench(t *testing.T, kyma *v1beta2.Kyma, settings desired.Settings, objects ...client.Object) *bench {
	t.Helper()
	if settings.Mode == "" {
		settings.Mode = desired.ModeSingleCluster
	}
	cluster := desiredtest.NewCluster("cp", append([]client.Object{kyma}, objects...)...)
	activities, err := New(Options{Settings: settings, ControlPlane: cluster, Catalog: cluster, Descriptors: registry{
		"registry.example.com/modules kyma-project.io/module/fetched:1.0.0": desiredtest.Descriptor("kyma-project.io/module/fetched", "1.0.0").Raw,
	}})
	require.NoError(t, err)
	return &bench{activities, cluster, kyma, Input{Ref: kick.RefOf(kyma)}}
}

func (b *bench) reconcile(t *testing.T) Result {
	t.Helper()
	result, err := b.ResolveKyma(context.Background(), b.in)
	require.NoError(t, err)
	return result
}

func (b *bench) edit(t *testing.T, change func(*v1beta2.Kyma)) {
	t.Helper()
	kyma := b.read(t)
	change(kyma)
	require.NoError(t, b.Cluster.Update(context.Background(), kyma))
}

func (b *bench) read(t *testing.T) *v1beta2.Kyma {
	t.Helper()
	kyma := &v1beta2.Kyma{}
	require.NoError(t, b.Cluster.Get(context.Background(), b.in.Ref.Key(), kyma))
	return kyma
}

func (b *bench) manifests(t *testing.T) []v1beta2.Manifest {
	t.Helper()
	list := v1beta2.ManifestList{}
	require.NoError(t, b.Cluster.List(context.Background(), &list))
	return list.Items
}

func TestAReconcileWritesTheFinalizerFirstAndThenManifests(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda", "nowhere"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	result := b.reconcile(t)
	name := shared.ManifestName("kyma-sample", "kyma-project.io/module/keda", "keda")
	require.Equal(t, Result{
		Outcome: OutcomeDone, Channel: "regular", Created: []string{name}, Refused: 1, InputsDigest: result.InputsDigest, Wrote: result.Wrote,
		Begin: result.Begin,
	}, result)
	require.Len(t, result.Wrote, 1)
	require.Len(t, result.Begin, 1)
	require.Equal(t, name, result.Begin[0].Name)
	require.NotEmpty(t, result.InputsDigest)
	require.Equal(t, []string{"patch Kyma kyma-sample", "patch status Kyma kyma-sample", "apply Manifest " + name, "patch status Manifest " + name, "patch ModuleTemplate keda-regular"}, b.Cluster.Writes())

	kyma := b.read(t)
	require.Equal(t, []string{"operator.kyma-project.io/Kyma"}, kyma.Finalizers)
	require.Equal(t, "lifecycle-manager", kyma.Labels[shared.LabelManagedBy])
	require.Len(t, b.manifests(t), 1)
}

func TestWritesOfAReconcileAreCountedInUpstreamsMetric(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda", "btp"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), desiredtest.ChannelTemplate("btp", "regular", "1.0.0"))
	counted := map[requeue.Reason]int{}
	ctx := requeue.Counting(t.Context(), func(r requeue.Reason) { counted[r]++ })
	for range 2 {
		_, err := b.ResolveKyma(ctx, b.in)
		require.NoError(t, err)
		require.Equal(t, map[requeue.Reason]int{requeue.KymaLabelsAndFinalizers: 1, requeue.ManifestAddFinalizer: 2}, counted)
	}
}

func TestASteadyReconcileWritesNothing(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	first := b.reconcile(t)
	b.Cluster.Forget()
	second := b.reconcile(t)
	require.Empty(t, b.Cluster.Writes())
	require.Equal(t, first.InputsDigest, second.InputsDigest, "our own writes do not change the inputs")
	require.Equal(t, []string{
		"get Kyma kyma-sample", "list ManifestList", "list RemoteAgentList",
		// All of these reads come from the cache in production: the module, the modules offered in the remote cluster,
		// and the mandatory modules.
		"list ModuleReleaseMetaList", "list ModuleTemplateList", "list ModuleReleaseMetaList", "list ModuleTemplateList",
	}, b.Cluster.Reads())
}

func TestTheDigestIsTheOneThatWatchersCompute(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	result := b.reconcile(t)
	digest, err := desired.Inputs{
		Settings: desired.Settings{Mode: desired.ModeSingleCluster}, Index: desired.NewCached(b.Cluster), Secrets: fleet.Live(b.Cluster),
	}.Digest(context.Background(), b.read(t))
	require.NoError(t, err)
	require.Equal(t, digest, result.InputsDigest)
}

func TestAnUpgradeUpdatesOnlyTheManifestThatChanged(t *testing.T) {
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	b := newBench(t, desiredtest.Kyma("keda", "btp"), desired.Settings{}, template, desiredtest.ChannelTemplate("btp", "regular", "1.0.0"))
	b.reconcile(t)
	require.NoError(t, b.Cluster.Get(context.Background(), client.ObjectKeyFromObject(template), template))
	template.Spec.Descriptor = desiredtest.Descriptor("kyma-project.io/module/keda", "1.1.0")
	require.NoError(t, b.Cluster.Update(context.Background(), template))
	b.Cluster.Forget()
	result := b.reconcile(t)
	name := shared.ManifestName("kyma-sample", "kyma-project.io/module/keda", "keda")
	require.Equal(t, []string{name}, result.Updated)
	require.Equal(t, []string{"patch status Kyma kyma-sample", "apply Manifest " + name, "patch status Manifest " + name}, b.Cluster.Writes(),
		"the planned Manifest is recorded before")
}

// A Manifest written for a change of the whole fleet has a low priority, until a user's edit changes it.
func TestAManifestSaysWhetherAUserWaitsForIt(t *testing.T) {
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, template)
	marked := func(background bool) bool {
		t.Helper()
		b.in.Background = background
		b.reconcile(t)
		require.Len(t, b.manifests(t), 1)
		return b.manifests(t)[0].Annotations[origin.AnnotationBackground] == shared.ValueTrue
	}
	upgrade := func(version string) {
		t.Helper()
		require.NoError(t, b.Cluster.Get(context.Background(), client.ObjectKeyFromObject(template), template))
		template.Spec.Descriptor = desiredtest.Descriptor("kyma-project.io/module/keda", version)
		require.NoError(t, b.Cluster.Update(context.Background(), template))
	}
	require.False(t, marked(false))
	b.Cluster.Forget()
	require.False(t, marked(true))
	require.Empty(t, b.Cluster.Writes(), "the mark is written only with a change")
	upgrade("1.1.0")
	require.True(t, marked(true))
	require.True(t, marked(false), "the mark is written only with a change")
	upgrade("1.2.0")
	require.False(t, marked(false))
}

func TestRemovingAnEntryFromTheSpecDeletesItsManifest(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda", "btp"), desired.Settings{},
		desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), desiredtest.ChannelTemplate("btp", "regular", "1.0.0"))
	b.reconcile(t)
	b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Modules = k.Spec.Modules[:1] })
	result := b.reconcile(t)
	name := shared.ManifestName("kyma-sample", "kyma-project.io/module/btp", "btp")
	require.Equal(t, []string{name}, result.Deleted)
	for _, manifest := range b.manifests(t) {
		require.Equal(t, manifest.Name == name, !manifest.DeletionTimestamp.IsZero(), "%s: its finalizers hold what is deleted", manifest.Name)
	}
}

func TestAMissingCatalogRemovesNothing(t *testing.T) {
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, template)
	b.reconcile(t)
	require.NoError(t, b.Cluster.Delete(context.Background(), template))
	b.Cluster.Forget()
	result := b.reconcile(t)
	require.Equal(t, 1, result.Refused)
	require.Empty(t, b.Cluster.Writes())
	require.Len(t, b.manifests(t), 1)
}

func TestASkippedManifestStaysWhenItsEntryIsRemoved(t *testing.T) {
	left := installed("keda", "1.0.0")
	left.Labels[shared.LabelSkipReconciliation] = "true"
	left.Status.InstalledRef = "sha256:1"
	b := newBench(t, desiredtest.Kyma(), desired.Settings{}, left)
	require.Empty(t, b.reconcile(t).Deleted)
	require.Len(t, b.manifests(t), 1)
}

type refusals int

func (r *refusals) ManifestRefused() { *r++ }

// The process that refuses to install an unplanned Manifest counts it, unless the plan sees the Manifest first and
// removes it.
func TestAnUnplannedManifestIsCountedByTheFirstToSeeIt(t *testing.T) {
	meant, nobodys, refused := installed("keda", "1.0.0"), installed("nobodys", "1.0.0"), installed("refused", "1.0.0")
	meant.Name = "forged"
	refused.Status.Conditions = []metav1.Condition{{Type: string(shared.ConditionInstallation), Reason: manifests.ReasonNotPlanned}}
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), meant, nobodys, refused)
	var counted refusals
	b.Refused = &counted
	b.reconcile(t)
	require.EqualValues(t, 2, counted)
	left := b.manifests(t)
	require.Len(t, left, 1)
	require.NotNil(t, planned.Of(b.read(t), left[0].Name))
}

func TestAKymaThatMustNotBeReconciledStaysUnchanged(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1beta2.Kyma)
		ref    func(*kick.Ref)
		want   Outcome
	}{
		"another one of the same name": {ref: func(r *kick.Ref) { r.UID = "other" }, want: OutcomeGone},
		"it does not exist":            {ref: func(r *kick.Ref) { r.Name = "other" }, want: OutcomeGone},
		"skipped":                      {change: func(k *v1beta2.Kyma) { k.Labels[shared.LabelSkipReconciliation] = "true" }, want: OutcomeSkipped},
		"a synced copy":                {change: func(k *v1beta2.Kyma) { k.Annotations[desired.AnnotationSyncedFrom] = "a/b" }, want: OutcomeSkipped},
		"another instance's":           {change: func(k *v1beta2.Kyma) { k.Labels[shared.LabelManagedBy] = "other" }, want: OutcomeNotOurs},
		"being deleted, also if skipped": {change: func(k *v1beta2.Kyma) {
			now := metav1.Now()
			k.DeletionTimestamp, k.Finalizers = &now, []string{shared.FinalizerKyma}
			k.Labels[shared.LabelSkipReconciliation] = "true"
		}, want: OutcomeDeleting},
	} {
		t.Run(name, func(t *testing.T) {
			kyma := desiredtest.Kyma("keda")
			if test.change != nil {
				test.change(kyma)
			}
			b := newBench(t, kyma, desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
			if test.ref != nil {
				test.ref(&b.in.Ref)
			}
			require.Equal(t, Result{Outcome: test.want}, b.reconcile(t))
			require.Empty(t, b.Cluster.Writes())
		})
	}
}

func TestANonDefaultInstanceReconcilesOnlyItsOwnKymas(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{ManagedBy: "second"})
	require.Equal(t, OutcomeNotOurs, b.reconcile(t).Outcome)
	b.edit(t, func(k *v1beta2.Kyma) { k.Labels = map[string]string{shared.LabelManagedBy: "second"} })
	require.Equal(t, OutcomeDone, b.reconcile(t).Outcome)
}

func TestNothingChangesBeforeTheRemoteKymaIsImported(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{Mode: desired.ModeControlPlane},
		desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), installed("btp", "1.0.0"))
	result := b.reconcile(t)
	require.Equal(t, Result{Outcome: OutcomeDone, Synced: true, AwaitsSync: true, Channel: "regular"}, result)
	require.Equal(t, []string{"patch Kyma kyma-sample"}, b.Cluster.Writes())
}

func TestADescriptorIsFetchedIfNoneIsEmbedded(t *testing.T) {
	template := desiredtest.Template("fetched", "1.0.0")
	template.Spec.Descriptor = nil
	b := newBench(t, desiredtest.Kyma("fetched"), desired.Settings{DescriptorRepository: "registry.example.com/modules"},
		template, desiredtest.ReleaseMeta("fetched", "regular=1.0.0"))
	require.Len(t, b.reconcile(t).Created, 1)
	require.Equal(t, "registry.example.com/modules", b.manifests(t)[0].Spec.Install.Source.Repo)
}

func TestAComponentVersionMissingInTheRegistryIsRequestedAgain(t *testing.T) {
	template := desiredtest.Template("fetched", "1.1.0")
	template.Spec.Descriptor = nil
	b := newBench(t, desiredtest.Kyma("fetched"), desired.Settings{DescriptorRepository: "registry.example.com/modules"},
		template, desiredtest.ReleaseMeta("fetched", "regular=1.1.0"))
	before := time.Now()
	result := b.reconcile(t)
	require.Equal(t, 1, result.Refused)
	require.WithinRange(t, result.NextReconcile, before.Add(elsewhereCheck), time.Now().Add(elsewhereCheck))
	require.Equal(t, "the component version in the registry", result.NextReconcileFor)

	b.planner.Descriptors = registry{
		"registry.example.com/modules kyma-project.io/module/fetched:1.1.0": desiredtest.Descriptor("kyma-project.io/module/fetched", "1.1.0").Raw,
	}
	result = b.reconcile(t)
	require.Len(t, result.Created, 1)
	require.Zero(t, result.NextReconcile)
}

// A descriptor can be written so that only the OCM library finds the component's name in it. If no registry with
// transferred components is configured, its blobs are fetched from where the descriptor says.
func TestBlobsOfAnEmbeddedDescriptorAreFetchedFromItsRepository(t *testing.T) {
	template := desiredtest.Template("keda", "1.0.0")
	template.Spec.Descriptor.Raw = []byte(strings.Replace(string(template.Spec.Descriptor.Raw), "{", `{"metadata":5,`, 1))
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, template, desiredtest.ReleaseMeta("keda", "regular=1.0.0"))
	b.reconcile(t)
	require.Equal(t, "registry.example.com/modules", b.only(t).Spec.Install.Source.Repo)
}

func TestAManifestOfAnotherKymaIsNeverTakenOver(t *testing.T) {
	taken := installed("keda", "0.1.0")
	taken.Labels[shared.LabelKymaName] = "somebody"
	taken.OwnerReferences[0].UID = "somebody-uid"
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), taken)
	result := b.reconcile(t)
	require.Equal(t, fault.Rejected, result.Fault.Kind)
	require.Equal(t, versions.ReasonNameCollision, result.Fault.Reason)
	require.Empty(t, result.InputsDigest, "the reconcile is incomplete")
	require.Equal(t, "0.1.0", b.manifests(t)[0].Spec.Version)
}

func TestAFailedWriteOfOneManifestDoesNotStopTheOthers(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("btp", "keda"), desired.Settings{},
		desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), desiredtest.ChannelTemplate("btp", "regular", "1.0.0"))
	b.Cluster.Fail = func(verb, object string) error {
		if verb == "apply" && strings.Contains(object, "btp") {
			return apierrors.NewInternalError(errors.New("etcd is tired"))
		}
		return nil
	}
	_, err := b.ResolveKyma(context.Background(), b.in)
	require.Equal(t, fault.Transient, fault.Of(err).Kind)
	require.ErrorContains(t, err, "etcd is tired")
	require.Len(t, b.manifests(t), 1)
}

func TestAStaleCacheIsNotActedOn(t *testing.T) {
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, template)
	cached := desiredtest.ChannelTemplate("keda", "regular", "0.9.0")
	cached.ResourceVersion = "1"
	cache := desiredtest.NewCluster("cp", cached)
	b.planner.Catalog = cache
	b.in.Seen = []desired.Seen{{Kind: "ModuleTemplate", Namespace: template.Namespace, Name: template.Name, ResourceVersion: "999"}}
	b.reconcile(t)
	require.Equal(t, "1.0.0", b.manifests(t)[0].Spec.Version)
}

// only returns the only Manifest.
func (b *bench) only(t *testing.T) *v1beta2.Manifest {
	t.Helper()
	all := b.manifests(t)
	require.Len(t, all, 1)
	return &all[0]
}

// upgrade changes the version of the channel's template.
func (b *bench) upgrade(t *testing.T, template *v1beta2.ModuleTemplate, version string) {
	t.Helper()
	require.NoError(t, b.Cluster.Get(context.Background(), client.ObjectKeyFromObject(template), template))
	template.Spec.Descriptor = desiredtest.Descriptor(desiredtest.Component("keda"), version)
	require.NoError(t, b.Cluster.Update(context.Background(), template))
}

func TestAManifestHasItsFinalizersFromItsCreationAndKeepsThem(t *testing.T) {
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, template)
	b.reconcile(t)
	finalizers := []string{"declarative.kyma-project.io/finalizer", "label-removal-finalizer"}
	require.Equal(t, finalizers, b.only(t).Finalizers)

	b.upgrade(t, template, "1.1.0")
	require.Len(t, b.reconcile(t).Updated, 1)
	require.Equal(t, "1.1.0", b.only(t).Spec.Version)
	require.Equal(t, finalizers, b.only(t).Finalizers)
}

func TestARemovedFinalizerIsNotAddedAgain(t *testing.T) {
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, template)
	b.reconcile(t)
	released := b.only(t)
	released.Finalizers = []string{"label-removal-finalizer"}
	require.NoError(t, b.Cluster.Update(context.Background(), released))

	b.upgrade(t, template, "1.1.0")
	require.Len(t, b.reconcile(t).Updated, 1)
	require.Equal(t, []string{"label-removal-finalizer"}, b.only(t).Finalizers)
}

func TestAFinalizerRemovedDuringAReconcileIsNotAddedAgain(t *testing.T) {
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, template)
	b.reconcile(t)
	b.upgrade(t, template, "1.1.0")
	b.Cluster.Fail = func(verb, _ string) error {
		if verb == "apply" {
			b.Cluster.Fail = nil
			released := b.only(t)
			released.Finalizers = nil
			return b.Cluster.Update(context.Background(), released)
		}
		return nil
	}
	_, err := b.ResolveKyma(context.Background(), b.in)
	require.Equal(t, fault.Transient, fault.Of(err).Kind, "the reconcile is repeated")
	require.Empty(t, b.only(t).Finalizers)
	b.reconcile(t)
	require.Equal(t, "1.1.0", b.only(t).Spec.Version)
	require.Empty(t, b.only(t).Finalizers)
}

func TestAManifestThatLostItsLabelsGetsThemBack(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	bare := b.only(t)
	bare.Labels = nil
	require.NoError(t, b.Cluster.Update(context.Background(), bare))
	b.reconcile(t)
	require.Equal(t, "kyma-sample", b.only(t).Labels[shared.LabelKymaName])
	require.Equal(t, bare.UID, b.only(t).UID)
}

func TestValuesOfOthersInOurFieldsAreRemovedOnce(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	edited := b.only(t)
	edited.Annotations[shared.AnnotationRecreateDefaultCR] = "true"
	edited.Annotations["example.com/theirs"] = "stays"
	require.NoError(t, b.Cluster.Update(context.Background(), edited, client.FieldOwner("kubectl-edit")))
	require.Len(t, b.reconcile(t).Updated, 1)
	require.NotContains(t, b.only(t).Annotations, shared.AnnotationRecreateDefaultCR)
	require.Equal(t, "stays", b.only(t).Annotations["example.com/theirs"])
	b.Cluster.Forget()
	require.Empty(t, b.reconcile(t).Updated)
	require.Empty(t, b.Cluster.Writes())
}

// installed returns the Manifest of an installed module of the sample Kyma.
func installed(module, version string) *v1beta2.Manifest {
	return &v1beta2.Manifest{
		ObjectMeta: metav1.ObjectMeta{
			Name: shared.ManifestName("kyma-sample", desiredtest.Component(module), module), Namespace: desiredtest.Namespace,
			Labels: map[string]string{
				shared.LabelKymaName: "kyma-sample", shared.LabelModuleName: module, shared.LabelChannel: "regular",
			},
			Annotations:     map[string]string{shared.AnnotationOCMComponentName: desiredtest.Component(module)},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Kyma", Name: "kyma-sample", UID: "kyma-uid", Controller: new(true)}},
		},
		Spec: v1beta2.ManifestSpec{Version: version},
	}
}
