package lifecycle

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

func TestARefusedModuleStaysInErrorWhileItIsRetried(t *testing.T) {
	immutable := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed}\nimmutable: true\ndata: {a: "
	s := newEnvironment(t, configMap("fine")+immutable+"ours}\n", nil)
	fixed := true
	theirs := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "fixed", Namespace: s.id + "-remote"}, Immutable: &fixed, Data: map[string]string{"a": "theirs"},
	}
	require.NoError(t, s.remote.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: theirs.Namespace}}))
	require.NoError(t, s.remote.Create(context.Background(), theirs))

	refused := s.apply()
	require.Equal(t, shared.StateError, refused.Observed.State)
	s.report(refused.Observed, false)
	before := s.read().Status
	s.kicks.take()

	again := s.apply()
	require.Equal(t, refused.Observed.Message, again.Observed.Message)
	require.Equal(t, shared.StateError, s.read().Status.State, "nothing new is known")
	require.Equal(t, before.LastOperation, s.read().Status.LastOperation)
	require.Empty(t, s.kicks.take(), "nobody's status flips")

	require.NoError(t, s.remote.Delete(context.Background(), theirs))
	through := s.apply()
	require.Equal(t, manifests.OutcomeApplied, through.Outcome)
	require.NotEqual(t, shared.StateError, s.read().Status.State, "it came through")
	require.NotEmpty(t, s.kicks.take())
}

func TestADeadConversionWebhookIsNamed(t *testing.T) {
	testfleet.NeedsRealRemote(t, "converting objects")
	// Neither the kind nor its namespace can be deleted for a while.
	s := newSeparateEnvironment(t, strings.NewReplacer("v1alpha1, served: true, storage: false", "v1alpha1, served: true, storage: true",
		"v1, served: true, storage: true", "v1, served: true, storage: false").Replace(withoutConversion())+ownSample("v1alpha1")+configMap("before"), nil)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	t.Cleanup(func() {
		definition := s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com")
		_ = s.remote.Patch(context.Background(), definition, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)))
	})
	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Install.Source = s.layer(convertingYAML + ownSample("v1") + configMap("before") + configMap("after"))
	})
	result := s.apply()
	require.Equal(t, shared.StateProcessing, result.Observed.State, "the webhook may start")
	require.Contains(t, result.Observed.Message, "Sample "+s.id+"-remote/own: the conversion webhook of Sample ("+s.id+".example.com/v1")
	require.Contains(t, result.Observed.Message, "failed: ")
	require.Equal(t, hint.For(clusters.ReasonConversionFailed), result.Observed.Hint)
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "after"))
}

func ownSample(version string) string {
	return "apiVersion: ID.example.com/" + version + "\nkind: Sample\nmetadata: {name: own}\nspec: {a: 1}\n---\n"
}

func TestTheReasonOfTheAPIServerIsShown(t *testing.T) {
	testfleet.NeedsRealRemote(t, "validating objects")
	s := newEnvironment(t, strings.Replace(crdYAML, "spec: {type: object, ", "spec: {type: object, x-kubernetes-validations: [{rule: '!has(self.size) || self.size > 2', message: size must be above 2}], properties: {size: {type: integer}}, ", 1)+`
apiVersion: ID.example.com/v1
kind: Sample
metadata: {name: ruled}
spec: {size: 1}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: badvalue}
spec:
  schedule: "*/1 * * * *"
  timeZone: Mars/Olympus
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "example.com/a:1"}]}}}}
---
apiVersion: v1
kind: Secret
metadata: {name: hidden}
type: kubernetes.io/tls
data: {tls.crt: aHVudGVyMg==}
`, nil)
	result := s.apply()
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Equal(t, readiness.ReasonApplyFailed, result.Observed.Reason)
	for _, word := range []string{
		"Sample " + s.id + "-remote/ruled: invalid: spec: size must be above 2",
		"CronJob " + s.id + "-remote/badvalue: invalid: spec.timeZone: unknown time zone Mars/Olympus",
		"Secret " + s.id + "-remote/hidden: invalid: data[tls.key] is required",
	} {
		require.Contains(t, result.Observed.Message, word)
	}
	require.NotContains(t, result.Observed.Message, "aHVudGVyMg", "values may be secret")
}

// notAnsweringYAML is a webhook that nobody answers, for objects of one namespace.
const notAnsweringYAML = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ID-silent}
webhooks:
- name: silent.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: nobody, namespace: ID-remote}}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ID-remote}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
`

func TestWhatAdmissionControlRefusesSaysWhoMustActAndHeals(t *testing.T) {
	testfleet.NeedsRealRemote(t, "asking quotas and webhooks")
	cases := map[string]struct {
		refuser, reason, hint, word string
		state                       shared.State
	}{
		"quota":   {"apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: quota, namespace: ID-remote}\nspec: {hard: {count/configmaps: \"0\"}}\n", readiness.ReasonNotAdmitted, "", "exceeded quota: quota", shared.StateError},
		"webhook": {notAnsweringYAML, readiness.ReasonApplyRetried, hint.For(readiness.ReasonWebhookFailed), `failed calling webhook "silent.example.com"`, shared.StateProcessing},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newEnvironment(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: first}\n---\n", nil)
			require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
			refuser := &unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(tc.refuser, "ID", s.id)), &refuser.Object))
			require.NoError(t, s.remote.Create(context.Background(), refuser))
			t.Cleanup(func() { _ = s.remote.Delete(context.Background(), refuser) })
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: s.id + "-remote"}}
				assert.ErrorContains(c, s.remote.Create(context.Background(), probe, client.DryRunAll), tc.word)
			}, time.Minute, 200*time.Millisecond, "it takes a moment to work")

			s.update(func(m *v1beta2.Manifest) { m.Spec.Install.Source = s.layer(configMap("late")) })
			result := s.apply()
			require.Equal(t, tc.state, result.Observed.State)
			require.Equal(t, tc.reason, result.Observed.Reason)
			require.Equal(t, tc.hint, result.Observed.Hint)
			require.Contains(t, result.Observed.Message, tc.word)
			s.report(result.Observed, false)
			require.False(t, s.read().Status.Settled, "it does not wait for a change")
			require.Contains(t, s.read().Status.LastOperation.Hint, "at most 15 minutes apart")

			require.NoError(t, s.remote.Delete(context.Background(), refuser))
			require.Eventually(t, func() bool { return s.apply().Outcome == manifests.OutcomeApplied }, time.Minute, pollEvery)
		})
	}
}

// immutableYAML has objects of which one field cannot be changed, with ANNOTATIONS.
const immutableYAML = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: im-rb, ANNOTATIONS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: VIEW}
subjects: [{kind: ServiceAccount, name: default, namespace: ID-remote}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ID-im, ANNOTATIONS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: VIEW}
subjects: [{kind: ServiceAccount, name: default, namespace: ID-remote}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: im-dep, ANNOTATIONS}
spec:
  replicas: 0
  selector: {matchLabels: {app: imONE}}
  template: {metadata: {labels: {app: imONE}}, spec: {containers: [{name: main, image: "example.com/main:1"}]}}
---
apiVersion: v1
kind: Service
metadata: {name: im-svc, ANNOTATIONS}
spec: {HEADLESS, selector: {app: x}, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: im-cm, ANNOTATIONS}
immutable: true
data: {v: "ONE"}
---
apiVersion: v1
kind: Secret
metadata: {name: im-sec, ANNOTATIONS}
type: OPAQUE
data: {username: YQ==, password: YQ==}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ID-im, ANNOTATIONS}
provisioner: example.com/pONE
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: ID-im, ANNOTATIONS}
value: ONE000
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: im-sts, ANNOTATIONS}
spec:
  replicas: 0
  serviceName: im-sts
  selector: {matchLabels: {app: imsts}}
  template: {metadata: {labels: {app: imsts}}, spec: {containers: [{name: main, image: "example.com/main:1"}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: ONEGi}}}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: im-kept, annotations: {operator.kyma-project.io/replace: with-data, helm.sh/resource-policy: keep}}
immutable: true
data: {v: "ONE"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: im-free}
data: {v: "ONE"}
`

// immutableVersion is immutableYAML of one of two versions, with the annotation for replacement where it is given.
func immutableVersion(second bool, replace string) string {
	values := []string{"VIEW", "view", "ONE", "1", "HEADLESS", "type: ClusterIP", "OPAQUE", "Opaque"}
	if second {
		values = []string{"VIEW", "edit", "ONE", "2", "HEADLESS", "clusterIP: None", "OPAQUE", "kubernetes.io/basic-auth"}
	}
	annotations := "annotations: {}"
	if replace != "" {
		annotations = `annotations: {operator.kyma-project.io/replace: "` + replace + `"}`
	}
	return strings.NewReplacer(append(values, "ANNOTATIONS", annotations)...).Replace(immutableYAML)
}

func TestWhatCannotBeChangedIsNamedAndReplacedWhereTheModuleAsksForIt(t *testing.T) {
	testfleet.NeedsRealRemote(t, "refusing changes of immutable fields")
	s := newEnvironment(t, immutableVersion(false, ""), nil)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	uids := func() map[string]string {
		all := map[string]string{}
		for _, e := range s.read().Status.Inventory {
			all[e.ID] = e.UID
		}
		return all
	}
	upgrade := func(module string) install.ApplyResult {
		s.update(func(m *v1beta2.Manifest) { m.Spec.Install.Source = s.layer(module) })
		return s.apply()
	}
	first := uids()
	result := upgrade(immutableVersion(true, ""))
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Equal(t, readiness.ReasonFieldImmutable, result.Observed.Reason, result.Observed.Message)
	require.Contains(t, hint.For(result.Observed.Reason), "another name")
	require.Contains(t, result.Observed.Message, "10 of 11 objects could not be applied")
	for _, name := range []string{"/im-rb", "ClusterRoleBinding " + s.id + "-im", "/im-dep", "/im-svc", "/im-cm", "/im-sec", "StorageClass " + s.id + "-im", "PriorityClass " + s.id + "-im", "/im-sts", "/im-kept"} {
		require.Contains(t, result.Observed.Message, name)
	}
	require.Equal(t, first, uids())

	deployment, service := s.get("apps/v1", "Deployment", "ID-remote", "im-dep").GetUID(), s.get("v1", "Service", "ID-remote", "im-svc").GetUID()
	// A rendering that is wrong by itself deletes nothing.
	result = upgrade(strings.NewReplacer("image: \"example.com/main:1\"", `image: ""`, "clusterIP: None", "clusterIP: None, sessionAffinity: Never").Replace(immutableVersion(true, "true")))
	require.Contains(t, result.Observed.Message, "sessionAffinity")
	require.Equal(t, deployment, s.get("apps/v1", "Deployment", "ID-remote", "im-dep").GetUID())
	require.Equal(t, service, s.get("v1", "Service", "ID-remote", "im-svc").GetUID())

	// The process dies after the deletion of one object.
	s.requests.intercept(func(req *http.Request) error {
		if req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/im-dep") && s.get("apps/v1", "Deployment", "ID-remote", "im-dep") == nil {
			return apierrors.NewServiceUnavailable("the process is gone")
		}
		return nil
	})
	result = upgrade(immutableVersion(true, "true"))
	require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
	require.Contains(t, result.Observed.Message, "/im-sts", "it holds data")
	require.Nil(t, s.get("apps/v1", "Deployment", "ID-remote", "im-dep"))
	s.requests.intercept(nil)
	_, _ = s.recorded.take()
	result = s.apply()
	require.Contains(t, result.Observed.Message, "2 of 11 objects could not be applied", result.Observed.Message)
	require.Contains(t, result.Observed.Message, "/im-kept")
	require.NotNil(t, s.get("apps/v1", "Deployment", "ID-remote", "im-dep"))

	result = upgrade(strings.ReplaceAll(immutableVersion(true, "with-data"), ", helm.sh/resource-policy: keep", ""))
	require.Contains(t, result.Observed.Message, "1 of 11 objects could not be applied", "the one in the cluster is still kept")
	events, _ := s.recorded.take()
	require.Contains(t, strings.Join(events, "\n"), "ObjectReplaced: deleted and created again, because they could not be changed: StatefulSet "+s.id+"-remote/im-sts")
	kept := s.get("v1", "ConfigMap", "ID-remote", "im-kept")
	kept.SetAnnotations(map[string]string{shared.AnnotationOwnedBy: kept.GetAnnotations()[shared.AnnotationOwnedBy]})
	require.NoError(t, s.remote.Update(context.Background(), kept))
	result = s.apply()
	require.Equal(t, manifests.OutcomeApplied, result.Outcome, result.Observed.Message)
	now := uids()
	for id, uid := range first {
		if strings.HasSuffix(id, "im-free") {
			require.Equal(t, uid, now[id], id)
		} else {
			require.NotEqual(t, uid, now[id], id)
		}
	}
}
