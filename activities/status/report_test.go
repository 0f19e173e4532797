package status

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

type noRegistry struct{}

func (noRegistry) FetchDescriptor(context.Context, string, string, string) ([]byte, error) {
	return nil, fault.New(fault.Rejected, "NotFound", "nothing here")
}

// bench is an instance with one Kyma that has been reconciled.
type bench struct {
	*Activities
	resolve         *resolve.Activities
	control, remote *desiredtest.Cluster
	in              ReportInput
	now             time.Time
	told            []string
	unreachable     error
}

func (b *bench) Reach(context.Context, string, string) (*clusters.Cluster, error) {
	if b.unreachable != nil {
		return nil, b.unreachable
	}
	return &clusters.Cluster{Client: b.remote}, nil
}

func (b *bench) Event(_ runtime.Object, eventType, reason, message string) {
	b.told = append(b.told, eventType+" "+reason+": "+message)
}

func (b *bench) AnnotatedEventf(_ runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any) {
	b.told = append(b.told, eventType+" "+reason+": "+fmt.Sprintf(format, args...)+" [hint: "+annotations[shared.AnnotationHint]+"]")
}

func newBench(t *testing.T, kyma *v1beta2.Kyma, mode desired.Mode, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{
		control: desiredtest.NewCluster("control-uid", append([]client.Object{kyma}, objects...)...),
		remote:  desiredtest.NewCluster("remote-uid"),
		in:      ReportInput{Ref: kick.RefOf(kyma)},
		now:     time.Date(2030, 1, 2, 3, 4, 5, 678, time.UTC),
	}
	settings := desired.Settings{Mode: mode}
	options := resolve.Options{Settings: settings, ControlPlane: b.control, Catalog: b.control, Descriptors: noRegistry{}}
	planner, err := resolve.NewPlanner(options)
	require.NoError(t, err)
	b.resolve, err = resolve.New(options)
	require.NoError(t, err)
	b.Activities, err = New(Options{
		Settings: settings, ControlPlane: b.control, Planner: planner, Clusters: b, Events: b,
		Now: func() time.Time { return b.now },
	})
	require.NoError(t, err)
	return b
}

// reconcile resolves the Kyma, like the workflow does before it reports.
func (b *bench) reconcile(t *testing.T) {
	t.Helper()
	result, err := b.resolve.ResolveKyma(context.Background(), resolve.Input{Ref: b.in.Ref})
	require.NoError(t, err)
	b.in.InputsDigest = result.InputsDigest
}

func (b *bench) report(t *testing.T) ReportResult {
	t.Helper()
	result, err := b.ReportKyma(context.Background(), b.in)
	require.NoError(t, err)
	return result
}

func (b *bench) kyma(t *testing.T) *v1beta2.Kyma {
	t.Helper()
	kyma := &v1beta2.Kyma{}
	require.NoError(t, b.control.Get(context.Background(), b.in.Ref.Key(), kyma))
	return kyma
}

// says sets the status of a module's Manifest.
func (b *bench) says(t *testing.T, module string, state shared.State, message string) {
	t.Helper()
	manifest := b.manifest(t, module)
	manifest.Status.State = state
	manifest.Status.ObservedGeneration = manifest.Generation
	manifest.Status.LastOperation = &v1beta2.LastOperation{Operation: message}
	require.NoError(t, b.control.Status().Update(context.Background(), manifest))
}

func (b *bench) manifest(t *testing.T, module string) *v1beta2.Manifest {
	t.Helper()
	manifest := &v1beta2.Manifest{}
	require.NoError(t, b.control.Get(context.Background(), types.NamespacedName{
		Namespace: desiredtest.Namespace, Name: shared.ManifestName("kyma-sample", desiredtest.Component(module), module),
	}, manifest))
	return manifest
}

func (b *bench) edit(t *testing.T, change func(*v1beta2.Kyma)) {
	t.Helper()
	kyma := b.kyma(t)
	change(kyma)
	require.NoError(t, b.control.Update(context.Background(), kyma))
}

func condition(kyma *v1beta2.Kyma, name string) metav1.Condition {
	found := meta.FindStatusCondition(kyma.Status.Conditions, name)
	if found == nil {
		return metav1.Condition{}
	}
	return *found
}

func TestTheStatusOfAKymaOnItsWayToReady(t *testing.T) {
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	template.Spec.Data = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"example.com/v1","kind":"Keda","metadata":{"name":"default"}}`)}
	b := newBench(t, desiredtest.Kyma("keda"), desired.ModeSingleCluster, template)
	b.reconcile(t)
	result := b.report(t)
	require.Equal(t, ReportResult{
		Outcome: OutcomeReported, State: "Processing", Channel: "regular", Message: "waiting for all modules to become ready",
		Modules: []Module{{Name: "keda", Version: "1.0.0", State: "Processing"}},
	}, result)
	kyma := b.kyma(t)
	require.Equal(t, "0/1", kyma.Status.ModulesReady)
	require.Equal(t, b.in.InputsDigest, kyma.Status.InputsDigest)
	require.Equal(t, kyma.Generation, kyma.Status.ObservedGeneration)
	require.Empty(t, kyma.Status.ActiveChannel)
	require.Equal(t, "not all modules are in ready state", condition(kyma, "Modules").Message)
	require.Len(t, kyma.Status.Conditions, 1, "the Kyma is not synchronized")

	b.says(t, "keda", shared.StateReady, "done")
	b.now = b.now.Add(time.Minute)
	result = b.report(t)
	require.Equal(t, shared.StateReady, result.State)
	require.False(t, result.NeedsReconcile)
	kyma = b.kyma(t)
	require.Equal(t, "regular", kyma.Status.ActiveChannel)
	require.Equal(t, "1/1", kyma.Status.ModulesReady)
	require.Equal(t, "kyma is ready", kyma.Status.LastOperation.Operation)
	modules := condition(kyma, "Modules")
	require.Equal(t, metav1.ConditionTrue, modules.Status)
	require.Equal(t, "Ready", modules.Reason)
	require.Equal(t, "all modules are in ready state", modules.Message)
	require.Equal(t, b.now.Truncate(time.Second), modules.LastTransitionTime.UTC())
	manifest := b.manifest(t, "keda")
	require.Equal(t, []v1beta2.ModuleStatus{{
		Name: "keda", FQDN: "kyma-project.io/module/keda", OCMComponentName: "kyma-project.io/module/keda",
		Channel: "regular", Version: "1.0.0", State: "Ready",
		Manifest: &v1beta2.TrackedObject{APIVersion: "operator.kyma-project.io/v1beta2", Kind: "Manifest",
			Metadata: v1beta2.TrackedMeta{Name: manifest.Name, Namespace: "kcp-system", Generation: 1}},
		Template: &v1beta2.TrackedObject{APIVersion: "operator.kyma-project.io/v1beta2", Kind: "ModuleTemplate",
			Metadata: v1beta2.TrackedMeta{Name: "keda-regular", Namespace: "kcp-system", Generation: 1}},
		Resource: &v1beta2.TrackedObject{APIVersion: "example.com/v1", Kind: "Keda",
			Metadata: v1beta2.TrackedMeta{Name: "default", Namespace: "kyma-system"}},
	}}, kyma.Status.Modules)
	require.Equal(t, []string{"Normal KymaReady: kyma is ready; module keda is ready in version 1.0.0"}, b.told)
}

func TestASecondReportWithoutChangesWritesNothingAndRecordsNoEvents(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda", "nowhere"), desired.ModeSingleCluster, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	b.says(t, "keda", shared.StateReady, "")
	b.report(t)
	b.control.Forget()
	b.told = nil
	b.now = b.now.Add(time.Hour)
	b.report(t)
	require.Empty(t, b.control.Writes())
	require.Empty(t, b.told)
	require.Equal(t, []string{"get Kyma kyma-sample", "list ManifestList"}, b.control.Reads()[:2])
}

func TestTransitionTimesMoveOnlyOnATransition(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda", "btp"), desired.ModeSingleCluster,
		desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), desiredtest.ChannelTemplate("btp", "regular", "1.0.0"))
	b.reconcile(t)
	b.report(t)
	since := condition(b.kyma(t), "Modules").LastTransitionTime
	operation := b.kyma(t).Status.LastOperation.LastUpdateTime
	b.now = b.now.Add(time.Hour)
	b.says(t, "keda", shared.StateReady, "")
	b.report(t)
	require.Equal(t, "1/2", b.kyma(t).Status.ModulesReady)
	require.True(t, since.Equal(ptr(condition(b.kyma(t), "Modules").LastTransitionTime)))
	require.True(t, operation.Equal(&b.kyma(t).Status.LastOperation.LastUpdateTime))
}

func ptr[T any](v T) *T { return &v }

func TestTheRowOfAModule(t *testing.T) {
	kedaTemplate := func() *v1beta2.ModuleTemplate { return desiredtest.ChannelTemplate("keda", "regular", "1.0.0") }
	tests := []struct {
		name    string
		change  func(*testing.T, *bench)
		state   shared.State
		version string
		message string
		kyma    shared.State
	}{
		{
			name:   "a module in Error makes the Kyma Error, with its message",
			change: func(t *testing.T, b *bench) { b.says(t, "keda", shared.StateError, "no such image") },
			state:  "Error", version: "1.0.0", message: "no such image", kyma: "Error",
		},
		{
			name: "a module in Warning", change: func(t *testing.T, b *bench) { b.says(t, "keda", shared.StateWarning, "look at me") },
			state: "Warning", version: "1.0.0", message: "look at me", kyma: "Warning",
		},
		{
			name: "a refused downgrade warns, and the installed version stays",
			change: func(t *testing.T, b *bench) {
				b.says(t, "keda", shared.StateReady, "")
				template := &v1beta2.ModuleTemplate{}
				require.NoError(t, b.control.Get(context.Background(), client.ObjectKeyFromObject(kedaTemplate()), template))
				template.Spec.Descriptor = desiredtest.Descriptor(desiredtest.Component("keda"), "0.9.0")
				require.NoError(t, b.control.Update(context.Background(), template))
			},
			state: "Warning", version: "1.0.0", kyma: "Warning",
			message: "module template update not allowed: ignore channel skew (from regular to regular), as a higher version (1.0.0) of the module was previously installed",
		},
		{
			name: "a module without its template is in Error, and its version is still known",
			change: func(t *testing.T, b *bench) {
				b.says(t, "keda", shared.StateReady, "")
				require.NoError(t, b.control.Delete(context.Background(), kedaTemplate()))
			},
			state: "Error", version: "1.0.0", message: "no ModuleReleaseMeta found", kyma: "Error",
		},
		{
			name: "Ready of an earlier generation is not Ready",
			change: func(t *testing.T, b *bench) {
				b.says(t, "keda", shared.StateReady, "")
				manifest := b.manifest(t, "keda")
				manifest.Spec.LocalizedImages = []string{"registry.example.com/keda:1.0.0"}
				require.NoError(t, b.control.Update(context.Background(), manifest))
			},
			state: "Processing", version: "1.0.0", message: "installing version 1.0.0", kyma: "Processing",
		},
		{
			name: "the message of an earlier generation is not shown",
			change: func(t *testing.T, b *bench) {
				b.says(t, "keda", shared.StateProcessing, "waiting for Deployment a/b to become ready")
				manifest := b.manifest(t, "keda")
				manifest.Spec.LocalizedImages = []string{"registry.example.com/keda:1.0.0"}
				require.NoError(t, b.control.Update(context.Background(), manifest))
			},
			state: "Processing", version: "1.0.0", kyma: "Processing",
		},
		{
			name: "the message from before a removal is not shown",
			change: func(t *testing.T, b *bench) {
				manifest := b.manifest(t, "keda")
				manifest.Finalizers = []string{shared.FinalizerManifest}
				require.NoError(t, b.control.Update(context.Background(), manifest))
				b.says(t, "keda", shared.StateReady, "module is ready")
				b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
				b.reconcile(t)
			},
			state: "Deleting", version: "1.0.0", kyma: "Processing",
		},
		{
			name:   "an unknown state is Processing",
			change: func(t *testing.T, b *bench) { b.says(t, "keda", "Invented", "") },
			state:  "Processing", version: "1.0.0", kyma: "Processing",
		},
		{
			name: "an unmanaged module does not count",
			change: func(t *testing.T, b *bench) {
				b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Modules[0].Managed = new(bool) })
				b.reconcile(t)
			},
			state: "Unmanaged", version: "1.0.0", kyma: "Ready",
		},
		{
			name: "a module removed from the spec is Deleting until its Manifest is gone",
			change: func(t *testing.T, b *bench) {
				manifest := b.manifest(t, "keda")
				manifest.Finalizers = []string{shared.FinalizerManifest}
				require.NoError(t, b.control.Update(context.Background(), manifest))
				b.report(t)
				b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
				b.reconcile(t)
			},
			state: "Deleting", version: "1.0.0", kyma: "Processing",
		},
		{
			name: "the row shows what blocks a removal",
			change: func(t *testing.T, b *bench) {
				manifest := b.manifest(t, "keda")
				manifest.Finalizers = []string{shared.FinalizerManifest}
				require.NoError(t, b.control.Update(context.Background(), manifest))
				b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
				b.reconcile(t)
				b.says(t, "keda", shared.StateWarning, "waiting for module crs deletion")
			},
			state: "Deleting", version: "1.0.0", message: "waiting for module crs deletion", kyma: "Processing",
		},
		{
			name: "a module that was listed again meanwhile waits",
			change: func(t *testing.T, b *bench) {
				manifest := b.manifest(t, "keda")
				manifest.Finalizers = []string{shared.FinalizerManifest}
				require.NoError(t, b.control.Update(context.Background(), manifest))
				require.NoError(t, b.control.Delete(context.Background(), manifest))
			},
			state: "Deleting", version: "1.0.0", message: "waits for the removal of its earlier installation", kyma: "Processing",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, desiredtest.Kyma("keda"), desired.ModeSingleCluster, kedaTemplate())
			b.reconcile(t)
			test.change(t, b)
			result := b.report(t)
			require.Equal(t, []Module{{Name: "keda", Version: test.version, State: test.state, Message: test.message}}, result.Modules)
			require.Equal(t, test.kyma, result.State)
			if test.kyma == shared.StateError || test.kyma == shared.StateWarning {
				require.Equal(t, "module keda: "+test.message, result.Message)
			}
		})
	}
}

// releaseManifest releases a Manifest under deletion, like its workflow does after the module is removed.
func (b *bench) releaseManifest(t *testing.T, manifest *v1beta2.Manifest) {
	t.Helper()
	now := &v1beta2.Manifest{}
	err := b.control.Get(context.Background(), client.ObjectKeyFromObject(manifest), now)
	if apierrors.IsNotFound(err) {
		return
	}
	require.NoError(t, err)
	now.Finalizers = nil
	require.NoError(t, b.control.Update(context.Background(), now))
}

func TestAModuleThatIsGoneIsNoLongerShown(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.ModeSingleCluster, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	b.report(t)
	manifest := b.manifest(t, "keda")
	b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
	b.reconcile(t)
	b.releaseManifest(t, manifest)
	b.told = nil
	result := b.report(t)
	require.Empty(t, result.Modules)
	require.Equal(t, shared.StateReady, result.State)
	require.Equal(t, "Normal ModuleRemoved: module keda is removed", b.told[0])
}

func TestAModuleThatItsKymaLeavesIsNotReportedAsRemoved(t *testing.T) {
	module := v1beta2.ModuleStatus{Name: "keda", Manifest: &v1beta2.TrackedObject{Metadata: v1beta2.TrackedMeta{Name: "kyma-keda"}}}
	before := v1beta2.KymaStatus{Modules: []v1beta2.ModuleStatus{module}}
	gone := transitions(before, v1beta2.KymaStatus{}, eventDetails{})
	require.Equal(t, EventModuleRemoved, gone[0].reason)
	left := v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Name: "kyma-keda"}, Status: v1beta2.ManifestStatus{InstalledRef: "sha256:1"}}
	stays := transitions(before, v1beta2.KymaStatus{}, eventDetails{orphans: orphans([]v1beta2.Manifest{left})})
	require.Equal(t, EventModuleLeft, stays[0].reason)
	require.Equal(t, "module keda stays installed, because its Kyma was deleted with --cascade=orphan and left Manifest kyma-keda", stays[0].message)
}

func TestAnUpgradeThatStaysReadyHasAnEvent(t *testing.T) {
	module := func(state shared.State, version string) v1beta2.KymaStatus {
		return v1beta2.KymaStatus{State: shared.StateReady, Modules: []v1beta2.ModuleStatus{{Name: "keda", State: state, Version: version}}}
	}
	told := transitions(module(shared.StateReady, "1.0.0"), module(shared.StateReady, "1.1.0"), eventDetails{})
	require.Len(t, told, 1)
	require.Equal(t, EventModuleReady, told[0].reason)
	require.Equal(t, "module keda is ready in version 1.1.0", told[0].message)
	require.Empty(t, transitions(module(shared.StateReady, "1.1.0"), module(shared.StateReady, "1.1.0"), eventDetails{}))
	require.Empty(t, transitions(module(shared.StateError, "1.0.0"), module(shared.StateError, "1.1.0"), eventDetails{}), "the same error was already recorded")
}

func TestARefusedModuleHasOneEventWithItsReason(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("nowhere"), desired.ModeSingleCluster)
	b.reconcile(t)
	b.report(t)
	b.report(t)
	require.Equal(t, []string{
		"Warning ModuleNotFound: module nowhere: no ModuleReleaseMeta found [hint: the catalog has no module nowhere: correct the name, or publish the module]",
		"Warning KymaError: module nowhere: no ModuleReleaseMeta found [hint: the catalog has no module nowhere: correct the name, or publish the module]",
	}, b.told)
}

func TestAnotherReconcileIsDue(t *testing.T) {
	template := func() *v1beta2.ModuleTemplate { return desiredtest.ChannelTemplate("keda", "regular", "1.0.0") }
	for name, change := range map[string]func(*testing.T, *bench){
		"an input changed": func(t *testing.T, b *bench) {
			b.edit(t, func(k *v1beta2.Kyma) { k.Labels[shared.LabelBeta] = "true" })
		},
		"a Manifest is missing": func(t *testing.T, b *bench) {
			manifest := b.manifest(t, "keda")
			require.NoError(t, b.control.Delete(context.Background(), manifest))
			b.releaseManifest(t, manifest)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, desiredtest.Kyma("keda"), desired.ModeSingleCluster, template())
			b.reconcile(t)
			require.False(t, b.report(t).NeedsReconcile)
			b.in.InputsDigest = ""
			change(t, b)
			require.True(t, b.report(t).NeedsReconcile)
		})
	}
}

func TestAReconcileForAPacedChangeIsDueAtTheKymasTurn(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.ModeSingleCluster, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.Settings.PacingSpan = 2 * time.Hour
	b.reconcile(t)
	b.report(t)
	b.in.InputsDigest = ""
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	require.NoError(t, b.control.Get(context.Background(), client.ObjectKeyFromObject(template), template))
	template.Labels[shared.LabelBeta] = "true"
	require.NoError(t, b.control.Update(context.Background(), template))

	result := b.report(t)
	require.True(t, result.NeedsReconcile)
	require.True(t, result.ReconcileAt.After(b.now))
	require.True(t, result.ReconcileAt.Before(b.now.Add(2*time.Hour)))

	b.Settings.PacingSpan = 0
	require.Zero(t, b.report(t).ReconcileAt)
	b.Settings.PacingSpan = 2 * time.Hour
	b.edit(t, func(k *v1beta2.Kyma) { k.Labels[shared.LabelBeta] = "true" })
	result = b.report(t)
	require.True(t, result.NeedsReconcile)
	require.Zero(t, result.ReconcileAt, "the Kyma itself changed too")
}

func TestARemovedManifestIsCreatedAgainDuringAPacedChange(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.ModeSingleCluster, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.Settings.PacingSpan = 2 * time.Hour
	b.reconcile(t)
	b.report(t)
	b.in.InputsDigest = ""
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	require.NoError(t, b.control.Get(context.Background(), client.ObjectKeyFromObject(template), template))
	template.Generation++
	require.NoError(t, b.control.Update(context.Background(), template))
	manifest := b.manifest(t, "keda")
	require.NoError(t, b.control.Delete(context.Background(), manifest))
	b.releaseManifest(t, manifest)

	require.NotZero(t, b.report(t).ReconcileAt)
	b.in.ManifestGone = true
	result := b.report(t)
	require.True(t, result.NeedsReconcile)
	require.Zero(t, result.ReconcileAt)
}

func TestAParkedReconcileRecordsTheCurrentInputs(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.ModeSingleCluster, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.in.Parked = true
	b.in.Faults = b.in.Faults.With(fault.PartResolve, fault.Fault{Kind: fault.Rejected, Reason: "X", Message: "cannot be"})
	result := b.report(t)
	require.Equal(t, shared.StateError, result.State)
	require.Equal(t, "cannot be", result.Message)
	require.NotEmpty(t, b.kyma(t).Status.InputsDigest)
}

// remoteBench returns a bench with a synchronized Kyma and its remote Kyma.
func remoteBench(t *testing.T) *bench {
	t.Helper()
	kyma := desiredtest.Accepted(desiredtest.Kyma(), v1beta2.SyncGenerationDefault, "regular", v1beta2.Module{Name: "keda"})
	kyma.Status.Remote.ObservedGeneration = 7
	b := newBench(t, kyma, desired.ModeControlPlane, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	require.NoError(t, b.remote.Create(context.Background(), &v1beta2.Kyma{
		ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "kyma-system", UID: "remote-kyma-uid"},
	}))
	b.in.Synced, b.in.Push = true, true
	b.reconcile(t)
	b.says(t, "keda", shared.StateReady, "")
	b.remote.Forget()
	return b
}

func (b *bench) remoteKyma(t *testing.T) *v1beta2.Kyma {
	t.Helper()
	kyma := &v1beta2.Kyma{}
	require.NoError(t, b.remote.Get(context.Background(), types.NamespacedName{Namespace: "kyma-system", Name: "default"}, kyma))
	return kyma
}

func TestTheStatusIsCopiedToTheRemoteKyma(t *testing.T) {
	b := remoteBench(t)
	result := b.report(t)
	require.Equal(t, shared.StateReady, result.State)
	require.True(t, result.Push.IsZero())
	require.Equal(t, []string{"patch status Kyma default"}, b.remote.Writes())
	require.Empty(t, b.remote.Reads(), "a changed status is written without reading the copy")
	here, there := b.kyma(t), b.remoteKyma(t)
	require.True(t, *here.Status.Remote.Reachable)
	for _, name := range []string{"Modules", "CRDsSync", "ModuleCatalog"} {
		require.Equal(t, metav1.ConditionTrue, condition(here, name).Status, name)
	}
	require.Equal(t, shared.StateReady, there.Status.State)
	require.Equal(t, "kyma-system", there.Status.Modules[0].Template.Metadata.Namespace)
	require.Nil(t, there.Status.Modules[0].Manifest)
	require.Nil(t, there.Status.Remote)
	require.Empty(t, there.Status.InputsDigest)
	require.EqualValues(t, 7, there.Status.ObservedGeneration)
	require.EqualValues(t, 7, condition(there, "Modules").ObservedGeneration)
	require.Equal(t, desired.RemoteStatus(here), there.Status)

	b.remote.Forget()
	b.control.Forget()
	b.report(t)
	require.Empty(t, b.remote.Writes())
	require.Empty(t, b.control.Writes())
	require.Equal(t, []string{"get Kyma default"}, b.remote.Reads())
}

func TestAnotherRemoteKymaWithTheSameNameGetsNoStatus(t *testing.T) {
	b := remoteBench(t)
	require.NoError(t, b.remote.Delete(context.Background(), b.remoteKyma(t)))
	require.True(t, b.report(t).Push.IsZero(), "a missing remote Kyma is left to the next synchronization")
	require.NoError(t, b.remote.Create(context.Background(), &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "kyma-system", UID: "new"}}))
	b.report(t)
	require.Empty(t, b.remoteKyma(t).Status.State)

	b.in.Faults = b.in.Faults.With(fault.PartSync, fault.Fault{Kind: fault.Transient, Reason: "Busy", Message: "also if the status has changed"})
	require.True(t, b.report(t).Push.IsZero())
	require.Empty(t, b.remoteKyma(t).Status.State)
}

// On a busy machine, a report within a workflow task may run out of time during a request to the cluster.
func TestAPushWithinAWorkflowTaskIsRetriedBeforeTheClusterIsBlamed(t *testing.T) {
	b := remoteBench(t)
	b.remote.Fail = func(string, string) error { return context.DeadlineExceeded }
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivity(b.ReportKyma)
	_, err := env.ExecuteLocalActivity(b.ReportKyma, b.in)
	require.Equal(t, fault.Transient, fault.FromTemporal(err).Kind, "%v", err)

	value, err := env.ExecuteActivity(b.ReportKyma, b.in)
	require.NoError(t, err)
	var result ReportResult
	require.NoError(t, value.Get(&result))
	require.Equal(t, "UnreachableTimeout", result.Push.Reason)
}

func TestAFailedPushDoesNotUndoTheReport(t *testing.T) {
	b := remoteBench(t)
	b.remote.Fail = func(string, string) error { return apierrors.NewUnauthorized("expired") }
	result := b.report(t)
	require.Equal(t, fault.Unreachable, result.Push.Kind)
	require.Equal(t, shared.StateReady, b.kyma(t).Status.State)
}

func TestModulesOfAnUnreachableClusterShowErrorAndTheirLastState(t *testing.T) {
	b := remoteBench(t)
	b.report(t)
	b.in.Push, b.in.InputsDigest = false, ""
	b.in.Faults = b.in.Faults.With(fault.PartSync, fault.Fault{Kind: fault.Unreachable, Reason: "UnreachableTimeout", Message: "the cluster does not answer"})
	since := b.now.Add(time.Minute)
	b.now = since
	result := b.report(t)
	require.Equal(t, shared.StateError, result.State)
	require.Equal(t, "the cluster does not answer", result.Message)
	require.Equal(t, shared.StateError, result.Modules[0].State)
	require.Equal(t, "last known state Ready: the cluster cannot be reached since "+since.UTC().Format(time.RFC3339), result.Modules[0].Message)
	kyma := b.kyma(t)
	require.Equal(t, metav1.ConditionFalse, condition(kyma, "CRDsSync").Status)
	require.Equal(t, "CRDs are not synchronized to the SKR", condition(kyma, "CRDsSync").Message)
	require.Equal(t, metav1.ConditionFalse, condition(kyma, "Modules").Status)
	require.False(t, *kyma.Status.Remote.Reachable)
	require.Equal(t, "UnreachableTimeout", kyma.Status.Remote.Reason)
	require.Equal(t, since.Truncate(time.Second), kyma.Status.Remote.Since.UTC())

	b.now = b.now.Add(time.Hour)
	tls := b.in.Faults[fault.PartSync]
	tls.Reason = "UnreachableTLS"
	b.in.Faults = b.in.Faults.With(fault.PartSync, tls)
	b.report(t)
	kyma = b.kyma(t)
	require.Equal(t, "UnreachableTLS", kyma.Status.Remote.Reason)
	require.Equal(t, since.Truncate(time.Second), kyma.Status.Remote.Since.UTC(), "since it was first found unreachable")

	b.in.Faults, b.in.Push = b.in.Faults.With(fault.PartSync, fault.Fault{}), true
	require.Equal(t, shared.StateReady, b.report(t).State)
	kyma = b.kyma(t)
	require.Empty(t, kyma.Status.Modules[0].Message)
	require.True(t, *kyma.Status.Remote.Reachable)
	require.Nil(t, kyma.Status.Remote.Since)
	require.Empty(t, kyma.Status.Remote.Reason)
}

// The place of the remote Kyma stays open until the first synchronization, but the reason for the failure is reported
// immediately.
func TestAKymaReportsWhyItsClusterWasNeverReached(t *testing.T) {
	for _, f := range []fault.Fault{
		{Kind: fault.Unreachable, Reason: clusters.ReasonUnreachableTimeout, Message: "no answer"},
		{Kind: fault.Unreachable, Reason: clusters.ReasonAccessSecretNotFound, Message: "no Secret"},
		{Kind: fault.Rejected, Reason: clusters.ReasonKubeconfigRejected, Message: "exec"},
		{Kind: fault.Rejected, Reason: clusters.ReasonAccessSecretAmbiguous, Message: "two Secrets"},
	} {
		b := newBench(t, desiredtest.Kyma(), desired.ModeControlPlane)
		b.in.Faults = b.in.Faults.With(fault.PartSync, f)
		b.report(t)
		kyma := b.kyma(t)
		require.Equal(t, f.Reason, kyma.Status.Remote.Reason)
		require.False(t, *kyma.Status.Remote.Reachable)
		require.NotNil(t, kyma.Status.Remote.Since)
		require.False(t, desired.Placed(kyma))
	}
}

func TestFaultsOfPartsShowInTheirConditions(t *testing.T) {
	broken := fault.Fault{Kind: fault.Rejected, Reason: "X", Message: "is broken"}
	for name, test := range map[string]struct {
		set  func(*ReportInput)
		want map[string]metav1.ConditionStatus
	}{
		"definitions": {func(in *ReportInput) { in.Faults = in.Faults.With(fault.PartDefinitions, broken) }, map[string]metav1.ConditionStatus{"CRDsSync": "False", "ModuleCatalog": "True", "Modules": "True"}},
		"catalog":     {func(in *ReportInput) { in.Faults = in.Faults.With(fault.PartCatalog, broken) }, map[string]metav1.ConditionStatus{"CRDsSync": "True", "ModuleCatalog": "False", "Modules": "True"}},
		"resolve":     {func(in *ReportInput) { in.Faults = in.Faults.With(fault.PartResolve, broken) }, map[string]metav1.ConditionStatus{"CRDsSync": "True", "ModuleCatalog": "True", "Modules": "False"}},
		"a refused edit in the remote Kyma": {func(in *ReportInput) { in.Faults = in.Faults.With(fault.PartInvalid, broken) },
			map[string]metav1.ConditionStatus{"CRDsSync": "True", "ModuleCatalog": "True", "Modules": "True"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := remoteBench(t)
			test.set(&b.in)
			result := b.report(t)
			require.Equal(t, shared.StateError, result.State)
			require.Equal(t, "is broken", result.Message)
			for condition, want := range test.want {
				found := meta.FindStatusCondition(b.remoteKyma(t).Status.Conditions, condition)
				require.NotNil(t, found)
				require.Equal(t, want, found.Status, condition)
			}
		})
	}
}

func TestAPendingPartIsNotAnError(t *testing.T) {
	b := remoteBench(t)
	b.in.Faults = b.in.Faults.With(fault.PartCatalog, fault.Fault{Kind: fault.Pending, Reason: "CatalogContinues", Message: "the module catalog is being copied"})
	result := b.report(t)
	require.Equal(t, shared.StateProcessing, result.State)
	require.Equal(t, "the module catalog is being copied", result.Message)
	require.Equal(t, metav1.ConditionFalse, condition(b.kyma(t), "ModuleCatalog").Status)

	b.in.Faults = b.in.Faults.With(fault.PartPullSecret, fault.Fault{Kind: fault.Rejected, Reason: "X", Message: "is broken"})
	result = b.report(t)
	require.Equal(t, shared.StateError, result.State)
	require.Equal(t, "is broken", result.Message, "a fault that people can fix comes first")
}

func TestTheImagePullSecretHasAConditionOnlyIfConfigured(t *testing.T) {
	condition := string(shared.ConditionSKRImagePullSecretSync)
	b := newBench(t, desiredtest.Accepted(desiredtest.Kyma(), v1beta2.SyncGenerationDefault, "regular"), desired.ModeControlPlane)
	b.report(t)
	require.Nil(t, meta.FindStatusCondition(b.kyma(t).Status.Conditions, condition))

	b.Settings.ImagePullSecret = "pull"
	b.in.Faults = b.in.Faults.With(fault.PartPullSecret, fault.Fault{Kind: fault.Rejected, Reason: "ImagePullSecretNotFound", Message: "there is no image pull Secret kcp-system/pull"})
	b.report(t)
	status := b.kyma(t).Status
	require.Equal(t, metav1.ConditionFalse, meta.FindStatusCondition(status.Conditions, condition).Status)
	require.Equal(t, shared.StateError, status.State)
	require.Equal(t, "there is no image pull Secret kcp-system/pull", status.LastOperation.Operation)

	b.in.Faults = b.in.Faults.With(fault.PartPullSecret, fault.Fault{})
	b.report(t)
	status = b.kyma(t).Status
	require.Equal(t, metav1.ConditionTrue, meta.FindStatusCondition(status.Conditions, condition).Status)
	require.Equal(t, "skr image pull secret is synchronized", meta.FindStatusCondition(status.Conditions, condition).Message)

	b.Settings.ImagePullSecret = ""
	b.report(t)
	require.Nil(t, meta.FindStatusCondition(b.kyma(t).Status.Conditions, condition))
}

func TestWithoutACatalogThereIsNoConditionForIt(t *testing.T) {
	b := remoteBench(t)
	b.report(t)
	on, off := true, false
	b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Sync = &v1beta2.Sync{Enabled: &on, ModuleCatalog: &off} })
	b.report(t)
	require.Empty(t, condition(b.kyma(t), "ModuleCatalog").Type)
	require.NotEmpty(t, condition(b.kyma(t), "CRDsSync").Type)
}

func TestTheFirstOperationBeforeASynchronizationIsStartedProcessing(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.ModeControlPlane, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	result := b.report(t)
	require.Equal(t, shared.StateProcessing, result.State)
	require.Equal(t, "started processing", result.Message)
	require.False(t, result.NeedsReconcile)
	require.Empty(t, result.Modules)
}

func TestTheStatusOfADeletion(t *testing.T) {
	b := remoteBench(t)
	b.report(t)
	manifest := b.manifest(t, "keda")
	manifest.Finalizers = []string{shared.FinalizerManifest}
	require.NoError(t, b.control.Update(context.Background(), manifest))
	require.NoError(t, b.control.Delete(context.Background(), b.kyma(t)))
	b.in.InputsDigest = ""
	result := b.report(t)
	require.Equal(t, shared.StateDeleting, result.State)
	require.True(t, result.Deleting)
	require.False(t, result.NeedsReconcile)
	require.Equal(t, "waiting for modules to be deleted: keda", result.Message)
	require.Equal(t, shared.StateDeleting, result.Modules[0].State)
	require.Equal(t, shared.StateDeleting, b.remoteKyma(t).Status.State)

	released, err := b.ReleaseKyma(context.Background(), ReleaseInput{Ref: b.in.Ref})
	require.NoError(t, err)
	require.Equal(t, OutcomeBlocked, released.Outcome)

	manifest = b.manifest(t, "keda")
	manifest.Finalizers = nil
	require.NoError(t, b.control.Update(context.Background(), manifest))
	require.NoError(t, b.control.Delete(context.Background(), manifest))
	b.in.Waiting = "the remote cluster cannot be cleaned up"
	require.Equal(t, "the remote cluster cannot be cleaned up", b.report(t).Message)
	released, err = b.ReleaseKyma(context.Background(), ReleaseInput{Ref: b.in.Ref})
	require.NoError(t, err)
	require.Equal(t, OutcomeReleased, released.Outcome)
	require.True(t, apierrors.IsNotFound(b.control.Get(context.Background(), b.in.Ref.Key(), &v1beta2.Kyma{})))
	released, err = b.ReleaseKyma(context.Background(), ReleaseInput{Ref: b.in.Ref})
	require.NoError(t, err)
	require.Equal(t, OutcomeGone, released.Outcome)
}

func TestAKymaThatIsNotBeingDeletedIsNotReleased(t *testing.T) {
	b := newBench(t, desiredtest.Kyma(), desired.ModeSingleCluster)
	b.reconcile(t)
	b.control.Forget()
	result, err := b.ReleaseKyma(context.Background(), ReleaseInput{Ref: b.in.Ref})
	require.NoError(t, err)
	require.Equal(t, OutcomeReported, result.Outcome)
	require.Empty(t, b.control.Writes())
}

func TestAnotherKymaIsNotReported(t *testing.T) {
	b := newBench(t, desiredtest.Kyma(), desired.ModeSingleCluster)
	b.in.Ref.UID = "other"
	require.Equal(t, ReportResult{Outcome: OutcomeGone}, b.report(t))
	require.Empty(t, b.control.Writes())
}

func TestASkippedKymaKeepsItsStatusAndShowsThatItIsSkipped(t *testing.T) {
	kyma := desiredtest.Kyma()
	kyma.Labels[shared.LabelSkipReconciliation] = "true"
	kyma.Status.State = shared.StateReady
	b := newBench(t, kyma, desired.ModeSingleCluster)
	result := b.report(t)
	require.Contains(t, result.Message, "operator.kyma-project.io/skip-reconciliation", "the message is shown in Temporal's UI")
	status := b.kyma(t).Status
	require.Equal(t, shared.StateReady, status.State)
	require.Equal(t, result.Message, status.LastOperation.Operation)
	b.control.Forget()
	b.report(t)
	require.Empty(t, b.control.Writes(), "the status is written once")

	freed := b.kyma(t)
	delete(freed.Labels, shared.LabelSkipReconciliation)
	require.NoError(t, b.control.Update(context.Background(), freed))
	require.True(t, b.report(t).NeedsReconcile, "changes during the skip require a reconcile")
}

func TestAConflictIsRetried(t *testing.T) {
	b := newBench(t, desiredtest.Kyma(), desired.ModeSingleCluster)
	b.control.Fail = func(verb, object string) error {
		if verb == "patch status" {
			return apierrors.NewConflict(v1beta2.GroupVersion.WithResource("kymas").GroupResource(), "kyma-sample", errors.New("changed"))
		}
		return nil
	}
	_, err := b.ReportKyma(context.Background(), b.in)
	require.Equal(t, fault.Transient, fault.Of(err).Kind)
	require.Empty(t, b.told, "a failed write records no Events")
}

func TestAModuleIsNotReadyBeforeItsPlannedUpgrade(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.ModeSingleCluster, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	b.says(t, "keda", shared.StateReady, "module is ready")
	manifest := b.manifest(t, "keda")
	manifest.Generation++
	manifest.Spec.Version = "1.1.0"
	require.NoError(t, b.control.Update(context.Background(), manifest))
	manifest = b.manifest(t, "keda")
	manifest.Status.InstalledVersion, manifest.Status.ObservedGeneration = "1.0.0", manifest.Generation-1
	require.NoError(t, b.control.Status().Update(context.Background(), manifest))

	row := v1beta2.ModuleStatus{}
	fillFromManifest(&row, b.manifest(t, "keda"))
	require.Equal(t, shared.StateProcessing, row.State)
	require.Equal(t, "upgrading from 1.0.0 to version 1.1.0", row.Message)
}
