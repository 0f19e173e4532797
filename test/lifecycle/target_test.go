package lifecycle

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// access names the cluster that access was given to.
type access struct{ manifests.Access }

func (access) ControlPlane() *clusters.Cluster { return &clusters.Cluster{Name: "the control plane"} }

func (a access) Reach(ctx context.Context, namespace, kyma string) (*clusters.Cluster, error) {
	return a.ForKyma(ctx, namespace, kyma)
}

func (access) ForKyma(_ context.Context, namespace, kyma string) (*clusters.Cluster, error) {
	return &clusters.Cluster{Name: "the cluster of " + namespace + "/" + kyma}, nil
}

// owned returns a Kyma with a Manifest for the control plane as it was decided and recorded.
func owned(change func(*v1beta2.Kyma, *v1beta2.Manifest)) (*v1beta2.Kyma, *v1beta2.Manifest) {
	m := sharedManifest("first", 1, nil)
	kyma := kymaNamed("first")
	cluster.Plan(kyma, m)
	if change != nil {
		change(kyma, m)
	}
	return kyma, m
}

// assembled are activities for steps that need no artifacts.
func assembled(t *testing.T, o manifests.Options) *worker.ManifestActivities {
	t.Helper()
	store, err := artifacts.New(artifacts.Options{})
	require.NoError(t, err)
	a, err := worker.AssembleManifests(worker.ManifestOptions{Steps: o, Apply: apply.Options{Artifacts: store}})
	require.NoError(t, err)
	return a
}

func acting(t *testing.T, settings desired.Settings, objects ...client.Object) (*worker.ManifestActivities, client.Client) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1beta2.Manifest{}).WithObjects(objects...).Build()
	return assembled(t, manifests.Options{ControlPlane: c, Settings: settings, Clusters: access{}}), c
}

func TestAManifestIsInstalledOnlyWhereAKymaOfThisInstanceOwnsIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*v1beta2.Kyma, *v1beta2.Manifest)
		says   string
		others bool
	}{
		"nobody owns it": {says: "no Kyma owns Manifest kcp-system/first-keda",
			change: func(_ *v1beta2.Kyma, m *v1beta2.Manifest) { m.OwnerReferences = nil }},
		"the Kyma is not its controller": {says: "no Kyma owns Manifest kcp-system/first-keda",
			change: func(_ *v1beta2.Kyma, m *v1beta2.Manifest) { m.OwnerReferences[0].Controller = nil }},
		"something else that is called Kyma owns it": {says: "no Kyma owns Manifest kcp-system/first-keda",
			change: func(_ *v1beta2.Kyma, m *v1beta2.Manifest) { m.OwnerReferences[0].APIVersion = "example.com/v1" }},
		"its label names another Kyma": {says: `but its label operator.kyma-project.io/kyma-name is "second"`,
			change: func(_ *v1beta2.Kyma, m *v1beta2.Manifest) { m.Labels[shared.LabelKymaName] = "second" }},
		"the Kyma is another one of that name": {says: "Kyma first with uid uid-of-kyma-first, which owns Manifest kcp-system/first-keda, does not exist",
			change: func(k *v1beta2.Kyma, _ *v1beta2.Manifest) { k.UID = "another" }},
		"the Kyma is in another namespace": {says: "does not exist",
			change: func(k *v1beta2.Kyma, _ *v1beta2.Manifest) { k.Namespace = "elsewhere" }},
		"the Kyma is a copy": {says: "is the copy of another one",
			change: func(k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				k.Annotations = map[string]string{desired.AnnotationSyncedFrom: "a/b"}
			}},
		"the Kyma is another instance's": {others: true,
			change: func(k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				k.Labels = map[string]string{shared.LabelManagedBy: "another"}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kyma, m := owned(test.change)
			a, c := acting(t, desired.Settings{AllowControlPlaneModules: true}, kyma, m)
			result, err := a.Install.ApplyManifest(context.Background(), install.ApplyInput{Ref: kick.RefOf(m)})
			require.NoError(t, err)
			_, err = a.Steps.Target(context.Background(), m)
			require.Equal(t, fault.Rejected, fault.Of(err).Kind)
			require.Nil(t, result.Kick)
			if test.others {
				require.Equal(t, manifests.OutcomeNotOurs, result.Outcome)
				return
			}
			require.Equal(t, manifests.OutcomeRefused, result.Outcome)
			require.Equal(t, shared.StateError, result.Observed.State)
			require.Contains(t, result.Observed.Message, test.says)

			_, err = a.Install.ReportManifest(context.Background(), manifests.ReportInput{
				Ref: kick.RefOf(m), Observed: result.Observed, InputsDigest: result.InputsDigest, Settled: true,
			})
			require.NoError(t, err)
			now := &v1beta2.Manifest{}
			require.NoError(t, c.Get(context.Background(), client.ObjectKeyFromObject(m), now))
			condition := meta.FindStatusCondition(now.Status.Conditions, string(shared.ConditionInstallation))
			require.NotNil(t, condition)
			require.Equal(t, metav1.ConditionFalse, condition.Status)
			require.Equal(t, manifests.ReasonNotOwned, condition.Reason)
			require.Contains(t, condition.Message, test.says)
			require.True(t, now.Status.Settled, "it is not reconciled again and again")
			require.True(t, manifests.IsRefused(now))
		})
	}
}

func TestAManifestThatNobodyOwnsIsNeitherRemovedNorReleased(t *testing.T) {
	t.Parallel()
	_, m := owned(func(_ *v1beta2.Kyma, m *v1beta2.Manifest) {
		going(m)
		m.OwnerReferences = nil
	})
	m.Status = v1beta2.ManifestStatus{}
	a, c := acting(t, desired.Settings{AllowControlPlaneModules: true}, m)
	result, err := a.Uninstall.RemoveManifest(context.Background(), uninstall.RemoveInput{Ref: kick.RefOf(m)})
	require.NoError(t, err)
	require.Equal(t, manifests.OutcomeRefused, result.Outcome)
	purged, err := a.Purge.PurgeManifest(context.Background(), purge.Input{Ref: kick.RefOf(m), Abandon: true})
	require.NoError(t, err)
	require.Equal(t, manifests.OutcomeRefused, purged.Outcome)
	now := &v1beta2.Manifest{}
	require.NoError(t, c.Get(context.Background(), client.ObjectKeyFromObject(m), now))
	require.Equal(t, desired.ManifestFinalizers(), now.Finalizers)

	require.NoError(t, a.Uninstall.SettleUnowned(context.Background(), kick.RefOf(m)))
	require.NoError(t, c.Get(context.Background(), client.ObjectKeyFromObject(m), now))
	require.Equal(t, desired.ManifestFinalizers(), now.Finalizers)
	require.True(t, now.Status.Settled)
	require.True(t, manifests.IsRefused(now), "its status says why")
}

func TestAnOrphanedManifestIsReleasedAndItsObjectsStay(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*worker.ManifestActivities, kick.Ref) error{
		"by the workflow of its Kyma": func(a *worker.ManifestActivities, ref kick.Ref) error {
			result, err := a.Uninstall.RemoveManifest(context.Background(), uninstall.RemoveInput{Ref: ref})
			require.Equal(t, manifests.OutcomeRemoved, result.Outcome)
			return err
		},
		"by the leader": func(a *worker.ManifestActivities, ref kick.Ref) error {
			return a.Uninstall.SettleUnowned(context.Background(), ref)
		},
	} {
		t.Run(name, func(t *testing.T) { releasesAnOrphan(t, remove) })
	}
}

func releasesAnOrphan(t *testing.T, remove func(*worker.ManifestActivities, kick.Ref) error) {
	t.Helper()
	_, m := owned(func(_ *v1beta2.Kyma, m *v1beta2.Manifest) {
		going(m)
		holding(m)
		m.OwnerReferences = nil
	})
	a, c := acting(t, desired.Settings{AllowControlPlaneModules: true}, m)
	events := &recordedEvents{}
	recorder := manifests.NewRecorder(events, nil, time.Now)
	a.Steps.Recorder, a.Steps.Options.Clusters = recorder, nil // no cluster is touched
	purged, err := a.Purge.PurgeManifest(context.Background(), purge.Input{Ref: kick.RefOf(m), Abandon: true})
	require.NoError(t, err)
	require.Equal(t, manifests.OutcomeRefused, purged.Outcome)
	require.NoError(t, remove(a, kick.RefOf(m)))
	require.True(t, apierrors.IsNotFound(c.Get(context.Background(), client.ObjectKeyFromObject(m), &v1beta2.Manifest{})))
	said, _ := events.take()
	require.Len(t, said, 1)
	require.Contains(t, said[0], "OrphanDeleted")
	require.Contains(t, said[0], "1 objects of module")
}

func TestWhatWasInstalledIsRemovedAlsoWhenItsKymaIsGone(t *testing.T) {
	t.Parallel()
	_, m := owned(func(_ *v1beta2.Kyma, m *v1beta2.Manifest) {
		going(m)
		holding(m)
	})
	a, _ := acting(t, desired.Settings{}, m)
	stands, err := a.Steps.CheckOwnership(context.Background(), m)
	require.NoError(t, err)
	require.Nil(t, stands.Refusal)
	m.Status = v1beta2.ManifestStatus{}
	stands, err = a.Steps.CheckOwnership(context.Background(), m)
	require.NoError(t, err)
	require.NotNil(t, stands.Refusal, "nothing says that this was ever installed")
}

func TestAPurgeIsForKymasThatAreGoneOrBeingDeleted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kyma func(*v1beta2.Kyma)
		want manifests.Outcome
	}{
		"gone": {kyma: func(k *v1beta2.Kyma) { k.UID = "another" }, want: manifests.OutcomeRemoved},
		"deleted": {kyma: func(k *v1beta2.Kyma) {
			k.DeletionTimestamp, k.Finalizers = new(metav1.Now()), []string{shared.FinalizerKyma}
		}, want: manifests.OutcomeRemoved},
		"alive": {kyma: func(*v1beta2.Kyma) {}, want: manifests.OutcomeApplied},
	} {
		t.Run(name, func(t *testing.T) {
			kyma, m := owned(func(k *v1beta2.Kyma, m *v1beta2.Manifest) {
				going(m)
				test.kyma(k)
				m.Finalizers = []string{metav1.FinalizerDeleteDependents} // no cluster is touched
			})
			a, _ := acting(t, desired.Settings{}, kyma, m)
			result, err := a.Purge.PurgeManifest(t.Context(), purge.Input{Ref: kick.RefOf(m)})
			require.NoError(t, err)
			require.Equal(t, test.want, result.Outcome)
		})
	}
}

func TestOnlyWhatWasDecidedAndIsAllowedGoesIntoTheControlPlane(t *testing.T) {
	t.Parallel()
	const theirs, ours = "the cluster of kcp-system/first", "the control plane"
	local := func(_ *v1beta2.Kyma, m *v1beta2.Manifest) {
		m.Spec.Remote, m.Annotations = true, map[string]string{desired.AnnotationRemoteStrategy: "local-client"}
		m.Status.Target = &v1beta2.TargetRecord{Cluster: v1beta2.TargetClusterLocalClient, SpecDigest: desired.SpecDigest(m.Spec)}
	}
	for name, test := range map[string]struct {
		change   func(*v1beta2.Kyma, *v1beta2.Manifest)
		settings desired.Settings
		cluster  string // empty where none is given
	}{
		"decided and allowed":                 {settings: desired.Settings{AllowControlPlaneModules: true}, cluster: ours},
		"decided in single-cluster mode":      {settings: desired.Settings{Mode: desired.ModeSingleCluster}, cluster: ours},
		"decided, but no longer allowed":      {},
		"being removed, though not allowed":   {cluster: ours, change: func(_ *v1beta2.Kyma, m *v1beta2.Manifest) { going(m) }},
		"by local-client where it is allowed": {settings: desired.Settings{AllowControlPlaneModules: true}, change: local, cluster: ours},
		"by local-client where it is not":     {change: local},
		"remote: false and nothing else, as today's generation writes it everywhere": {
			settings: desired.Settings{AllowControlPlaneModules: true}, cluster: theirs,
			change: func(_ *v1beta2.Kyma, m *v1beta2.Manifest) {
				m.Status.Target, m.Labels[desired.LabelSharedModule] = nil, ""
			},
		},
		"a label that we give to those for the control plane": {
			settings: desired.Settings{AllowControlPlaneModules: true}, cluster: theirs,
			change: func(_ *v1beta2.Kyma, m *v1beta2.Manifest) { m.Status.Target = nil },
		},
		"an annotation that we give to those by local-client": {
			settings: desired.Settings{AllowControlPlaneModules: true}, cluster: theirs,
			change: func(k *v1beta2.Kyma, m *v1beta2.Manifest) { local(k, m); m.Status.Target = nil },
		},
		"installed there before decisions were recorded": {
			settings: desired.Settings{AllowControlPlaneModules: true}, cluster: ours,
			change: func(_ *v1beta2.Kyma, m *v1beta2.Manifest) { m.Status.Target = nil; holding(m) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kyma, m := owned(test.change)
			a, _ := acting(t, test.settings, kyma)
			target, err := a.Steps.Target(context.Background(), m)
			if test.cluster == "" {
				require.Equal(t, fault.Rejected, fault.Of(err).Kind)
				require.Equal(t, "ControlPlaneTargetNotAllowed", fault.Of(err).Reason)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.cluster, target.Name)
		})
	}
}

// What a writer of Manifests can do, and no plan did, is refused before a cluster or a registry is touched.
func TestAManifestThatIsNotAsPlannedIsRefusedAndItsKymaIsNotified(t *testing.T) {
	t.Parallel()
	remote := func(k *v1beta2.Kyma, m *v1beta2.Manifest) {
		m.Spec.Remote, m.Status.Target = true, nil
		m.Annotations = map[string]string{desired.AnnotationSpecDigest: desired.SpecDigest(m.Spec)}
		k.Status.Planned = nil
		cluster.Plan(k, m)
	}
	forged := func(k *v1beta2.Kyma, m *v1beta2.Manifest) {
		remote(k, m)
		m.Name = "forged"
	}
	for name, test := range map[string]struct {
		change   func(*v1beta2.Kyma, *v1beta2.Manifest)
		settings desired.Settings
		reason   string // empty where it is as decided
		state    shared.State
		event    bool
	}{
		"as decided":                      {},
		"for the control plane by nobody": {reason: manifests.ReasonNotDecided, change: func(_ *v1beta2.Kyma, m *v1beta2.Manifest) { m.Status.Target = nil }},
		"another layer than was decided":  {reason: manifests.ReasonNotPlanned, change: func(_ *v1beta2.Kyma, m *v1beta2.Manifest) { m.Spec.Install.Source.Ref = "sha256:2" }},
		"another layer, with a status written by hand": {reason: manifests.ReasonNotPlanned, change: func(_ *v1beta2.Kyma, m *v1beta2.Manifest) {
			m.Spec.Install.Source.Ref = "sha256:2"
			m.Status.Target.SpecDigest, m.Status.InstalledRef = desired.SpecDigest(m.Spec), "sha256:2"
		}},
		"a remote one":         {change: remote},
		"a remote one, edited": {reason: manifests.ReasonEdited, change: func(k *v1beta2.Kyma, m *v1beta2.Manifest) { remote(k, m); m.Spec.Version = "9.9.9" }},
		"a remote one, edited with its digest": {reason: manifests.ReasonNotPlanned, change: func(k *v1beta2.Kyma, m *v1beta2.Manifest) {
			remote(k, m)
			m.Spec.Version = "9.9.9"
			m.Annotations[desired.AnnotationSpecDigest] = desired.SpecDigest(m.Spec)
		}},
		"a remote one, edited, without its digest": {reason: manifests.ReasonNotPlanned, change: func(k *v1beta2.Kyma, m *v1beta2.Manifest) {
			remote(k, m)
			m.Spec.Version, m.Annotations = "9.9.9", nil
		}},
		"an annotation that decides where it goes": {reason: manifests.ReasonNotPlanned, change: func(k *v1beta2.Kyma, m *v1beta2.Manifest) {
			remote(k, m)
			m.Annotations[desired.AnnotationRemoteNamespace] = "kube-system"
		}},
		"edited while its Kyma is skipped": {reason: manifests.ReasonEdited, change: func(k *v1beta2.Kyma, m *v1beta2.Manifest) {
			remote(k, m)
			m.Spec.Version, k.Labels = "9.9.9", map[string]string{shared.LabelSkipReconciliation: "true"}
		}},
		"one that no plan has": {reason: manifests.ReasonNotPlanned, state: shared.StateError, event: true, change: forged},
		"one that no plan has, of a module that every Kyma has": {reason: manifests.ReasonNotPlanned, state: shared.StateError, event: true, change: func(k *v1beta2.Kyma, m *v1beta2.Manifest) {
			forged(k, m)
			m.Labels[shared.LabelMandatoryModule] = "true"
		}},
		"one that no plan has, while its Kyma is being deleted": {reason: manifests.ReasonNotPlanned, state: shared.StateError, event: true, change: func(k *v1beta2.Kyma, m *v1beta2.Manifest) {
			forged(k, m)
			k.DeletionTimestamp, k.Finalizers = new(metav1.Now()), []string{shared.FinalizerKyma}
		}},
		"one that no plan has, with a status written by hand": {reason: manifests.ReasonNotPlanned, change: func(k *v1beta2.Kyma, m *v1beta2.Manifest) {
			forged(k, m)
			m.Status.InstalledRef = "sha256:1"
		}},
		"one whose plan was lost": {reason: manifests.ReasonNotPlanned, change: func(k *v1beta2.Kyma, m *v1beta2.Manifest) {
			remote(k, m)
			k.Status.Planned, m.Status.InstalledRef = nil, "sha256:1"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kyma, m := owned(test.change)
			a, _ := acting(t, desired.Settings{AllowControlPlaneModules: true}, kyma, m)
			events := &recordedEvents{}
			recorder := manifests.NewRecorder(events, nil, time.Now)
			a.Steps.Recorder = recorder
			if test.reason != "" {
				a.Steps.Options.Clusters = nil // no cluster is touched
			}
			ctx, news := manifests.Noting(context.Background())
			_, undecided, err := a.Steps.Undecided(ctx, m, kyma)
			require.NoError(t, err)
			if test.reason == "" {
				require.Nil(t, undecided)
				require.Nil(t, news.Kick)
				return
			}
			require.Equal(t, test.reason, undecided.Reason)
			if test.state != "" {
				require.Equal(t, test.state, undecided.State)
			}
			require.True(t, news.Kick.Whole, "a whole reconcile, not only a report of states")
			require.Equal(t, m.ResourceVersion, news.Kick.ResourceVersion, "for the current Manifest")
			said, _ := events.take()
			if !test.event {
				require.Empty(t, said)
				return
			}
			require.Len(t, said, 1)
			require.Contains(t, said[0], "Warning *v1beta2.Kyma ManifestNotPlanned: Manifest forged was not made by a plan of this Kyma")

			result, err := a.Install.ApplyManifest(context.Background(), install.ApplyInput{Ref: kick.RefOf(m)})
			require.NoError(t, err)
			require.Equal(t, manifests.OutcomeRefused, result.Outcome)
			_, err = a.Install.EnsureDefaultCR(context.Background(), install.WaitInput{Ref: kick.RefOf(m)})
			require.Equal(t, manifests.ReasonNotPlanned, fault.Of(err).Reason)
		})
	}
}

func TestWhereSignaturesAreRequiredAPlanFromBeforeIsNotEnough(t *testing.T) {
	t.Parallel()
	for signed, want := range map[bool]string{true: "", false: manifests.ReasonNotSigned} {
		kyma, m := owned(nil)
		kyma.Status.Planned = []v1beta2.PlannedManifest{planned.Record(m, signed)}
		a, _ := acting(t, desired.Settings{AllowControlPlaneModules: true}, kyma, m)
		a.Steps.Options.SignaturesRequired = true
		_, undecided, err := a.Steps.Undecided(context.Background(), m, kyma)
		require.NoError(t, err)
		if want == "" {
			require.Nil(t, undecided)
			continue
		}
		require.Equal(t, want, undecided.Reason)
	}
}

func TestAReconcileWaitsALittleForTheDecisionThatComesAfterTheSpec(t *testing.T) {
	t.Parallel()
	kyma, m := owned(nil)
	record := m.Status.Target
	m.Status.Target = nil
	a, c := acting(t, desired.Settings{AllowControlPlaneModules: true}, kyma, m)
	go func() {
		time.Sleep(400 * time.Millisecond)
		now := &v1beta2.Manifest{}
		_ = c.Get(context.Background(), client.ObjectKeyFromObject(m), now)
		now.Status.Target = record
		_ = c.Status().Update(context.Background(), now)
	}()
	read, err := a.Steps.Read(context.Background(), kick.RefOf(m))
	require.NoError(t, err)
	ctx, news := manifests.Noting(context.Background())
	now, undecided, err := a.Steps.Undecided(ctx, read, kyma)
	require.NoError(t, err)
	require.Nil(t, undecided)
	require.Equal(t, record, now.Status.Target)
	require.Nil(t, news.Kick)
}
