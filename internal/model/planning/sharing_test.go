package planning

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func TestAModuleSharedWithAnotherKymaInTheControlPlane(t *testing.T) {
	component := desiredtest.Component("keda")
	other := func(version string) v1beta2.Manifest {
		return v1beta2.Manifest{
			ObjectMeta: metav1.ObjectMeta{
				Name: "other-keda", Namespace: "kcp-system",
				Labels:          map[string]string{shared.LabelKymaName: "other", desired.LabelSharedModule: desired.SharedModule(component)},
				Annotations:     map[string]string{desired.AnnotationRemoteNamespace: "of-other"},
				OwnerReferences: []metav1.OwnerReference{{Kind: "Kyma", Name: "other", UID: "other-uid", Controller: new(true)}},
			},
			Spec:   v1beta2.ManifestSpec{Version: version},
			Status: v1beta2.ManifestStatus{Target: &v1beta2.TargetRecord{Cluster: v1beta2.TargetClusterControlPlane}},
		}
	}
	for name, test := range map[string]struct {
		owners  func(string) ([]v1beta2.Manifest, error)
		synced  bool
		refused string
	}{
		"in the same version is shared": {owners: func(string) ([]v1beta2.Manifest, error) { return []v1beta2.Manifest{other("1.0.0")}, nil }},
		"in another version is refused": {
			owners:  func(string) ([]v1beta2.Manifest, error) { return []v1beta2.Manifest{other("2.0.0")}, nil },
			refused: "module keda is shared in the control plane with Kyma kcp-system/other, which has it in version 2.0.0: version 1.0.0 is refused",
		},
		"is not shared if it is for a remote cluster": {
			owners: func(string) ([]v1beta2.Manifest, error) { return []v1beta2.Manifest{other("2.0.0")}, nil }, synced: true,
		},
		"cannot be read": {
			owners:  func(string) ([]v1beta2.Manifest, error) { return nil, errors.New("no connection") },
			refused: "module keda: no connection",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &setup{kyma: desiredtest.Kyma("keda"), owners: test.owners,
				templates: []*v1beta2.ModuleTemplate{desiredtest.ChannelTemplate("keda", "regular", "1.0.0")}}
			if test.synced {
				s.settings.Mode = desired.ModeControlPlane
				s.kyma = desiredtest.Accepted(s.kyma, v1beta2.SyncGenerationDefault, "regular", v1beta2.Module{Name: "keda"})
			}
			plans, _ := s.plan(t)
			plan := plans["keda"]
			if test.refused != "" {
				require.Equal(t, test.refused, plan.Refusal.Message)
				require.Equal(t, ActionNone, plan.Action)
				return
			}
			require.Nil(t, plan.Refusal)
			require.Equal(t, ActionCreate, plan.Action)
			if !test.synced {
				require.Equal(t, "of-other", plan.Manifest.Annotations[desired.AnnotationRemoteNamespace], "the namespace in which the other Kyma has it")
			}
			require.Equal(t, !test.synced, plan.Manifest.Labels[desired.LabelSharedModule] == desired.SharedModule(component))
		})
	}
}

func TestTheHolderOfASharedModuleMayChangeItsVersion(t *testing.T) {
	s := &setup{kyma: desiredtest.Kyma("keda"), templates: []*v1beta2.ModuleTemplate{desiredtest.ChannelTemplate("keda", "regular", "1.0.0")}}
	plans, _ := s.plan(t)
	mine := plans["keda"].Manifest
	follower := *mine.DeepCopy()
	follower.Name, follower.OwnerReferences = "follower", []metav1.OwnerReference{{Kind: "Kyma", Name: "follower", UID: "follower-uid", Controller: new(true)}}
	mine.Status.InstalledRef = "sha256:1"
	s.manifests = []*v1beta2.Manifest{mine}
	s.owners = func(string) ([]v1beta2.Manifest, error) { return []v1beta2.Manifest{follower, *mine}, nil }
	s.templates = []*v1beta2.ModuleTemplate{desiredtest.ChannelTemplate("keda", "regular", "1.1.0")}
	plans, _ = s.plan(t)
	require.Nil(t, plans["keda"].Refusal)
	require.Equal(t, ActionUpdate, plans["keda"].Action)
}
