package cost

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness/faultproxy"
	"github.com/kyma-project/lifecycle-manager/test/harness/fixture"
)

const (
	// reads is how often the step that installs a module reads at most whether it is ready soon.
	reads = 2
	// catalogChanges is how many objects of a cluster's catalog a new version changes: the release meta, the template of
	// the new version, which comes, and that of the old one, which goes.
	catalogChanges = 3
	// reports is how often the status of a new Kyma is written into its cluster.
	reports = 2
)

// What a module's own steps are, but for its waits, whose number depends on how long they take.
var installing = []string{"ApplyManifest", "EnsureDefaultCR", "ReportManifest"}

// TestWhatAKymaWithAModuleCosts counts everything that is asked of the control plane for a new Kyma until it is Ready.
func TestWhatAKymaWithAModuleCosts(t *testing.T) {
	b := &bill{}
	i := newInstance(t, false)
	defer func() { t.Logf("\n%s", b) }()
	i.create(&v1beta2.Kyma{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.id, Name: kymaName, Labels: i.labels()},
		Spec:       v1beta2.KymaSpec{Channel: "regular", Modules: []v1beta2.Module{{Name: module}}},
	})
	i.recorder.Begin("all")
	i.kickKyma()
	i.until("there is a Manifest", func() bool { return i.manifest() != nil })
	i.until("the module becomes Ready", func() bool { return i.isReady(fixture.First()) })
	requests := i.quiet()
	i.recorder.RequireKnown(t)
	// What a process asks once, whatever the number of Kymas.
	requests = slices.DeleteFunc(requests, func(r faultproxy.Request) bool {
		return r.To == faultproxy.ToControlPlane && (r.Activity == "" && !r.Writes() || strings.HasSuffix(r.Path, "/namespaces/kube-system"))
	})
	refuseLists(i, requests)
	// Where the Deployments take longer than a second, as on a busy machine, there are waits, and a report after them.
	waited := slices.ContainsFunc(requests, func(r faultproxy.Request) bool { return r.Activity == "FollowModules" })
	requests = slices.DeleteFunc(requests, func(r faultproxy.Request) bool { return r.Activity == "FollowModules" })
	writes := map[string]int{ofKyma: 5, ofManifest: 3, ofEvents: 1}
	if waited {
		writes[ofManifest]++
	}
	b.charge(t, "a new Kyma with a module, until it is Ready", requests,
		10+catalogObjects+fixture.Objects+4+reads*fixture.KindsWithHealth+reports, writes)
	read := 0
	for _, r := range requests {
		if r.To == faultproxy.ToControlPlane && !r.Writes() {
			read++
		}
	}
	require.LessOrEqual(t, read, 7, "reads of the control plane:\n%s", strings.Join(lines(requests), "\n"))
}

// refuseLists fails where Kymas, Manifests, RemoteAgents or Secrets were listed: the API server then reads every object of the kind,
// so that the work on one Kyma would cost more the more there are.
func refuseLists(i *instance, requests []faultproxy.Request) {
	i.Helper()
	for _, r := range requests {
		switch path.Base(r.Path) {
		case "kymas", "manifests", "remoteagents", "secrets":
			require.False(i, r.To == faultproxy.ToControlPlane && !r.Writes(), "a LIST of the control plane by %s: %s", r.Activity, r)
		}
	}
}

// sweeps is the activity that compares a cluster with the inventory.
const sweeps = "WalkShard"

func TestWhatTheWorkOnAClusterCosts(t *testing.T) {
	for _, variant := range []struct {
		name          string
		withDefaultCR bool
		// moduleCRs is the number of default custom resources, each of which is created, read, and recorded
		// before and after.
		moduleCRs int
	}{
		{name: "a module without a default custom resource"},
		{name: "a module with a default custom resource", withDefaultCR: true, moduleCRs: 1},
	} {
		t.Run(variant.name, func(t *testing.T) {
			b := &bill{}
			i := newInstance(t, variant.withDefaultCR)
			defer func() { t.Logf("%s:\n%s", variant.name, b) }()
			crs := variant.moduleCRs
			untilUpgraded(i, b, crs)
			i.recorder.RequireKnown(t)
		})
	}
}

// untilUpgraded lets a cluster live until its module was upgraded once.
func untilUpgraded(i *instance, b *bill, crs int) {
	i.recorder.Begin("sync")
	firstSync(i, b)
	i.recorder.Begin("install")
	firstInstall(i, b, crs)
	i.recorder.Begin("sweep")
	steadySweep(i, b, crs)
	i.recorder.Begin("drift")
	drifted(i, b)
	i.recorder.Begin("upgrade")
	upgrade(i, b, crs)
}

func firstSync(i *instance, b *bill) {
	i.create(&v1beta2.Kyma{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.id, Name: kymaName, Labels: i.labels()}, Spec: v1beta2.KymaSpec{Channel: "regular"},
	})
	i.kickKyma()
	i.until("the Kyma becomes Ready", func() bool { return i.kyma().Status.State == shared.StateReady })
	// Of the Kyma's writes one is the finalizer, one where it is synchronized to, before anything is written there,
	// one what its remote copy asks for, before that is acted on, and one its state.
	b.charge(i.T, "first sync of a cluster", i.quiet(), 10+catalogObjects, map[string]int{ofKyma: 4, ofEvents: 1})
}

func firstInstall(i *instance, b *bill, crs int) {
	installed(i, fixture.First())
	requests := i.quiet()
	// A default custom resource is one more object, and its intent and its uid are written before and after.
	refuseLists(i, requests)
	b.charge(i.T, "first install of a Manifest, without waiting", of(requests, installing...),
		fixture.Objects+crs+4+reads*fixture.KindsWithHealth, map[string]int{ofManifest: 4 + 2*crs})
	if waiting := dearestAttempt(requests, "FollowModules"); len(waiting) > 0 {
		reads, ofTheManifest := 0, 0
		for _, r := range waiting {
			switch {
			case strings.HasSuffix(r.Path, "/deployments"):
				reads++
			case strings.Contains(r.Path, "/manifests/"):
				ofTheManifest++
			}
		}
		require.LessOrEqual(i, ofTheManifest, 1, "nobody changed it")
		b.charge(i.T, "one wait attempt, however often it reads", waiting, reads*(fixture.KindsWithHealth+1), nil)
		onlyReads(i, waiting)
	}
}

// installed lets the cluster's owner ask for the module there, and waits until it is installed.
func installed(i *instance, version fixture.Version) {
	i.askFor(v1beta2.Module{Name: module})
	i.kickKyma()
	i.until("there is a Manifest", func() bool { return i.manifest() != nil })
	i.until("the module becomes Ready", func() bool { return i.isReady(version) })
}

// askFor changes which modules the owner of the cluster wants.
func (i *instance) askFor(modules ...v1beta2.Module) {
	i.Helper()
	remote := &v1beta2.Kyma{}
	require.NoError(i, i.Remote.Get(i.Context(), client.ObjectKey{Namespace: fixture.Module(i.id).RemoteNamespace(), Name: shared.DefaultRemoteKymaName}, remote))
	remote.Spec.Modules = modules
	require.NoError(i, i.Remote.Update(i.Context(), remote))
}

func steadySweep(i *instance, b *bill, crs int) {
	require.Zero(i, i.sweep(), "a steady cluster is kicked")
	requests := i.quiet()
	b.charge(i.T, "sweep of one cluster, nothing changed", requests, fixture.Kinds+crs+3, nil)
	onlyReads(i, requests)
	for _, r := range requests {
		require.NotEqual(i, faultproxy.ToControlPlane, r.To, "an idle Kyma's pass asks the control plane nothing: %s", r)
	}
}

// onlyReads refuses requests that could change anything in either cluster.
func onlyReads(i *instance, requests []faultproxy.Request) {
	i.Helper()
	require.NotEmpty(i, requests)
	for _, r := range requests {
		require.False(i, r.Writes(), r)
	}
}

func drifted(i *instance, b *bill) {
	edited := &corev1.ConfigMap{}
	require.NoError(i, i.Remote.Get(i.Context(), client.ObjectKey{Namespace: fixture.Module(i.id).Namespace(), Name: "two"}, edited))
	edited.Data["content"] = "edited"
	require.NoError(i, i.Remote.Update(i.Context(), edited))
	require.Equal(i, 1, i.sweep(), "drift is not seen")
	i.until("the object is corrected", func() bool {
		require.Equal(i, shared.StateReady, i.manifest().Status.State, "one pass repairs it")
		now := &corev1.ConfigMap{}
		require.NoError(i, i.Remote.Get(i.Context(), client.ObjectKeyFromObject(edited), now))
		return now.Data["content"] != "edited"
	})
	i.until("the Manifest settles", func() bool { return i.isReady(fixture.First()) })
	var beyond []faultproxy.Request
	var sweeping []faultproxy.Request
	for _, r := range i.quiet() {
		if r.Activity == sweeps {
			sweeping = append(sweeping, r)
		} else {
			beyond = append(beyond, r)
		}
	}
	onlyReads(i, sweeping)
	b.charge(i.T, "one object drifted, beyond the sweep", beyond, fixture.Kinds+2, map[string]int{ofManifest: 1, ofEvents: 1})
}

func upgrade(i *instance, b *bill, crs int) {
	const changed = 3
	upgradeTo(i, fixture.Changed())
	requests := i.quiet()
	// Nobody waits for that reconcile: the cluster is recognized by its Kyma, and its catalog listed and changed.
	background := slices.DeleteFunc(slices.Clone(requests), func(r faultproxy.Request) bool { return r.Activity != "ReconcileInBackground" })
	require.NotEmpty(i, background)
	b.charge(i.T, "reconcile of a new version of a module", background, 3+catalogChanges, map[string]int{ofKyma: 1, ofManifest: 1}) // how the Manifest is to be, and then the Manifest
	b.charge(i.T, "upgrade that changes 3 objects, without waiting", of(requests, installing...), fixture.Kinds+changed+1+reads*(fixture.KindsWithHealth+crs), map[string]int{ofManifest: 5})
}

// upgradeTo puts another version into the channel, and waits until it is installed.
func upgradeTo(i *instance, version fixture.Version) {
	meta := &v1beta2.ModuleReleaseMeta{}
	key := client.ObjectKey{Namespace: i.id, Name: module}
	require.NoError(i, i.Control.Get(i.Context(), key, meta))
	meta.Spec.Channels[0].Version = version.Number
	require.NoError(i, i.Control.Update(i.Context(), meta))
	i.until("the cache has it", func() bool {
		cached := &v1beta2.ModuleReleaseMeta{}
		return i.cache.Get(i.Context(), key, cached) == nil && cached.ResourceVersion == meta.ResourceVersion
	})
	i.kickBy(meta)
	i.until("the Manifest asks for it", func() bool { return i.manifest().Spec.Version == version.Number })
	i.until("the module becomes Ready", func() bool { return i.isReady(version) })
}
