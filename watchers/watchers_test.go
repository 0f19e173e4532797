package watchers

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace/noop"
	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// sent is a delivered kick.
type sent struct {
	to   string
	kick kick.Kick
}

// recorder records kicks in place of Temporal.
type recorder struct {
	mu   sync.Mutex
	sent []sent
	// asked holds the workflows that received kicks for Manifests; unowned holds the Manifests that the leader settled.
	asked   []string
	unowned []kick.Ref
}

func (r *recorder) add(to string, k kick.Kick) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, sent{to, k})
	return nil
}

// count returns the number of kicks so far. It is safe for concurrent use.
func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sent)
}

func (r *recorder) Kyma(_ context.Context, ref kick.Ref, k kick.Kick) error {
	return r.add(kick.KymaWorkflowID(ref), k)
}

func (r *recorder) Manifest(_ context.Context, kyma, ref kick.Ref, k kick.Kick) error {
	r.mu.Lock()
	r.asked = append(r.asked, kick.KymaWorkflowID(kyma))
	r.mu.Unlock()
	return r.add(manifestID(ref), k)
}

func (r *recorder) SettleUnowned(_ context.Context, ref kick.Ref) error {
	r.unowned = append(r.unowned, ref)
	return nil
}

func (r *recorder) Rollout(_ context.Context, ref kick.Ref, k kick.Kick) error {
	return r.add(kick.RolloutWorkflowID(ref), k)
}

func (r *recorder) Watcher(_ context.Context, ref kick.Ref, k kick.Kick) error {
	return r.add(kick.WatcherWorkflowID(ref), k)
}

func (r *recorder) OpenKyma(_ context.Context, ref kick.Ref, k kick.Kick) error {
	return r.add("open "+kick.KymaWorkflowID(ref), k)
}

func (r *recorder) SignalOpen(_ context.Context, id string, k kick.Kick) error {
	return r.add("open "+id, k)
}

// inputs returns the same digest for every Kyma.
type inputs string

func (i inputs) Digest(context.Context, *v1beta2.Kyma) (string, error) { return string(i), nil }

type evictions []string

func (e *evictions) Evict(namespace, name, version string) {
	*e = append(*e, namespace+"/"+name+"@"+version)
}

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func newWatcher(t *testing.T, objects ...client.Object) (*watcher, *recorder, *evictions) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	kicks, evicted := &recorder{}, &evictions{}
	return &watcher{
		Options: Options{
			Settings: desired.Settings{PacingSpan: time.Hour}.WithDefaults(), Kicks: kicks, Inputs: inputs("now"), Clusters: evicted, Unowned: kicks,
			KickLimit: rate.NewLimiter(rate.Inf, 1), Now: func() time.Time { return now },
			Tracer: noop.NewTracerProvider().Tracer(""),
		},
		reader: fleettest.Indexed(fake.NewClientBuilder().WithScheme(scheme)).WithObjects(objects...).Build(),
		pacer:  newPacer(1, func() time.Time { return now }),
	}, kicks, evicted
}

func kymaWith(change func(*v1beta2.Kyma)) *v1beta2.Kyma {
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "demo", UID: "uid", Generation: 2}}
	kyma.Status.ObservedGeneration, kyma.Status.InputsDigest = 2, "now"
	if change != nil {
		change(kyma)
	}
	return kyma
}

var demo = kick.Ref{Namespace: "kcp-system", Name: "demo", UID: "uid"}

func TestWhomAKymaEventKicks(t *testing.T) {
	cases := map[string]struct {
		kyma   *v1beta2.Kyma
		req    kymaRequest
		reason string
	}{
		"a Kyma with known inputs is not kicked": {kyma: kymaWith(nil), req: kymaRequest{Ref: demo}},
		"a changed Kyma is urgent": {
			kyma: kymaWith(func(k *v1beta2.Kyma) { k.Status.InputsDigest = "before" }), req: kymaRequest{Ref: demo, Own: true},
			reason: "Kyma changed",
		},
		"a spec that changed while no leader was watching is urgent": {
			kyma: kymaWith(func(k *v1beta2.Kyma) { k.Status.InputsDigest, k.Generation = "before", 3 }), req: kymaRequest{Ref: demo},
			reason: "Kyma changed",
		},
		"a deletion is urgent, whatever the digest": {
			kyma: kymaWith(func(k *v1beta2.Kyma) {
				k.DeletionTimestamp, k.Finalizers = &metav1.Time{Time: now}, []string{"operator.kyma-project.io/Kyma"}
			}),
			req: kymaRequest{Ref: demo}, reason: "Kyma is being deleted",
		},
		"a Kyma of another instance is left unchanged": {
			kyma: kymaWith(func(k *v1beta2.Kyma) {
				k.Labels, k.Status.InputsDigest = map[string]string{"operator.kyma-project.io/managed-by": "another"}, "before"
			}),
			req: kymaRequest{Ref: demo, Own: true},
		},
		"a synced copy is left unchanged": {
			kyma: kymaWith(func(k *v1beta2.Kyma) {
				k.Annotations, k.Status.InputsDigest = map[string]string{desired.AnnotationSyncedFrom: "kcp-system/other"}, "before"
			}),
			req: kymaRequest{Ref: demo, Own: true},
		},
		"another Kyma of the same name is not the one that changed": {
			kyma: kymaWith(func(k *v1beta2.Kyma) { k.UID, k.Status.InputsDigest = "another", "before" }), req: kymaRequest{Ref: demo, Own: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, kicks, _ := newWatcher(t, tc.kyma)
			_, err := w.kickKyma(t.Context(), tc.req)
			require.NoError(t, err)
			if tc.reason == "" {
				require.Empty(t, kicks.sent)
				return
			}
			require.Len(t, kicks.sent, 1)
			got := kicks.sent[0]
			require.Equal(t, "kyma/kcp-system/demo/uid", got.to)
			require.Equal(t, tc.reason, got.kick.Reason)
			require.True(t, got.kick.Urgent)
		})
	}
}

func TestEveryLeaderPacesACatalogChangeEqually(t *testing.T) {
	early, late := time.Hour, time.Duration(0)
	for i := range 100 {
		kyma := kymaWith(func(k *v1beta2.Kyma) { k.UID = types.UID(string(rune('a'+i%26)) + string(rune('a'+i/26))) })
		delay := desired.PacingDelay(kyma.UID, "digest", time.Hour)
		require.Equal(t, delay, desired.PacingDelay(kyma.UID, "digest", time.Hour))
		early, late = min(early, delay), max(late, delay)
	}
	require.Less(t, early, 10*time.Minute)
	require.Greater(t, late, 50*time.Minute)
	require.Less(t, late, time.Hour)
	require.Zero(t, desired.PacingDelay("uid", "digest", 0))
}

func TestAKymaThatIsGoneWakesOnlyAnOpenWorkflow(t *testing.T) {
	w, kicks, _ := newWatcher(t)
	_, err := w.kickKyma(t.Context(), kymaRequest{Ref: demo, Gone: true})
	require.NoError(t, err)
	require.Equal(t, "open kyma/kcp-system/demo/uid", kicks.sent[0].to)
}

func TestAManifestThatIsGoneAlsoKicksANewKymaOfTheSameName(t *testing.T) {
	successor := kymaWith(func(k *v1beta2.Kyma) { k.UID = "successor" })
	w, kicks, _ := newWatcher(t, successor)
	_, err := w.kickManifest(t.Context(), gone(manifestWith(nil), "1"))
	require.NoError(t, err)
	var to []string
	for _, sent := range kicks.sent {
		to = append(to, sent.to)
	}
	require.Contains(t, to, "open kyma/kcp-system/demo/uid")
	require.Contains(t, to, "open kyma/kcp-system/demo/successor")
}

func manifestWith(change func(*v1beta2.Manifest)) *v1beta2.Manifest {
	controls := true
	m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kcp-system", Name: "demo-m", UID: "m-uid", Generation: 1,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "operator.kyma-project.io/v1beta2", Kind: "Kyma", Name: "demo", UID: "uid", Controller: &controls}},
	}}
	m.Status.Settled, m.Status.InputsDigest = true, manifests.InputsDigest(m)
	if change != nil {
		change(m)
	}
	return m
}

func TestWhomAManifestEventKicks(t *testing.T) {
	cases := map[string]struct {
		manifest *v1beta2.Manifest
		reason   string
		deleting bool
		urgent   bool
	}{
		"a settled one kicks nobody": {manifest: manifestWith(nil)},
		"a changed one":              {manifest: manifestWith(func(m *v1beta2.Manifest) { m.Generation = 2 }), reason: "Manifest changed", urgent: true},
		"one changed for the whole fleet": {manifest: manifestWith(func(m *v1beta2.Manifest) {
			m.Generation, m.Annotations = 2, map[string]string{"operator.kyma-project.io/background": "true"}
		}), reason: "Manifest changed"},
		"one that was left unfinished": {manifest: manifestWith(func(m *v1beta2.Manifest) { m.Status.Settled = false }), reason: "Manifest is not settled"},
		"one under deletion": {manifest: manifestWith(func(m *v1beta2.Manifest) {
			m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: now}, []string{"declarative.kyma-project.io/finalizer"}
		}), reason: "Manifest is being deleted", deleting: true, urgent: true},
		"one of another instance": {manifest: manifestWith(func(m *v1beta2.Manifest) {
			m.Generation, m.Labels = 2, map[string]string{"operator.kyma-project.io/managed-by": "another"}
		})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, kicks, _ := newWatcher(t, tc.manifest)
			_, err := w.kickManifest(t.Context(), manifestRequest{Ref: kick.RefOf(tc.manifest)})
			require.NoError(t, err)
			if tc.reason == "" {
				require.Empty(t, kicks.sent)
				return
			}
			require.Len(t, kicks.sent, 1)
			require.Equal(t, tc.reason, kicks.sent[0].kick.Reason)
			require.Equal(t, tc.deleting, kicks.sent[0].kick.Deleting)
			require.Equal(t, tc.urgent, kicks.sent[0].kick.Urgent)
		})
	}
}

func TestAManifestThatNoKymaOwnsIsSettledByTheLeader(t *testing.T) {
	for name, change := range map[string]func(*v1beta2.Manifest){
		"without a controller":          func(m *v1beta2.Manifest) { m.OwnerReferences[0].Controller = nil },
		"whose owner is something else": func(m *v1beta2.Manifest) { m.OwnerReferences[0].Kind = "ConfigMap" },
		"orphaned, and deleted by a person": func(m *v1beta2.Manifest) {
			m.OwnerReferences, m.Status.InstalledRef = nil, "sha256:1"
			m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: now}, []string{shared.FinalizerManifest}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := manifestWith(change)
			m.Labels = map[string]string{shared.LabelKymaName: "demo"}
			w, kicks, _ := newWatcher(t, m, kymaWith(nil))
			_, err := w.kickManifest(t.Context(), manifestRequest{Ref: kick.RefOf(m)})
			require.NoError(t, err)
			require.Equal(t, []kick.Ref{kick.RefOf(m)}, kicks.unowned)
			require.Empty(t, kicks.sent)
		})
	}
}

// The workflow of that Kyma refuses the Manifest if the label names another Kyma, and removes it if the Kyma is gone.
func TestTheOwnerReferenceDecidesWhichWorkflowIsKickedForAManifest(t *testing.T) {
	for name, change := range map[string]func(*v1beta2.Manifest){
		"the label names another Kyma": func(m *v1beta2.Manifest) {
			m.Generation, m.Labels = 2, map[string]string{shared.LabelKymaName: "other"}
		},
		"the Kyma is gone, and another one has its name": func(m *v1beta2.Manifest) {
			m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: now}, []string{shared.FinalizerManifest}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := manifestWith(change)
			w, kicks, _ := newWatcher(t, m, kymaWith(func(k *v1beta2.Kyma) { k.UID = "another" }))
			_, err := w.kickManifest(t.Context(), manifestRequest{Ref: kick.RefOf(m)})
			require.NoError(t, err)
			require.Empty(t, kicks.unowned)
			require.Equal(t, []string{"kyma/kcp-system/demo/uid"}, kicks.asked)
		})
	}
}

// The workflow of the Kyma deletes the Manifests itself, and knows which are being deleted. After a start, another
// process may have deleted them.
func TestAManifestDeletedWithItsKymaKicksOnlyAtTheStart(t *testing.T) {
	deleting := func(o client.Object) {
		o.SetDeletionTimestamp(&metav1.Time{Time: now})
		o.SetFinalizers([]string{"operator.kyma-project.io/Kyma"})
	}
	m := manifestWith(func(m *v1beta2.Manifest) { deleting(m) })
	w, kicks, _ := newWatcher(t, m, kymaWith(func(k *v1beta2.Kyma) { deleting(k) }))
	_, err := w.kickManifest(t.Context(), manifestRequest{Ref: kick.RefOf(m)})
	require.NoError(t, err)
	require.Empty(t, kicks.sent)
	_, err = w.kickManifest(t.Context(), manifestRequest{Ref: kick.RefOf(m), Listed: true})
	require.NoError(t, err)
	require.Len(t, kicks.sent, 1)
}

func TestAManifestThatIsGoneWakesItsKyma(t *testing.T) {
	w, kicks, _ := newWatcher(t)
	_, err := w.kickManifest(t.Context(), gone(manifestWith(nil), "1"))
	require.NoError(t, err)
	require.Len(t, kicks.sent, 1)
	require.Equal(t, "open kyma/kcp-system/demo/uid", kicks.sent[0].to)
	require.True(t, kicks.sent[0].kick.Urgent)
}

func TestAChangedAccessSecretEvictsBeforeItKicks(t *testing.T) {
	other := kymaWith(func(k *v1beta2.Kyma) { k.Namespace, k.UID = "elsewhere", "other" })
	w, kicks, evicted := newWatcher(t, kymaWith(nil), other)
	_, err := w.kickForSecret(t.Context(), secretRequest{Namespace: "kcp-system", KymaName: "demo", Cause: cause{Kind: kindSecret, Name: "s", ResourceVersion: "9"}})
	require.NoError(t, err)
	require.Equal(t, evictions{"kcp-system/demo@9"}, *evicted, "a Kyma of the same name in another namespace keeps its cluster")
	require.Len(t, kicks.sent, 1)
	require.True(t, kicks.sent[0].kick.Urgent)
}

func TestAChangedAccessSecretCausesOneRequestPerKyma(t *testing.T) {
	secret := func(version, kyma string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "kcp-system", Name: "s", ResourceVersion: version, Labels: map[string]string{shared.LabelKymaName: kyma},
		}}
	}
	of := func(kyma, version string) secretRequest {
		return secretRequest{Namespace: "kcp-system", KymaName: kyma,
			Cause: cause{Kind: kindSecret, Namespace: "kcp-system", Name: "s", ResourceVersion: version}}
	}
	require.Equal(t, []secretRequest{of("demo", "9")}, secretRequests(secret("8", "demo"), secret("9", "demo")))
	require.Equal(t, []secretRequest{of("demo", "9"), of("other", "9")}, secretRequests(secret("8", "demo"), secret("9", "other")),
		"the Kyma that loses its access is notified too, with the version of the loss")
	require.Equal(t, []secretRequest{of("demo", "9")}, secretRequests(secret("8", "demo"), secret("9", "")))
}

func TestStatusWritesOfOurOwnAreNoChange(t *testing.T) {
	w, _, _ := newWatcher(t)
	before := kymaWith(nil)
	after := before.DeepCopy()
	after.ResourceVersion, after.Status.State = "9", "Ready"
	after.Labels = map[string]string{"operator.kyma-project.io/managed-by": "lifecycle-manager"}
	require.False(t, w.changed(before, after))
	after.Labels["operator.kyma-project.io/beta"] = "true"
	require.True(t, w.changed(before, after))
	after.Labels = map[string]string{"operator.kyma-project.io/managed-by": "another"}
	require.True(t, w.changed(before, after))
}

// manifestID is the key for a Manifest in these tests' records of kicks.
func manifestID(r kick.Ref) string {
	return "manifest/" + r.Namespace + "/" + r.Name + "/" + string(r.UID)
}
