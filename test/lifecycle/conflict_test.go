package lifecycle

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// otherModule creates another module of the same Kyma.
func (s *environment) otherModule(name, module string) *environment {
	s.Helper()
	other := *s
	m := &v1beta2.Manifest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.id, Name: s.id + "-" + name, OwnerReferences: s.manifest.OwnerReferences,
			Labels: map[string]string{shared.LabelKymaName: "kyma", shared.LabelModuleName: name},
		},
		Spec: v1beta2.ManifestSpec{Remote: true, Version: "1.0.0", Install: v1beta2.InstallInfo{Name: "raw-manifest", Source: s.layer(module)}},
	}
	s.create(m)
	other.manifest = m
	s.Cleanup(func() {
		remaining := &v1beta2.Manifest{}
		if err := s.control.Get(context.Background(), kick.RefOf(m).Key(), remaining); err == nil {
			remaining.Finalizers = nil
			_ = s.control.Update(context.Background(), remaining)
		}
	})
	return &other
}

func configMap(names ...string) string {
	var all strings.Builder
	for _, name := range names {
		all.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n---\n")
	}
	return all.String()
}

func (s *environment) owner(kind, namespace, name string) string {
	s.Helper()
	u := s.get("v1", kind, namespace, name)
	if u == nil {
		return "nobody: it does not exist"
	}
	return strings.TrimPrefix(u.GetAnnotations()[shared.AnnotationOwnedBy], s.id+"/"+s.id+"-")
}

func TestAnObjectOfAnotherModuleIsRefusedAndTheOthersAreApplied(t *testing.T) {
	s := newEnvironment(t, configMap("both", "first"), nil)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	other := s.otherModule("other", configMap("both", "second"))

	result := other.apply()
	require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Equal(t, readiness.ReasonApplyFailed, result.Observed.Reason)
	require.Equal(t, "1 of 2 objects could not be applied: ConfigMap "+s.id+"-remote/both: belongs to module sample", result.Observed.Message)
	require.Equal(t, "sample", s.owner("ConfigMap", "ID-remote", "both"))
	require.Equal(t, "other", s.owner("ConfigMap", "ID-remote", "second"))
	require.Len(t, other.read().Status.Inventory, 1, "what is another's is not in the inventory")

	other.delete()
	require.Equal(t, manifests.OutcomeRemoved, other.remove(readiness.Observed{}).Outcome)
	require.Equal(t, "sample", s.owner("ConfigMap", "ID-remote", "both"), "a removal keeps what is another's")

	third := s.otherModule("third", configMap("both"))
	require.Equal(t, manifests.OutcomeIncomplete, third.apply().Outcome)
	s.update(func(m *v1beta2.Manifest) { m.Spec.Install.Source = s.layer(configMap("first")) })
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.Equal(t, manifests.OutcomeApplied, third.apply().Outcome, "what its owner no longer has is free")
	require.Equal(t, "third", s.owner("ConfigMap", "ID-remote", "both"))
}

func TestOfTwoModulesWithTheSameObjectExactlyOneGetsIt(t *testing.T) {
	s := newEnvironment(t, configMap("both", "first"), nil)
	other := s.otherModule("other", configMap("both", "second"))
	modules := []*environment{s, other}
	results := make([]install.ApplyResult, len(modules))
	together := func() {
		var done sync.WaitGroup
		errs := make([]error, len(modules))
		for i, module := range modules {
			done.Go(func() {
				results[i], errs[i] = module.activities.Install.ApplyManifest(context.Background(), install.ApplyInput{Ref: kick.RefOf(module.manifest)})
			})
		}
		done.Wait()
		require.NoError(t, errors.Join(errs...))
	}
	// What the other has only recorded is tried again: it is decided when one of them owns it.
	decided := func() (winner int, refused bool) {
		together()
		if results[1].Outcome == manifests.OutcomeApplied {
			winner = 1
		}
		return winner, results[winner].Outcome == manifests.OutcomeApplied && results[1-winner].Observed.Reason == readiness.ReasonApplyFailed
	}
	var winner int
	require.Eventually(t, func() bool {
		first, refused := decided()
		winner = first
		return refused
	}, time.Minute, 10*time.Millisecond, "%v", &results)
	names := []string{"sample", "other"}
	belongs := "belongs to module " + names[winner]
	require.Contains(t, results[1-winner].Observed.Message, belongs)
	require.Equal(t, names[winner], s.owner("ConfigMap", "ID-remote", "both"))
	again, refused := decided()
	require.True(t, refused, "%v", results)
	require.Equal(t, winner, again, "it does not change")
	require.Contains(t, results[1-winner].Observed.Message, belongs)
	require.Equal(t, names[winner], s.owner("ConfigMap", "ID-remote", "both"))
}

func TestANamespaceOfTwoModulesKeepsTheMarkOfTheFirstAndTheLabelsOfBoth(t *testing.T) {
	namespace := func(label string) string {
		return "apiVersion: v1\nkind: Namespace\nmetadata: {name: ID, labels: {" + label + ": wanted}}\n---\n"
	}
	s := newEnvironment(t, namespace("first"), nil)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	other := s.otherModule("other", namespace("second")+"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: inside, namespace: ID}\n")
	require.Equal(t, manifests.OutcomeApplied, other.apply().Outcome)
	for range 2 {
		require.Equal(t, "sample", s.owner("Namespace", "", "ID"))
		labels := s.get("v1", "Namespace", "", "ID").GetLabels()
		require.Equal(t, "wanted", labels["first"])
		require.Equal(t, "wanted", labels["second"])
		require.Equal(t, s.manifest.Name, labels["app.kubernetes.io/component"])
		require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
		require.Equal(t, manifests.OutcomeApplied, other.apply().Outcome)
	}
	s.delete()
	require.Equal(t, manifests.OutcomeRemoved, s.remove(readiness.Observed{}).Outcome)
	require.NotNil(t, s.get("v1", "ConfigMap", "ID", "inside"), "the other module is still in it")
	require.Nil(t, s.get("v1", "Namespace", "", "ID").GetDeletionTimestamp())
}
