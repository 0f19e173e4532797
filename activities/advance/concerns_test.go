package advance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

func TestTheKymasThatARolloutConcerns(t *testing.T) {
	entry := func(change func(*v1beta2.Module)) func(*v1beta2.Kyma) {
		return func(k *v1beta2.Kyma) { change(&k.Spec.Modules[0]) }
	}
	synced := func(k *v1beta2.Kyma) { k.Spec.Sync = &v1beta2.Sync{Enabled: new(true)} }
	accepted := func(channel string, modules ...v1beta2.Module) func(*v1beta2.Kyma) {
		return func(k *v1beta2.Kyma) {
			k.Status.Remote = &v1beta2.RemoteStatus{UID: "remote", Cluster: "remote", Channel: channel, Modules: modules, Generation: v1beta2.SyncGenerationExplicit}
		}
	}
	for name, test := range map[string]struct {
		kyma *v1beta2.Kyma
		// one is whether the rollout of a channel concerns the Kyma. all is whether the rollout of a mandatory module
		// does.
		one, all bool
	}{
		"one that takes the module from its channel":    {cluster("a"), true, true},
		"one by its default channel":                    {cluster("a", func(k *v1beta2.Kyma) { k.Spec.Channel = "" }), true, true},
		"one by the entry's channel":                    {cluster("a", func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" }, entry(func(m *v1beta2.Module) { m.Channel = "regular" })), true, true},
		"not one of another channel":                    {cluster("a", func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" }), false, true},
		"not one whose entry has another channel":       {cluster("a", entry(func(m *v1beta2.Module) { m.Channel = "fast" })), false, true},
		"not one that pins a version":                   {cluster("a", entry(func(m *v1beta2.Module) { m.Version = "1.0.0" })), false, true},
		"not one with an unmanaged module":              {cluster("a", entry(func(m *v1beta2.Module) { m.Managed = new(false) })), false, true},
		"not one without the module":                    {cluster("a", func(k *v1beta2.Kyma) { k.Spec.Modules = nil }), false, true},
		"not one that still shows a removed module":     {cluster("a", func(k *v1beta2.Kyma) { k.Spec.Modules, k.Status.Modules = nil, []v1beta2.ModuleStatus{{Name: "keda"}} }), false, true},
		"not one under deletion":                        {cluster("a", deleted), false, false},
		"not one of another instance":                   {cluster("a", ofAnotherInstance), false, false},
		"not a synced copy":                             {cluster("a", func(k *v1beta2.Kyma) { k.Annotations[desired.AnnotationSyncedFrom] = "kcp-system/other" }), false, false},
		"one with skip-reconciliation, which waits":     {cluster("a", func(k *v1beta2.Kyma) { k.Labels["operator.kyma-project.io/skip-reconciliation"] = "true" }), true, true},
		"not one with an unknown remote Kyma":           {cluster("a", synced), false, true},
		"one whose remote Kyma has the module":          {cluster("a", synced, func(k *v1beta2.Kyma) { k.Spec.Modules = nil }, accepted("regular", v1beta2.Module{Name: "keda"})), true, true},
		"not one whose remote Kyma has another channel": {cluster("a", synced, accepted("fast")), false, true},
		"one in another namespace":                      {cluster("a", elsewhere), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, test.kyma)
			for r, want := range map[*v1beta2.ModuleRollout]bool{rolloutTo("1.1.0"): test.one, rolloutTo("1.1.0", mandatory): test.all} {
				found, err := Concerned(t.Context(), b.Client, b.Settings, r)
				require.NoError(t, err)
				if !want {
					require.Empty(t, found, "channel %q", r.Spec.Channel)
					continue
				}
				require.Len(t, found, 1, "channel %q", r.Spec.Channel)
				require.Equal(t, test.kyma.Name, found[0].Name)
			}
		})
	}
}
