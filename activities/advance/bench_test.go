package advance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// begun is when the rollouts of these tests begin.
var begun = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bench is the activity with an in-memory control plane, which its informers show too.
type bench struct {
	*Activities
	client.Client
	t      *testing.T
	events *record.FakeRecorder
	writes []client.Object
	now    time.Time
	// fails, if set, is called before every request.
	fails func(verb string, object runtime.Object) error
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{t: t, events: record.NewFakeRecorder(20), now: begun}
	b.Client = interceptor.NewClient(inMemory(t, objects...), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := b.ask("get", o); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := b.ask("list", list); err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := b.ask("patch", o); err != nil {
				return err
			}
			b.writes = append(b.writes, o)
			return c.SubResource(sub).Patch(ctx, o, patch, opts...)
		},
	})
	var err error
	b.Activities, err = New(Options{
		Settings:     desired.Settings{Mode: desired.ModeSingleCluster},
		ControlPlane: b.Client, Informers: b.Client, Events: b.events, Clock: func() time.Time { return b.now },
	})
	require.NoError(t, err)
	return b
}

// inMemory returns an in-memory API server with the indexes of the informers.
func inMemory(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	return fleettest.Indexed(fake.NewClientBuilder().WithScheme(scheme)).WithObjects(objects...).WithStatusSubresource(&v1beta2.ModuleRollout{}).
		WithIndex(&v1beta2.Kyma{}, desired.IndexKymaReferences, desired.KymaReferencesIndexer).
		WithIndex(&v1beta2.ModuleTemplate{}, desired.IndexTemplateKeys, desired.TemplateKeysIndexer).
		WithIndex(&v1beta2.ModuleReleaseMeta{}, desired.IndexReleaseMetaKeys, desired.ReleaseMetaKeysIndexer).
		WithIndex(&v1beta2.ModuleRollout{}, desired.IndexRolloutModule, desired.RolloutModuleIndexer).Build()
}

func (b *bench) ask(verb string, object runtime.Object) error {
	if b.fails == nil {
		return nil
	}
	return b.fails(verb, object)
}

// informersKnow limits the informers to these objects.
func (b *bench) informersKnow(objects ...client.Object) { b.Informers = inMemory(b.t, objects...) }

// step takes one step of a rollout, and updates r from the control plane.
func (b *bench) step(r *v1beta2.ModuleRollout) Out {
	b.t.Helper()
	out, err := b.AdvanceRollout(b.t.Context(), In{Ref: kick.RefOf(r)})
	require.NoError(b.t, err)
	require.NoError(b.t, b.Get(b.t.Context(), client.ObjectKeyFromObject(r), r))
	if !out.Until.IsZero() {
		out.Until = out.Until.UTC()
	}
	return out
}

// recorded returns the Events since the last call.
func (b *bench) recorded() []string {
	var all []string
	for len(b.events.Events) > 0 {
		all = append(all, <-b.events.Events)
	}
	return all
}

func changed[T any](object T, changes ...func(T)) T {
	for _, change := range changes {
		change(object)
	}
	return object
}

// rolloutTo returns the rollout of a version of keda to the channel regular, created for a policy. It has the stage
// canary and the rest.
func rolloutTo(version string, changes ...func(*v1beta2.ModuleRollout)) *v1beta2.ModuleRollout {
	return changed(&v1beta2.ModuleRollout{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: desiredtest.Namespace, Name: "keda-regular-" + version, UID: types.UID("to-" + version), Generation: 1,
			CreationTimestamp: metav1.NewTime(begun.Add(-time.Hour)),
		},
		Spec: v1beta2.ModuleRolloutSpec{
			ModuleName: "keda", Channel: "regular", From: "1.0.0", To: version, Policy: "all", Sequence: 2,
			Plan: v1beta2.RolloutPlan{Stages: []v1beta2.RolloutStage{
				{Name: "canary", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "canary"}}},
			}},
		},
	}, changes...)
}

func mandatory(r *v1beta2.ModuleRollout) { r.Spec.Channel = "" }

func withoutPolicy(r *v1beta2.ModuleRollout) { r.Spec.Policy, r.Spec.Sequence = "", 0 }

func sequence(n int64) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) { r.Spec.Sequence = n }
}

// ofAnotherInstance marks an object as another instance's.
func ofAnotherInstance[T client.Object](object T) {
	object.SetLabels(map[string]string{shared.LabelManagedBy: "another"})
}

func deleted[T client.Object](object T) {
	object.SetDeletionTimestamp(new(metav1.NewTime(begun)))
	object.SetFinalizers([]string{"theirs/stays"})
}

func elsewhere[T client.Object](object T) { object.SetNamespace("elsewhere") }

// cluster returns a Kyma that has keda from the channel regular.
func cluster(name string, changes ...func(*v1beta2.Kyma)) *v1beta2.Kyma {
	kyma := desiredtest.Kyma("keda")
	kyma.Name, kyma.UID = name, types.UID("uid-"+name)
	return changed(kyma, changes...)
}

func canary(kyma *v1beta2.Kyma) { kyma.Labels["stage"] = "canary" }

// installed returns a cluster's Manifest of keda, ready in a version.
func installed(kyma *v1beta2.Kyma, version string, changes ...func(*v1beta2.Manifest)) *v1beta2.Manifest {
	m := &v1beta2.Manifest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: kyma.Namespace, Name: kyma.Name + "-keda", UID: types.UID("manifest-" + kyma.Name), Generation: 3,
			CreationTimestamp: metav1.NewTime(begun.Add(-24 * time.Hour)),
			Labels:            map[string]string{shared.LabelModuleName: "keda", shared.LabelChannel: "regular"}, Annotations: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(kyma, v1beta2.GroupVersion.WithKind(shared.KindKyma))},
		},
		Spec: v1beta2.ManifestSpec{Version: version},
		Status: v1beta2.ManifestStatus{
			State: shared.StateReady, ObservedGeneration: 3, InstalledVersion: version,
		},
	}
	m.Spec.Install.Source.Ref = "sha256:" + version
	return changed(m, changes...)
}
