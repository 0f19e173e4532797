package sweep

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/drift"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// fixture fakes everything that a walk uses except the caches.
type fixture struct {
	digest string
	// delisted is the digest of the catalog for modules under removal.
	delisted string
	probe    func() (bool, string, error)
	module   shared.State
	probes   atomic.Int64
	awaited  atomic.Bool // whether the last probe was told to expect a paced change
	open     Open
	paused   map[string]bool
	openErr  error
	// openSince is the maximum age of the list of open workflows.
	openSince time.Time
	begun     string            // the id of a workflow that opened after the list of open workflows was read
	err       error             // returned when checking modules or a single workflow
	kicked    map[string]string // workflow id to reason
	pass      atomic.Int64      // the pass number that the last probe of modules got
	marks     []string          // the marks written into statuses of Manifests
}

func (f *fixture) Digest(context.Context, *v1beta2.Kyma) (string, error) { return f.digest, nil }

func (f *fixture) Delisted(context.Context, *v1beta2.Kyma, []v1beta2.Manifest) (string, error) {
	return f.delisted, nil
}

func (f *fixture) Probe(_ context.Context, _ *v1beta2.Kyma, awaited bool) (bool, string, error) {
	f.awaited.Store(awaited)
	return f.probe()
}

func (f *fixture) OpenWorkflows(_ context.Context, since time.Time) (Open, error) {
	f.openSince = since
	return f.open, f.openErr
}

func (f *fixture) IsOpen(_ context.Context, id string) (bool, error) { return id == f.begun, f.err }

func (f *fixture) IsPaused(id string) bool { return f.paused[id] }

func (f *fixture) Kyma(_ context.Context, ref kick.Ref, k kick.Kick) error {
	f.kicked[kick.KymaWorkflowID(ref)] = k.Reason
	return nil
}

func (f *fixture) Manifest(_ context.Context, _, ref kick.Ref, k kick.Kick) error {
	f.kicked["manifest/"+ref.String()+"/"+string(ref.UID)] = k.Reason
	return nil
}

func (f *fixture) SignalOpen(_ context.Context, id string, k kick.Kick) error {
	f.kicked["open "+id] = k.Reason
	return nil
}

func (f *fixture) MarkUnreachable(_ context.Context, ref kick.Ref, since time.Time) error {
	f.marks = append(f.marks, ref.Name+" is unreachable since "+since.UTC().Format(time.TimeOnly))
	return nil
}

func (f *fixture) ReleaseFormerAgents(context.Context, func(*v1beta2.Manifest) bool) error {
	return nil
}

func (f *fixture) MarkReachable(_ context.Context, ref kick.Ref) error {
	f.marks = append(f.marks, ref.Name+" is reachable")
	return nil
}

type moduleProbe struct{ *fixture }

func (m moduleProbe) Probe(_ context.Context, modules []*v1beta2.Manifest, pass int) ([]drift.Difference, error) {
	m.pass.Store(int64(pass))
	m.probes.Add(1)
	var all []drift.Difference
	for _, each := range modules {
		if each.Status.KnownState() != m.module {
			all = append(all, drift.Difference{Manifest: each, Reason: "the module changed its state"})
		}
	}
	return all, m.err
}

const (
	kymaID     = "kyma/kcp-system/demo/uid"
	manifestID = "manifest/kcp-system/demo-m/m-uid"
)

// quiet returns a fleet of one Kyma with one module in which nothing differs.
func quiet() *fixture {
	return &fixture{
		digest: "now", probe: func() (bool, string, error) { return false, "", nil },
		module: shared.StateReady,
		open:   Open{kymaID: time.Now()}, kicked: map[string]string{},
	}
}

func quietKyma() *v1beta2.Kyma {
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "demo", UID: "uid"}}
	kyma.Status.InputsDigest, kyma.Status.Remote = "now", &v1beta2.RemoteStatus{Name: "default", Namespace: "kyma-system"}
	kyma.Status.Modules = []v1beta2.ModuleStatus{{
		Name: "m", State: shared.StateReady, Manifest: &v1beta2.TrackedObject{Metadata: v1beta2.TrackedMeta{Name: "demo-m"}},
	}}
	return kyma
}

func quietManifest() *v1beta2.Manifest {
	m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kcp-system", Name: "demo-m", UID: "m-uid", Generation: 1,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "operator.kyma-project.io/v1beta2", Kind: "Kyma", Name: "demo", UID: "uid"}},
	}}
	m.Status.State, m.Status.Settled, m.Status.InputsDigest = shared.StateReady, true, manifests.InputsDigest(m)
	return m
}

func activitiesFor(t *testing.T, f *fixture, objects ...client.Object) *Activities {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	reader := fleettest.Indexed(fake.NewClientBuilder().WithScheme(scheme)).WithObjects(objects...).Build()
	a, err := New(Options{
		Interval: time.Second, ShardsAtOnce: DefaultShards, Fleet: reader, Live: reader, Inputs: f, Remote: f, Modules: moduleProbe{f}, Marks: f, Kicks: f, Open: f,
		KickLimit: rate.NewLimiter(rate.Inf, 1),
	})
	require.NoError(t, err)
	return a
}

// runStarted is the start of the sweep's run that the walks belong to.
var runStarted = time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)

// runPass is the number of the pass.
const runPass = 11

// walkShard walks a shard as a Temporal activity.
func walkShard(t *testing.T, a *Activities, shard int) (WalkResult, error) {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a)
	value, err := env.ExecuteActivity(a.WalkShard, WalkInput{Shard: shard, Pass: runPass, RunStarted: runStarted})
	if err != nil {
		return WalkResult{}, err
	}
	var res WalkResult
	require.NoError(t, value.Get(&res))
	return res, nil
}

func shardOf(uid types.UID) int { return ShardOf(uid, DefaultShards) }

func TestTheModuleProbeGetsTheNumberOfThePass(t *testing.T) {
	f := quiet()
	_, err := walkShard(t, activitiesFor(t, f, quietKyma(), quietManifest()), shardOf("uid"))
	require.NoError(t, err)
	require.EqualValues(t, runPass, f.pass.Load())
}

func TestAWalkKicksDifferences(t *testing.T) {
	unreachable := false
	cases := map[string]struct {
		prepare func(f *fixture, k *v1beta2.Kyma, m *v1beta2.Manifest)
		want    map[string]string
	}{
		"a module that waits for a Secret of the control plane": {
			prepare: func(_ *fixture, _ *v1beta2.Kyma, m *v1beta2.Manifest) {
				m.Status.State = shared.StateError
				m.Status.LastOperation = &v1beta2.LastOperation{Operation: "no Secret", Reason: "SecretNotInjected"}
			},
			want: map[string]string{kymaID: "the status differs from a Manifest", manifestID: "a Secret of the control plane was missing"},
		},
		"nothing if nothing differs": {prepare: func(*fixture, *v1beta2.Kyma, *v1beta2.Manifest) {}},
		"a Kyma whose inputs changed unnoticed": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, _ *v1beta2.Manifest) { f.digest = "then" },
			want:    map[string]string{kymaID: "the inputs differ from those last reconciled"},
		},
		"a Kyma without an open workflow": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, _ *v1beta2.Manifest) { f.open = Open{} },
			want:    map[string]string{kymaID: "the Kyma has no open workflow"},
		},
		"not a Kyma whose workflow has begun since the open ones were listed": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, _ *v1beta2.Manifest) { f.open, f.begun = Open{}, kymaID },
		},
		"a Kyma if the server cannot tell whether its workflow is open": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, _ *v1beta2.Manifest) {
				f.open, f.begun, f.err = Open{}, kymaID, errors.New("unavailable")
			},
			want: map[string]string{kymaID: "the Kyma has no open workflow"},
		},
		"a Kyma that was edited in its remote cluster": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, _ *v1beta2.Manifest) {
				f.probe = func() (bool, string, error) { return true, "the remote Kyma was edited", nil }
			},
			want: map[string]string{kymaID: "the remote Kyma was edited"},
		},
		"a Kyma whose cluster has become unreachable": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, _ *v1beta2.Manifest) {
				f.probe = func() (bool, string, error) {
					return false, "", fault.New(fault.Unreachable, "UnreachableTimeout", "timed out")
				}
			},
			want: map[string]string{kymaID: "the remote cluster cannot be reached"},
		},
		"a Kyma whose cluster fails": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, _ *v1beta2.Manifest) {
				f.probe = func() (bool, string, error) {
					return false, "", &fault.Error{Kind: fault.Transient, Reason: "ServerFailed", Message: "503",
						Persistent: fault.Fault{Kind: fault.Unreachable, Reason: "UnreachableServerFailed"}}
				}
			},
			want: map[string]string{kymaID: "the remote cluster cannot be reached"},
		},
		"nothing while a cluster stays unreachable": {
			prepare: func(f *fixture, k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				k.Status.Remote.Reachable, f.digest = &unreachable, "then"
				f.probe = func() (bool, string, error) {
					return false, "", fault.New(fault.Unreachable, "UnreachableTimeout", "timed out")
				}
			},
		},
		"not an unsettled Manifest whose cluster does not answer": {
			prepare: func(f *fixture, k *v1beta2.Kyma, m *v1beta2.Manifest) {
				k.Status.Remote.Reachable, m.Status.Settled, m.Spec.Remote = &unreachable, false, true
				f.probe = func() (bool, string, error) {
					return false, "", fault.New(fault.Unreachable, "UnreachableTimeout", "timed out")
				}
			},
		},
		"not an unsettled Manifest whose cluster may not be used": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, m *v1beta2.Manifest) {
				m.Status.Settled, m.Spec.Remote = false, true
				f.probe = func() (bool, string, error) {
					return false, "", fault.New(fault.Rejected, "KubeconfigRejected", "exec")
				}
			},
		},
		"the Manifests of a Kyma under deletion when its cluster can be reached again": {
			prepare: func(f *fixture, k *v1beta2.Kyma, m *v1beta2.Manifest) {
				deleted := metav1.Now()
				k.DeletionTimestamp, k.Finalizers, k.Status.State = &deleted, []string{"operator.kyma-project.io/Kyma"}, shared.StateDeleting
				k.Status.Remote.Reachable, m.Status.Settled, m.Spec.Remote = &unreachable, false, true
				f.probe = func() (bool, string, error) { return true, "the catalog differs", nil }
			},
			want: map[string]string{kymaID: "the remote cluster can be reached again", manifestID: "the remote cluster can be reached again"},
		},
		"a Kyma and its unsettled Manifests when the cluster can be reached again": {
			prepare: func(f *fixture, k *v1beta2.Kyma, m *v1beta2.Manifest) {
				k.Status.Remote.Reachable, m.Status.Settled = &unreachable, false
			},
			want: map[string]string{kymaID: "the remote cluster can be reached again", manifestID: "the remote cluster can be reached again"},
		},
		"a Kyma whose status does not show a Manifest's state": {
			prepare: func(_ *fixture, k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				k.Status.Modules[0].State = shared.StateProcessing
			},
			want: map[string]string{kymaID: "the status differs from a Manifest"},
		},
		"a Kyma whose status has a module under removal whose Manifest is gone": {
			prepare: func(_ *fixture, k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				k.Status.Modules = append(k.Status.Modules, v1beta2.ModuleStatus{
					Name: "left", State: shared.StateDeleting, Manifest: &v1beta2.TrackedObject{Metadata: v1beta2.TrackedMeta{Name: "demo-left"}},
				})
			},
			want: map[string]string{kymaID: "a Manifest is gone that the status has"},
		},
		"a Kyma with a recorded Manifest that is gone, though no module in the status shows it": {
			prepare: func(_ *fixture, k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				k.Status.Manifests = []string{"demo-m", "demo-mandatory"}
			},
			want: map[string]string{kymaID: "a Manifest is gone that the status has"},
		},
		"a Kyma with a module that waits for the removal of an earlier Kyma's": {
			prepare: func(_ *fixture, k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				k.Status.Modules = append(k.Status.Modules, v1beta2.ModuleStatus{Name: "again", State: shared.StateDeleting})
			},
			want: map[string]string{kymaID: "a Manifest is gone that the status has"},
		},
		"nothing for a module under removal whose Manifest exists": {
			prepare: func(_ *fixture, k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				k.Status.Manifests, k.Status.Modules[0].State = []string{"demo-m"}, shared.StateDeleting
			},
		},
		"an unsettled Manifest that has not changed for an interval": {
			prepare: func(_ *fixture, _ *v1beta2.Kyma, m *v1beta2.Manifest) {
				m.Status.Settled, m.Status.InstalledRef = false, "an earlier one"
			},
			want: map[string]string{manifestID: "the Manifest is not settled"},
		},
		"not an unsettled Manifest that its workflow may be working on": {
			prepare: func(_ *fixture, _ *v1beta2.Kyma, m *v1beta2.Manifest) {
				m.Status.Settled = false
				m.Status.LastOperation = &v1beta2.LastOperation{LastUpdateTime: metav1.Now()}
			},
		},
		"an unsettled Manifest that is only waited for, and whose module drifted": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, m *v1beta2.Manifest) { onlyWaitedFor(f, m, 2*time.Hour) },
			want:    map[string]string{manifestID: "the module changed its state"},
		},
		"not a Manifest that changed within the interval": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, m *v1beta2.Manifest) { onlyWaitedFor(f, m, 0) },
		},
		"a partly applied Manifest, because its retry may be lost": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, m *v1beta2.Manifest) {
				onlyWaitedFor(f, m, 2*time.Hour)
				m.Status.InstalledRef = "an earlier one"
			},
			want: map[string]string{manifestID: "the Manifest is not settled"},
		},
		"a Manifest whose inputs changed unnoticed": {
			prepare: func(_ *fixture, _ *v1beta2.Kyma, m *v1beta2.Manifest) { m.Generation = 2 },
			want:    map[string]string{manifestID: "the Manifest is not settled"},
		},
		"a settled Manifest whose module changed its state": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, _ *v1beta2.Manifest) { f.module = shared.StateWarning },
			want:    map[string]string{manifestID: "the module changed its state"},
		},
		"a settled Manifest whose module changed its state, though another module could not be read": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, _ *v1beta2.Manifest) {
				f.module, f.err = shared.StateWarning, errors.New("forbidden")
			},
			want: map[string]string{manifestID: "the module changed its state"},
		},
		"no Manifest of a cluster that does not answer": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, _ *v1beta2.Manifest) {
				f.module = shared.StateWarning
				f.probe = func() (bool, string, error) {
					return false, "", fault.New(fault.Unreachable, "UnreachableTimeout", "timed out")
				}
			},
			want: map[string]string{kymaID: "the remote cluster cannot be reached"},
		},
		"not a skipped Manifest": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, m *v1beta2.Manifest) {
				f.module = shared.StateWarning
				m.Labels = map[string]string{shared.LabelSkipReconciliation: "true"}
				m.Status.InputsDigest = manifests.InputsDigest(m)
			},
		},
		"not a Manifest that was refused": {
			prepare: func(f *fixture, k *v1beta2.Kyma, m *v1beta2.Manifest) {
				f.module = shared.StateReady
				m.Status.State, k.Status.Modules[0].State = shared.StateError, shared.StateError
			},
		},
		"a Kyma whose status shows a settled module as processing": {
			prepare: func(_ *fixture, k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				k.Status.Modules[0].State, k.Status.Modules[0].Message = shared.StateProcessing, "installing version 1.0.0"
			},
			want: map[string]string{kymaID: "the status differs from a Manifest"},
		},
		"a Kyma whose status shows an upgrade that its Manifest does not have": {
			prepare: func(_ *fixture, k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				module := &k.Status.Modules[0]
				module.State, module.Version, module.Message = shared.StateProcessing, "1.1.0", "upgrading from 1.0.0 to version 1.1.0"
			},
			want: map[string]string{kymaID: "a Manifest does not have the version that the status says"},
		},
		"nothing for a refused module with a settled earlier version": {
			prepare: func(_ *fixture, k *v1beta2.Kyma, m *v1beta2.Manifest) {
				k.Status.Modules[0].State, k.Status.Modules[0].Message = shared.StateError, "module template not allowed: beta module"
			},
		},
		"a Kyma whose deletion was not seen": {
			prepare: func(_ *fixture, k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				deleted := metav1.Now()
				k.DeletionTimestamp, k.Finalizers = &deleted, []string{"operator.kyma-project.io/Kyma"}
			},
			want: map[string]string{kymaID: "nothing was done about the Kyma's deletion"},
		},
		"not a Kyma that is being removed": {
			prepare: func(f *fixture, k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				deleted := metav1.Now()
				k.DeletionTimestamp, k.Finalizers, k.Status.State = &deleted, []string{"operator.kyma-project.io/Kyma"}, shared.StateDeleting
				f.digest = "then"
			},
		},
		"not a Kyma that is being removed and whose cluster has become unreachable": {
			prepare: func(f *fixture, k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				deleted, reachable := metav1.Now(), true
				k.DeletionTimestamp, k.Finalizers, k.Status.State = &deleted, []string{"operator.kyma-project.io/Kyma"}, shared.StateDeleting
				k.Status.Remote.Reachable = &reachable
				f.probe = func() (bool, string, error) {
					return false, "", fault.New(fault.Unreachable, "UnreachableTimeout", "timed out")
				}
			},
		},
		"not a Kyma held only by finalizers of others": {
			prepare: func(f *fixture, k *v1beta2.Kyma, m *v1beta2.Manifest) {
				deleted := metav1.Now()
				k.DeletionTimestamp, k.Finalizers, k.Status.State = &deleted, []string{"example.com/other"}, shared.StateDeleting
				m.OwnerReferences, f.open = nil, Open{}
			},
		},
		"a Kyma that lost our finalizer while Manifests are left": {
			prepare: func(f *fixture, k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				deleted := metav1.Now()
				k.DeletionTimestamp, k.Finalizers, k.Status.State = &deleted, []string{"example.com/other"}, shared.StateDeleting
				f.open = Open{}
			},
			want: map[string]string{kymaID: "the Kyma has no open workflow"},
		},
		"not a skipped Kyma": {
			prepare: func(f *fixture, k *v1beta2.Kyma, _ *v1beta2.Manifest) {
				k.Labels, f.digest = map[string]string{"operator.kyma-project.io/skip-reconciliation": "true"}, "then"
				f.probe = func() (bool, string, error) { return true, "the remote Kyma was edited", nil }
			},
		},
		"not a skipped Manifest whose deletion waits for its Kyma": {
			prepare: func(_ *fixture, _ *v1beta2.Kyma, m *v1beta2.Manifest) {
				deleted := metav1.Now()
				m.DeletionTimestamp, m.Finalizers = &deleted, []string{"declarative.kyma-project.io/finalizer"}
				m.Labels = map[string]string{"operator.kyma-project.io/skip-reconciliation": "true"}
			},
		},
		"a skipped Manifest when its Kyma is deleted": {
			prepare: func(_ *fixture, k *v1beta2.Kyma, m *v1beta2.Manifest) {
				deleted := metav1.Now()
				k.DeletionTimestamp, k.Finalizers, k.Status.State = &deleted, []string{"operator.kyma-project.io/Kyma"}, shared.StateDeleting
				m.DeletionTimestamp, m.Finalizers = &deleted, []string{"declarative.kyma-project.io/finalizer"}
				m.Labels = map[string]string{"operator.kyma-project.io/skip-reconciliation": "true"}
			},
			want: map[string]string{manifestID: "the Manifest is not settled"},
		},
		"workflows whose resource is gone, without starting new ones": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, _ *v1beta2.Manifest) {
				f.open["kyma/kcp-system/gone/uid"] = time.Now().Add(-time.Hour) // same uid, so same shard
			},
			want: map[string]string{"open kyma/kcp-system/gone/uid": "the resource was not found"},
		},
		"not a paused Kyma": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, m *v1beta2.Manifest) {
				f.digest, f.paused, m.Status.Settled = "then", map[string]bool{kymaID: true}, false
			},
		},
		"not a paused workflow whose resource is gone": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, _ *v1beta2.Manifest) {
				f.open["kyma/kcp-system/gone/uid"], f.paused = time.Now().Add(-time.Hour), map[string]bool{"kyma/kcp-system/gone/uid": true}
			},
		},
		"not a young workflow that caches do not know yet": {
			prepare: func(f *fixture, _ *v1beta2.Kyma, _ *v1beta2.Manifest) {
				f.open["kyma/kcp-system/young/uid"] = time.Now()
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f, kyma, manifest := quiet(), quietKyma(), quietManifest()
			tc.prepare(f, kyma, manifest)
			a := activitiesFor(t, f, kyma, manifest)
			a.options.Interval = time.Hour // times in objects have no fractions of a second
			res, err := walkShard(t, a, shardOf("uid"))
			require.NoError(t, err)
			if tc.want == nil {
				tc.want = map[string]string{}
			}
			require.Equal(t, tc.want, f.kicked)
			require.Equal(t, 1, res.Kymas)
			require.Equal(t, len(tc.want), res.Kicked)
		})
	}
}

// onlyWaitedFor turns a Manifest into one that was applied and has been in error since, with a drifted module.
func onlyWaitedFor(f *fixture, m *v1beta2.Manifest, since time.Duration) {
	f.module, f.open[manifestID] = shared.StateWarning, time.Now()
	m.Spec.Install.Source.Ref, m.Status.InstalledRef = "sha256:a", "sha256:a"
	m.Status.Settled = false
	m.Status.LastOperation = &v1beta2.LastOperation{Operation: "Sample default reports Error", LastUpdateTime: metav1.NewTime(time.Now().Add(-since))}
}

func TestTheModulesOfAKymaAreCheckedTogether(t *testing.T) {
	f, second := quiet(), quietManifest()
	second.Name, second.UID = "demo-n", "n-uid"
	second.Status.InputsDigest = manifests.InputsDigest(second)
	_, err := walkShard(t, activitiesFor(t, f, quietKyma(), quietManifest(), second), shardOf("uid"))
	require.NoError(t, err)
	require.EqualValues(t, 1, f.probes.Load())
	require.Empty(t, f.kicked)
}

func TestAWalkLeavesOtherShardsAlone(t *testing.T) {
	f := quiet()
	f.digest = "then"
	res, err := walkShard(t, activitiesFor(t, f, quietKyma(), quietManifest()), (shardOf("uid")+1)%DefaultShards)
	require.NoError(t, err)
	require.Empty(t, f.kicked)
	require.Zero(t, res.Kymas)
}

func TestAShardThatNoLongerExistsIsNotWalked(t *testing.T) {
	f := quiet()
	f.digest = "then"
	res, err := walkShard(t, activitiesFor(t, f, quietKyma(), quietManifest()), shardOf("uid")+DefaultShards)
	require.NoError(t, err)
	require.Empty(t, f.kicked)
	require.Equal(t, DefaultShards, res.Shards, "which makes its sweep end")
}

// After the loss of a database nothing is open. A list from before the loss would hide Kymas without a workflow.
func TestWorkflowsListedBeforeTheSweepBeganDoNotCount(t *testing.T) {
	f := quiet()
	_, err := walkShard(t, activitiesFor(t, f, quietKyma(), quietManifest()), shardOf("uid"))
	require.NoError(t, err)
	require.Equal(t, runStarted, f.openSince)
}

func TestAWalkThatCannotListWorkflowsKicksNothing(t *testing.T) {
	f := quiet()
	f.openErr = errors.New("visibility is down")
	_, err := walkShard(t, activitiesFor(t, f, quietKyma(), quietManifest()), shardOf("uid"))
	require.Error(t, err)
	require.Empty(t, f.kicked)
}

func TestAWalkContinuesAfterItsCursorAndHandsOverWhenTheWorkerStops(t *testing.T) {
	f, kyma := quiet(), quietKyma()
	f.digest = "then"
	second := quietKyma()
	second.Name = "second"
	for i := 0; shardOf(second.UID) != shardOf("uid") || fleet.Position(second.UID) < fleet.Position("uid"); i++ {
		second.UID = types.UID(strconv.Itoa(i))
	}
	a := activitiesFor(t, f, kyma, second, quietManifest())

	behind := &walk{Activities: a, shard: shardOf("uid"), at: cursor{Started: time.Now(), Shards: DefaultShards, Last: fleet.Position(second.UID)}}
	require.NoError(t, behind.run(t.Context(), nil, func(cursor) {}))
	require.Empty(t, f.kicked, "an earlier attempt has walked them")

	stop := make(chan struct{})
	a.options.Interval = time.Hour
	stopped := &walk{Activities: a, shard: shardOf("uid"), at: cursor{Started: time.Now()}}
	var last cursor
	f.probe = func() (bool, string, error) { return false, "", nil }
	go func() {
		for stopped.cursor().Kymas == 0 {
			time.Sleep(time.Millisecond)
		}
		close(stop)
	}()
	require.ErrorIs(t, stopped.run(t.Context(), stop, func(c cursor) { last = c }), errHandedOver)
	require.Equal(t, fleet.Position("uid"), last.Last, "the next attempt knows where this one ended")
	require.Equal(t, 1, last.Kymas)
}

func TestAnAttemptSpreadsTheRemainingKymasOverTheRemainingTime(t *testing.T) {
	t.Parallel()
	started := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	w := &walk{Activities: &Activities{options: Options{Interval: 10 * time.Minute, Shards: 8, ShardsAtOnce: 8}}, at: cursor{Started: started}}
	require.Equal(t, started, w.turn(started, 0, 9))
	require.Equal(t, started.Add(8*time.Minute), w.turn(started, 8, 9), "a tenth of the interval stays spare")
	half := started.Add(5 * time.Minute)
	require.Equal(t, half, w.turn(half, 0, 4))
	require.Equal(t, half.Add(3*time.Minute), w.turn(half, 3, 4))
	late := started.Add(time.Hour)
	require.Equal(t, late, w.turn(late, 3, 4), "a late attempt does not wait")
}

// countingReader counts live reads.
type countingReader struct {
	client.Reader
	gets int
}

func (r *countingReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	r.gets++
	return r.Reader.Get(ctx, key, obj, opts...)
}

func TestOnlyWorkflowsWithoutACachedResourceCostALiveRead(t *testing.T) {
	f := quiet()
	f.open = Open{kymaID: time.Now().Add(-time.Hour), "kyma/kcp-system/gone/uid": time.Now().Add(-time.Hour)}
	a := activitiesFor(t, f, quietKyma(), quietManifest())
	live := &countingReader{Reader: a.options.Live}
	a.options.Live = live
	_, err := walkShard(t, a, shardOf("uid"))
	require.NoError(t, err)
	require.Equal(t, 1, live.gets)
	require.Equal(t, map[string]string{"open kyma/kcp-system/gone/uid": "the resource was not found"}, f.kicked)
}

func TestAFailedLiveReadMakesNoOrphan(t *testing.T) {
	f := quiet()
	f.open["kyma/kcp-system/gone/uid"] = time.Now().Add(-time.Hour)
	a := activitiesFor(t, f, quietKyma(), quietManifest())
	a.options.Live = failingReader{a.options.Live}
	_, err := walkShard(t, a, shardOf("uid"))
	require.NoError(t, err)
	require.Empty(t, f.kicked)
}

type failingReader struct{ client.Reader }

func (failingReader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("the API server is down")
}

func TestASyncedCopyOfAKymaIsNotWalked(t *testing.T) {
	f, kyma := quiet(), quietKyma()
	f.open = Open{}
	kyma.Annotations = map[string]string{desired.AnnotationSyncedFrom: "kcp-system/other"}
	res, err := walkShard(t, activitiesFor(t, f, kyma), shardOf("uid"))
	require.NoError(t, err)
	require.Zero(t, res.Kymas)
	require.Empty(t, f.kicked)
}
