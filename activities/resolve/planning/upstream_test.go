package planning

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// byUpstream is a Manifest as upstream writes it.
func byUpstream(m *v1beta2.Manifest) *v1beta2.Manifest {
	m.Spec.Remote = false
	m.Spec.Install.Source.Repo = "registry.example.com/modules"
	m.Status.Synced = []v1beta2.SyncedObject{{Version: "v1", Kind: "ConfigMap", Name: "settings", Namespace: "kyma-system"}}
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	delete(m.Annotations, desired.AnnotationSpecDigest)
	m.Annotations["sync-oci-ref"] = "sha256:1"
	return m
}

func TestAManifestOfUpstreamsThatStaysIsWrittenInOurForm(t *testing.T) {
	manifest := byUpstream(&v1beta2.Manifest{})
	manifest.Name, manifest.Spec.Version = "kyma-keda", "1.0.0"
	for name, action := range map[string]Action{"kept": ActionKeep, "removed": ActionRemove} {
		t.Run(name, func(t *testing.T) {
			p := &planner{sync: desired.Sync{Enabled: true}}
			p.Settings.SyncNamespace = "kyma-system"
			e := &entry{manifest: manifest, plan: ModulePlan{Action: action}}
			p.takeOver(e)
			if action == ActionRemove {
				require.Equal(t, ActionRemove, e.plan.Action)
				return
			}
			require.Equal(t, ActionUpdate, e.plan.Action)
			require.True(t, e.plan.Manifest.Spec.Remote)
			require.Equal(t, "1.0.0", e.plan.Manifest.Spec.Version)
			require.Equal(t, "registry.example.com/modules/component-descriptors", e.plan.Manifest.Spec.Install.Source.Repo)
			require.False(t, IsUpstreams(e.plan.Manifest))
			require.False(t, desired.IsEdited(e.plan.Manifest))
			require.False(t, manifest.Spec.Remote, "what was read is not changed")
		})
	}
}
