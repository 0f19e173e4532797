package storedversions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Versions of our kinds.
const (
	v1alpha1 = "v1alpha1"
	v1beta1  = "v1beta1"
	v1beta2  = "v1beta2"
)

// stand installs our definitions on a real API server in an API group of the test's own, so that other tests keep
// theirs.
type stand struct {
	*testing.T
	client.WithWatch
	config *rest.Config
	scheme *runtime.Scheme
	// group is the API group of the kinds, and namespace the namespace of their objects.
	group, namespace string
}

func newStand(t *testing.T) *stand {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", testfleet.Require(t, "LM_TEST_CONTROL_PLANE"))
	require.NoError(t, err)
	config.QPS = -1
	id := fmt.Sprintf("stored-%x", time.Now().UnixNano())
	s := &stand{T: t, config: config, scheme: runtime.NewScheme(), group: id + ".example.com", namespace: id}
	require.NoError(t, clientgoscheme.AddToScheme(s.scheme))
	require.NoError(t, apiextensionsv1.AddToScheme(s.scheme))
	s.WithWatch, err = client.NewWithWatch(config, client.Options{Scheme: s.scheme})
	require.NoError(t, err)
	s.makeNamespace(s.namespace)
	return s
}

func (s *stand) makeNamespace(name string) {
	s.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	require.NoError(s, s.Create(s.Context(), namespace))
	s.Cleanup(func() { require.NoError(s, s.Delete(context.Background(), namespace)) })
}

// migrator returns a Migrator without a rate limit.
func (s *stand) migrator(c client.Client) *Migrator {
	return &Migrator{client: c, perSecond: rate.Inf, pageSize: 2}
}

// name returns the name of one of our definitions in the test's API group.
func (s *stand) name(ours string) string {
	plural, _, _ := strings.Cut(ours, ".")
	return plural + "." + s.group
}

// definition returns one of this build's definitions, in the test's API group, with this storage version.
func (s *stand) definition(ours, storage string) *apiextensionsv1.CustomResourceDefinition {
	s.Helper()
	found, err := crds.Get(ours)
	require.NoError(s, err)
	crd := found[0]
	crd.Name, crd.Spec.Group = s.name(ours), s.group
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == storage
	}
	return crd
}

// without returns the definition without these versions.
func without(crd *apiextensionsv1.CustomResourceDefinition, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return slices.Contains(versions, v.Name) })
	return crd
}

// install creates a definition and waits until it is served.
func (s *stand) install(crd *apiextensionsv1.CustomResourceDefinition) {
	s.Helper()
	require.NoError(s, s.Create(s.Context(), crd))
	s.Cleanup(func() {
		require.NoError(s, s.Delete(context.Background(), crd))
		require.Eventually(s, func() bool {
			return apierrors.IsNotFound(s.Get(context.Background(), client.ObjectKeyFromObject(crd), &apiextensionsv1.CustomResourceDefinition{}))
		}, time.Minute, 100*time.Millisecond, "%s is gone", crd.Name)
	})
	for _, version := range crd.Spec.Versions {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(s.group + "/" + version.Name)
		list.SetKind(crd.Spec.Names.ListKind)
		require.Eventually(s, func() bool { return s.List(s.Context(), list) == nil }, time.Minute, 100*time.Millisecond, "%s %s is served", crd.Name, version.Name)
	}
}

// update replaces the spec of a definition.
func (s *stand) update(crd *apiextensionsv1.CustomResourceDefinition) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now := s.read(crd.Name)
		now.Spec = crd.Spec
		return s.Update(s.Context(), now)
	})
}

func (s *stand) read(definition string) *apiextensionsv1.CustomResourceDefinition {
	s.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(s, s.Get(s.Context(), client.ObjectKey{Name: definition}, crd))
	return crd
}

func (s *stand) storedVersions(definition string) []string {
	s.Helper()
	return s.read(definition).Status.StoredVersions
}

// store changes the storage version of a definition, and returns once objects are written in that version. An API
// server learns of the change a moment after it has answered.
func (s *stand) store(crd *apiextensionsv1.CustomResourceDefinition) {
	s.Helper()
	ours := crd.Spec.Names.Plural + ".operator.kyma-project.io"
	probe := s.object(ours, v1beta2, s.namespace, "probe-"+storageOf(crd))
	require.NoError(s, s.Create(s.Context(), probe)) // fields that the definition does not have yet are dropped
	require.NoError(s, s.update(crd))
	s.untilWritten(probe)
	require.NoError(s, s.Delete(s.Context(), probe))
}

// untilWritten rewrites an object until that changes it.
func (s *stand) untilWritten(probe *unstructured.Unstructured) {
	s.Helper()
	before := probe.GetResourceVersion()
	require.Eventually(s, func() bool {
		require.NoError(s, s.Patch(s.Context(), probe, client.RawPatch("application/merge-patch+json", []byte("{}"))))
		return probe.GetResourceVersion() != before
	}, time.Minute, 50*time.Millisecond, "another version is written")
}

func storageOf(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			return version.Name
		}
	}
	return ""
}

// contents is the spec and status of an object of each kind, with its large and nested fields.
var contents = map[string]string{
	crds.Kymas: `
spec:
  channel: fast
  skipMaintenanceWindows: true
  modules:
  - {name: keda, channel: regular, customResourcePolicy: Ignore, controller: manager, managed: false}
  - {name: telemetry, version: 1.2.3, remoteModuleTemplateRef: kyma-system/telemetry}
  sync: {enabled: true, strategy: secret, namespace: somewhere, noModuleCopy: false, moduleCatalog: false}
status:
  state: Warning
  activeChannel: fast
  observedGeneration: 1
  inputsDigest: "sha256:1"
  lastOperation: {operation: kyma is ready, lastUpdateTime: "2026-11-20T10:00:00Z"}
  conditions: [{type: Modules, status: "False", reason: Ready, message: not all, lastTransitionTime: "2026-11-20T10:00:00Z"}]
  manifests: [a, b]
  modules:
  - name: keda
    fqdn: kyma-project.io/module/keda
    version: 1.0.0
    state: Warning
    manifest: {apiVersion: operator.kyma-project.io/v1beta1, kind: Manifest, metadata: {name: a, namespace: kcp-system, generation: 3}}
`,
	crds.ModuleTemplates: `
spec:
  channel: regular
  mandatory: true
  target: remote
  data: {apiVersion: example.com/v1, kind: Keda, metadata: {name: default}, spec: {anything: [1, {two: "3"}]}}
  descriptor:
    component: {name: kyma-project.io/module/keda, version: 1.0.0, provider: x, resources: []}
    meta: {schemaVersion: v2}
  customStateCheck: [{jsonPath: status.health, value: green, mappedState: Ready}]
`,
	crds.Manifests: `
spec:
  remote: true
  version: 1.0.0
  customResourcePolicy: CreateAndDelete
  config: {repo: registry.example.com, name: config, ref: "sha256:2", type: oci-ref}
  install: {name: keda, source: {repo: registry.example.com, name: keda, ref: "sha256:1", type: oci-ref}}
  resource: {apiVersion: example.com/v1, kind: Keda, metadata: {name: default}, spec: {a: {b: {c: true}}}}
status:
  state: Ready
  settled: true
  cluster: 5b0f7c4e
  installedVersion: 1.0.0
  fingerprint: abcdef
  synced: [{group: apps, version: v1, kind: Deployment, name: keda, namespace: kyma-system}]
  kinds: [apps/v1/Deployment]
  inventory:
  - {id: apps_Deployment_kyma-system_keda, v: v1, u: 6f2c, h: "1234"}
  - {id: batch_Job_kyma-system_once, v: v1, u: 7a1b, r: "sha256:1", l: true}
  corrections: [{id: apps_Deployment_kyma-system_keda, manager: somebody, field: .spec, times: 2, lastTime: "2026-11-20T10:00:00Z"}]
  counts: {total: 2, ready: 1, failed: 1}
  defaultCR: {apiVersion: example.com/v1, kind: Keda, name: default, uid: "42", state: Ready}
`,
	crds.Watchers: `
spec:
  manager: keda
  serviceInfo: {name: events, port: 8082, namespace: kcp-system}
  labelsToWatch: {a: b}
  resourceToWatch: {group: example.com, version: "*", resource: kedas}
  field: status
  gateway: {selector: {matchLabels: {app: gateway}}}
status:
  state: Ready
  observedGeneration: 1
`,
}

// create creates an object with all of its status, through a client for this version.
func (s *stand) create(ours, version, name string) *unstructured.Unstructured {
	s.Helper()
	return s.createIn(s.namespace, ours, version, name)
}

func (s *stand) createIn(namespace, ours, version, name string) *unstructured.Unstructured {
	s.Helper()
	object := s.object(ours, version, namespace, name)
	status := object.Object["status"]
	require.NoError(s, s.Create(s.Context(), object, client.FieldOwner("creator"), client.FieldValidation(metav1.FieldValidationStrict)))
	if status != nil {
		object.Object["status"] = status
		require.NoError(s, s.Status().Update(s.Context(), object, client.FieldOwner("worker"), client.FieldValidation(metav1.FieldValidationStrict)))
	}
	return s.now(object, version)
}

// object returns an object of a kind, without creating it.
func (s *stand) object(ours, version, namespace, name string) *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{Object: decode(s.T, contents[ours])}
	found, err := crds.Get(ours)
	require.NoError(s, err)
	object.SetAPIVersion(s.group + "/" + version)
	object.SetKind(found[0].Spec.Names.Kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	object.SetLabels(map[string]string{"a": "label"})
	object.SetAnnotations(map[string]string{"an": "annotation"})
	return object
}

// now reads an object in a version.
func (s *stand) now(object *unstructured.Unstructured, version string) *unstructured.Unstructured {
	s.Helper()
	there := &unstructured.Unstructured{}
	there.SetAPIVersion(s.group + "/" + version)
	there.SetKind(object.GetKind())
	require.NoError(s, s.Get(s.Context(), client.ObjectKeyFromObject(object), there))
	return there
}

// same fails if two objects differ in more than the resourceVersion.
func (s *stand) same(before, after *unstructured.Unstructured) {
	s.Helper()
	before, after = before.DeepCopy(), after.DeepCopy()
	before.SetResourceVersion("")
	after.SetResourceVersion("")
	require.Equal(s, before.Object, after.Object)
}

// older returns the kinds that have more than one version.
func older() []string { return slices.Sorted(maps.Keys(contents)) }

// nothing ignores the beginning of a migration.
func nothing(Definition, int) {}
