package advance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

// observation returns the observation of the only cluster.
func (b *bench) observation(r *v1beta2.ModuleRollout) rollout.Observation {
	b.t.Helper()
	observations, err := b.observations(b.t.Context(), r)
	require.NoError(b.t, err)
	require.Len(b.t, observations, 1)
	return observations[0]
}

func state(state shared.State) func(*v1beta2.Manifest) {
	return func(m *v1beta2.Manifest) { m.Status.State = state }
}

// applying turns a Manifest into one with a new spec and the status of the previous spec.
func applying(m *v1beta2.Manifest) { m.Generation++ }

func installedBefore(version string) func(*v1beta2.Manifest) {
	return func(m *v1beta2.Manifest) { m.Status.InstalledVersion = version }
}

func skipped[T client.Object](object T) {
	labels := object.GetLabels()
	labels[shared.LabelSkipReconciliation] = shared.ValueTrue
	object.SetLabels(labels)
}

// row changes the module's row in the Kyma's status.
func row(change func(*v1beta2.ModuleStatus)) func(*v1beta2.Kyma) {
	return func(k *v1beta2.Kyma) {
		module := v1beta2.ModuleStatus{Name: "keda", Version: "1.0.0", State: shared.StateReady}
		change(&module)
		k.Status.Modules = append(k.Status.Modules, module)
	}
}

func TestTheStateOfAClusterIsTheStateOfItsManifestsVersion(t *testing.T) {
	for name, test := range map[string]struct {
		version string
		changes []func(*v1beta2.Manifest)
		want    shared.State
	}{
		"ready in the version":           {"1.1.0", nil, shared.StateReady},
		"ready with a warning":           {"1.1.0", []func(*v1beta2.Manifest){state(shared.StateWarning)}, shared.StateWarning},
		"failed":                         {"1.1.0", []func(*v1beta2.Manifest){state(shared.StateError)}, shared.StateError},
		"failed before it was installed": {"1.1.0", []func(*v1beta2.Manifest){state(shared.StateError), installedBefore("1.0.0")}, shared.StateError},
		"in progress":                    {"1.1.0", []func(*v1beta2.Manifest){state(shared.StateProcessing)}, ""},
		"not started":                    {"1.1.0", []func(*v1beta2.Manifest){state("")}, ""},
		"being removed":                  {"1.1.0", []func(*v1beta2.Manifest){state(shared.StateDeleting)}, ""},
		"unmanaged":                      {"1.1.0", []func(*v1beta2.Manifest){state(shared.StateUnmanaged)}, ""},
		"ready in the previous version":  {"1.1.0", []func(*v1beta2.Manifest){installedBefore("1.0.0")}, ""},
		"ready by an outdated status":    {"1.1.0", []func(*v1beta2.Manifest){applying}, ""},
		"failed in the previous version": {"1.1.0", []func(*v1beta2.Manifest){applying, state(shared.StateError), installedBefore("1.0.0")}, ""},
		"ready in the version it keeps":  {"1.0.0", nil, shared.StateReady},
	} {
		t.Run(name, func(t *testing.T) {
			kyma := cluster("a", canary)
			got := newBench(t, kyma, installed(kyma, test.version, test.changes...)).observation(rolloutTo("1.1.0"))
			require.Equal(t, test.version, got.Version)
			require.Equal(t, test.want, got.State)
			require.Equal(t, "kcp-system/a", got.Kyma)
			require.Equal(t, "sha256:"+test.version, got.Layer)
			require.Equal(t, rollout.Cluster{UID: "uid-a", Labels: map[string]string{"stage": "canary"}}, got.Cluster)
			require.False(t, got.Refused || got.Waits || got.Unreachable)
		})
	}
}

func TestTheManifestSaysWhatIsWrong(t *testing.T) {
	kyma := cluster("a")
	m := installed(kyma, "1.1.0", state(shared.StateError), func(m *v1beta2.Manifest) {
		m.Status.LastOperation = &v1beta2.LastOperation{Operation: "the Deployment has no ready pod"}
	})
	got := newBench(t, kyma, m).observation(rolloutTo("1.1.0"))
	require.Equal(t, "Error", got.Reason)
	require.Equal(t, "the Deployment has no ready pod", got.Message)
	require.False(t, got.AwaitsRegistry)

	m.Status.LastOperation.Reason = artifacts.ReasonRegistryUnavailable
	got = newBench(t, kyma, m).observation(rolloutTo("1.1.0"))
	require.Equal(t, "RegistryUnavailable", got.Reason)
	require.True(t, got.AwaitsRegistry)
	m.Status.ObservedGeneration--
	require.False(t, newBench(t, kyma, m).observation(rolloutTo("1.1.0")).AwaitsRegistry, "the fault was about the previous version")
}

func TestSomeClustersCannotBeUpdatedNow(t *testing.T) {
	unreachable := func(k *v1beta2.Kyma) { k.Status.Remote = &v1beta2.RemoteStatus{Reachable: new(false)} }
	maintenance := func(m *v1beta2.ModuleStatus) { m.Maintenance = true }
	ofOther := func(m *v1beta2.ModuleStatus) { m.Name, m.Maintenance = "btp", true }
	for name, test := range map[string]struct {
		kyma               func(*v1beta2.Kyma)
		manifest           func(*v1beta2.Manifest)
		version            string
		waits, unreachable bool
	}{
		"for a maintenance window":                       {kyma: row(maintenance), waits: true},
		"because they are deferred":                      {kyma: row(func(m *v1beta2.ModuleStatus) { m.DeferredUntil = &metav1.Time{Time: begun} }), waits: true},
		"not for one of another module":                  {kyma: row(ofOther)},
		"for the label on the Kyma":                      {kyma: skipped[*v1beta2.Kyma], waits: true},
		"for the label on the Manifest":                  {manifest: skipped[*v1beta2.Manifest], waits: true},
		"unreachable":                                    {kyma: unreachable, unreachable: true},
		"because they have a newer version":              {version: "1.2.0", waits: true},
		"not if downgrades are allowed":                  {version: "1.2.0", kyma: func(k *v1beta2.Kyma) { k.Annotations[desired.AnnotationAllowDowngrade] = "true" }},
		"not if the newer version is the rollout's":      {version: "1.1.0"},
		"not with a version older than the previous one": {version: "0.9.0"},
	} {
		t.Run(name, func(t *testing.T) {
			kyma := cluster("a")
			if test.kyma != nil {
				test.kyma(kyma)
			}
			m := installed(kyma, "1.0.0")
			if test.version != "" {
				m = installed(kyma, test.version)
			}
			if test.manifest != nil {
				test.manifest(m)
			}
			got := newBench(t, kyma, m).observation(rolloutTo("1.1.0"))
			require.Equal(t, test.waits, got.Waits)
			require.Equal(t, test.unreachable, got.Unreachable)
		})
	}
}

// Otherwise the rollout would complete although no cluster has the version.
func TestARolloutToALowerVersionThanAllClustersHaveFails(t *testing.T) {
	kyma := cluster("a")
	r := rolloutTo("1.0.0", func(r *v1beta2.ModuleRollout) { r.Spec.From = "1.1.0" })
	require.False(t, newBench(t, kyma, installed(kyma, "1.1.0")).observation(r).Waits)
}

func TestTheKymaReportsARefusal(t *testing.T) {
	refused := func(version, refused string, state shared.State) func(*v1beta2.Kyma) {
		return row(func(m *v1beta2.ModuleStatus) {
			m.Version, m.RefusedVersion, m.Message, m.State = version, refused, "version 1.1.0 has no template", state
		})
	}
	for name, test := range map[string]struct {
		kyma    func(*v1beta2.Kyma)
		version string // version of the Manifest, or empty if there is none
		want    bool
	}{
		"of an installed module, which shows the installed version": {refused("1.0.0", "1.1.0", shared.StateError), "1.0.0", true},
		"of a module that is not installed":                         {refused("1.1.0", "1.1.0", shared.StateError), "", true},
		"not of another version that is not installed":              {refused("1.0.0", "1.0.0", shared.StateError), "", false},
		"not of an error of the previous version":                   {refused("1.0.0", "", shared.StateError), "1.0.0", false},
		"not after the Manifest has the version":                    {refused("1.0.0", "1.1.0", shared.StateError), "1.1.0", false},
		"not if the installed version keeps working":                {refused("1.0.0", "1.1.0", shared.StateWarning), "1.0.0", false},
	} {
		t.Run(name, func(t *testing.T) {
			kyma := cluster("a", test.kyma)
			objects := []client.Object{kyma}
			if test.version != "" {
				objects = append(objects, installed(kyma, test.version))
			}
			got := newBench(t, objects...).observation(rolloutTo("1.1.0"))
			require.Equal(t, test.want, got.Refused)
			if test.want {
				require.Equal(t, "Error", got.Reason)
				require.Equal(t, kyma.Status.Modules[0].Message, got.Message)
			}
		})
	}
}

func TestARefusedVersionFailsImmediately(t *testing.T) {
	first, _, objects := fleetOf()
	row(func(m *v1beta2.ModuleStatus) {
		m.State, m.RefusedVersion = shared.StateError, "1.1.0"
		m.Message = `failed to get module template: ModuleTemplate.operator.kyma-project.io "keda-1.1.0" not found`
	})(first)
	r := rolloutTo("1.1.0")
	b := newBench(t, append(objects, r)...)
	b.step(r)
	out := b.step(r)
	require.Equal(t, "Held", out.Phase)
	require.Contains(t, out.WaitsFor, "1 of 1 clusters of stage canary failed with version 1.1.0 (allowed: 0): Error: failed to get module template")
	require.EqualValues(t, 1, r.Status.Failures[0].Clusters)
}

func TestAClusterWithoutAManifestHasNoVersion(t *testing.T) {
	kyma := cluster("a")
	b := newBench(t, kyma, installed(cluster("b"), "1.1.0"), installed(kyma, "1.1.0", func(m *v1beta2.Manifest) {
		m.Labels[shared.LabelModuleName] = "btp"
	}))
	require.Equal(t, rollout.Observation{Cluster: rollout.Cluster{UID: kyma.UID}, Kyma: "kcp-system/a"}, b.observation(rolloutTo("1.1.0")))
}

func TestTheTimeSinceWhenAClusterHasTheVersion(t *testing.T) {
	made, upgraded, broke := begun.Add(-24*time.Hour), begun.Add(-time.Hour), begun.Add(-time.Minute)
	note := func(m *v1beta2.Manifest) {
		before := m.DeepCopy()
		before.Spec.Version = "1.0.0"
		rollout.NoteUpgrade(before, m, upgraded)
	}
	transition := func(m *v1beta2.Manifest) {
		m.Status.Conditions = []metav1.Condition{{Type: string(shared.ConditionInstallation), LastTransitionTime: metav1.NewTime(broke)}}
	}
	for name, test := range map[string]struct {
		changes []func(*v1beta2.Manifest)
		want    time.Time
		well    bool
	}{
		"its first version":                         {nil, made, false},
		"it was upgraded":                           {[]func(*v1beta2.Manifest){note}, upgraded, true},
		"it was upgraded from an unhealthy version": {[]func(*v1beta2.Manifest){state(shared.StateError), note}, upgraded, false},
		"it was installed, and became unhealthy":    {[]func(*v1beta2.Manifest){note, transition, state(shared.StateProcessing)}, broke, true},
		"it was never installed in this version":    {[]func(*v1beta2.Manifest){note, transition, installedBefore("1.0.0")}, upgraded, true},
		"somebody wrote an invalid time": {[]func(*v1beta2.Manifest){func(m *v1beta2.Manifest) {
			m.Annotations[rollout.AnnotationUpgrade] = "yesterday"
		}}, made, false},
	} {
		t.Run(name, func(t *testing.T) {
			kyma := cluster("a")
			got := newBench(t, kyma, installed(kyma, "1.1.0", test.changes...)).observation(rolloutTo("1.1.0"))
			require.True(t, test.want.Equal(got.Since), got.Since)
			require.Equal(t, test.well, got.WasWell)
		})
	}
}

func TestTheTimeOfAReconnectedClusterStartsAgain(t *testing.T) {
	kyma := cluster("a", func(k *v1beta2.Kyma) {
		k.Status.Remote = &v1beta2.RemoteStatus{Reachable: new(true), ReachableSince: new(metav1.NewTime(begun))}
	})
	require.True(t, newBench(t, kyma, installed(kyma, "1.1.0")).observation(rolloutTo("1.1.0")).FreeSince.Equal(begun))
}

func TestAMandatoryModuleIsObservedByItsOwnManifest(t *testing.T) {
	kyma := cluster("a", row(func(m *v1beta2.ModuleStatus) { m.State, m.Version, m.Maintenance = shared.StateError, "1.1.0", true }))
	listed := installed(kyma, "9.0.0")
	every := installed(kyma, "1.0.0", func(m *v1beta2.Manifest) {
		m.Name, m.Labels[shared.LabelMandatoryModule] = "a-mandatory", shared.ValueTrue
		delete(m.Labels, shared.LabelChannel)
	})
	b := newBench(t, kyma, listed, every)
	got := b.observation(rolloutTo("1.1.0", mandatory))
	require.Equal(t, "1.0.0", got.Version)
	require.False(t, got.Refused || got.Waits, "the status is about an entry with the same name")
	require.Equal(t, "9.0.0", b.observation(rolloutTo("1.1.0")).Version)

	every.Annotations[rollout.AnnotationHeldBack] = rollout.HeldBack{Version: "1.1.0", Waits: true}.Text()
	b = newBench(t, kyma, listed, every)
	require.True(t, b.observation(rolloutTo("1.1.0", mandatory)).Waits)
	require.False(t, b.observation(rolloutTo("1.2.0", mandatory)).Waits, "the note is about another version")

	every.Annotations[rollout.AnnotationHeldBack] = rollout.HeldBack{Version: "1.1.0", Reason: "DescriptorInvalid", Message: "no layers"}.Text()
	got = newBench(t, kyma, listed, every).observation(rolloutTo("1.1.0", mandatory))
	require.True(t, got.Refused)
	require.Equal(t, "DescriptorInvalid", got.Reason)
	require.Equal(t, "no layers", got.Message)
}

func TestALongModuleNameIsReadFromTheAnnotation(t *testing.T) {
	kyma := cluster("a")
	m := installed(kyma, "1.1.0", func(m *v1beta2.Manifest) {
		m.Labels[shared.LabelModuleName], m.Annotations[desired.AnnotationModuleEntry] = "short", "keda"
	})
	require.Equal(t, "1.1.0", newBench(t, kyma, m).observation(rolloutTo("1.1.0")).Version)
}

// Informers may be behind. Clusters that were just released then count as updating, and no others are released instead.
func TestAStaleInformerReleasesNoCluster(t *testing.T) {
	_, _, objects := fleetOf()
	r := rolloutTo("1.1.0", func(r *v1beta2.ModuleRollout) { r.Spec.Plan.Stages = nil })
	b := newBench(t, append(objects, r)...)
	b.step(r)
	require.EqualValues(t, 1, r.Status.Stages[0].Updating, "a tenth, but at least one")
	released := r.Status.Released
	for range 3 {
		b.now = b.now.Add(time.Minute)
		b.step(r)
		require.Equal(t, released, r.Status.Released)
	}
}
