package manifests

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestInputsDigestChangesWithEveryInputAndNothingElse(t *testing.T) {
	t.Parallel()
	manifest := func() *v1beta2.Manifest {
		return &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 1, Labels: map[string]string{}, Annotations: map[string]string{}}}
	}
	base := InputsDigest(manifest())
	require.Equal(t, base, InputsDigest(manifest()))
	same := manifest()
	same.ResourceVersion, same.Labels["other"], same.Status.State = "7", "x", shared.StateReady
	require.Equal(t, base, InputsDigest(same))
	now := metav1.Now()
	for name, change := range map[string]func(*v1beta2.Manifest){
		"another object":            func(m *v1beta2.Manifest) { m.UID = "v" },
		"another spec":              func(m *v1beta2.Manifest) { m.Generation = 2 },
		"a deletion":                func(m *v1beta2.Manifest) { m.DeletionTimestamp = &now },
		"skipped":                   func(m *v1beta2.Manifest) { m.Labels[shared.LabelSkipReconciliation] = "true" },
		"unmanaged":                 func(m *v1beta2.Manifest) { m.Annotations[shared.AnnotationIsUnmanaged] = "true" },
		"other state checks":        func(m *v1beta2.Manifest) { m.Annotations[desired.AnnotationCustomStateCheck] = "[]" },
		"another namespace":         func(m *v1beta2.Manifest) { m.Annotations[desired.AnnotationRemoteNamespace] = "x" },
		"another strategy":          func(m *v1beta2.Manifest) { m.Annotations[desired.AnnotationRemoteStrategy] = "local-client" },
		"recreating the default CR": func(m *v1beta2.Manifest) { m.Annotations[shared.AnnotationRecreateDefaultCR] = "true" },
	} {
		changed := manifest()
		change(changed)
		require.NotEqual(t, base, InputsDigest(changed), name)
	}
}

func TestAWaitReportsNews(t *testing.T) {
	t.Parallel()
	reported := readiness.Observed{State: shared.StateProcessing, Reason: readiness.ReasonResourcesPending, Message: "waiting for a, b"}
	other := reported
	other.Message, other.Ready = "waiting for b", 1
	wanted := readiness.Observed{State: shared.StateProcessing, Reason: readiness.ReasonModuleCRWanted, DefaultCRWanted: true}
	early, late := Wait{Elapsed: time.Second}, Wait{Elapsed: time.Minute}
	require.False(t, early.IsNews(reported, reported))
	require.False(t, early.IsNews(other, reported), "within the first seconds, the message does not matter")
	require.True(t, late.IsNews(other, reported))
	require.True(t, early.IsNews(readiness.Observed{State: shared.StateReady, Reason: readiness.ReasonReady}, reported))
	require.True(t, early.IsNews(wanted, wanted), "a wanted default CR is reported until it is created")
	missing := readiness.Observed{State: shared.StateProcessing, Reason: readiness.ReasonResourcesMissing, Message: "gone"}
	require.True(t, early.IsNews(missing, missing), "missing resources need another reconcile, whatever was reported")
	require.True(t, early.IsNews(BeingDeleted(), BeingDeleted()), "a deleted Manifest needs another reconcile, whatever was reported")
	require.Equal(t, time.Second, early.Pause())
	require.Equal(t, 6*time.Second, late.Pause())
	require.Equal(t, 30*time.Second, Wait{Elapsed: time.Hour}.Pause())
}

func TestConditionsFollowTheObservedState(t *testing.T) {
	t.Parallel()
	m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	var s v1beta2.ManifestStatus
	now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	statuses := func() map[string]string {
		all := map[string]string{}
		for _, c := range s.Conditions {
			all[c.Type] = string(c.Status)
		}
		return all
	}
	SetObserved(m, &s, readiness.Observed{State: shared.StateProcessing, Reason: readiness.ReasonInstalling, Message: "installing"}, now)
	require.Equal(t, map[string]string{"Resources": "False", "Installation": "False"}, statuses())
	SetObserved(m, &s, readiness.Observed{State: shared.StateProcessing, Reason: readiness.ReasonModuleCRPending, Message: "waiting"}, now)
	require.Equal(t, map[string]string{"Resources": "True", "Installation": "False"}, statuses())
	SetObserved(m, &s, readiness.Observed{State: shared.StateReady, Reason: readiness.ReasonReady, Message: "ready", Ready: 2, Total: 2}, now)
	require.Equal(t, map[string]string{"Resources": "True", "Installation": "True"}, statuses())
	for _, c := range s.Conditions {
		require.Contains(t, []string{"ResourcesAvailable", "Ready"}, c.Reason)
	}
	SetObserved(m, &s, readiness.Observed{State: shared.StateReady, Reason: "UnreachableTimeout", Message: "no answer"}, now)
	require.Equal(t, map[string]string{"Resources": "True", "Installation": "True"}, statuses(), "nothing was read")
	require.Equal(t, "no answer", s.LastOperation.Operation)
	require.Equal(t, v1beta2.ObjectCounts{Total: 2, Ready: 2}, *s.Counts)
	SetObserved(m, &s, readiness.Observed{State: shared.StateDeleting, Reason: readiness.ReasonWaitingForResources, Message: "going"}, now)
	require.Equal(t, map[string]string{"Resources": "False", "Installation": "False"}, statuses())
}

func TestAnErrorHasAReasonForPrograms(t *testing.T) {
	s, now := v1beta2.ManifestStatus{}, metav1.Now()
	m := &v1beta2.Manifest{}
	SetObserved(m, &s, readiness.Observed{State: shared.StateError, Reason: "RegistryUnavailable", Message: "the registry answered with status 429"}, now)
	require.Equal(t, "RegistryUnavailable", s.LastOperation.Reason)
	SetObserved(m, &s, readiness.Observed{State: shared.StateReady, Reason: readiness.ReasonReady, Message: "module is ready"}, now)
	require.Empty(t, s.LastOperation.Reason)
}

func TestTheTextsOfAStatusAreBoundedWhoeverWroteThem(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("müde\n", 10_000)
	for _, reason := range []string{readiness.ReasonResourcesFailed, ReasonNotPlanned} {
		m := &v1beta2.Manifest{}
		SetObserved(m, &m.Status, readiness.Observed{State: shared.StateError, Reason: reason, Message: long, Hint: long}, metav1.Now())
		require.LessOrEqual(t, len(m.Status.LastOperation.Operation), fault.MaxMessage)
		require.LessOrEqual(t, len(m.Status.LastOperation.Hint), fault.MaxMessage)
		require.NotEmpty(t, m.Status.Conditions)
		for _, c := range m.Status.Conditions {
			require.LessOrEqual(t, len(c.Message), 2*fault.MaxMessage)
		}
	}
}
