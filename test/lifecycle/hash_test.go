package lifecycle

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// These tests show on a real API server that an object's hash means what drift detection assumes: it differs when
// somebody changed or removed our fields, it is the same when others change fields that are not ours, and it is the
// same again after applying. They are kept because they test the behaviour of the API server.

// proof is a namespace in a real cluster, with objects that are applied as a module's are.
type proof struct {
	*testing.T
	id      string
	cluster *clusters.Cluster
}

func newProof(t *testing.T) *proof {
	t.Helper()
	path := testfleet.Require(t, "LM_TEST_REMOTE")
	t.Parallel()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	access, err := clusters.New(clusters.Options{ControlPlane: config, Scheme: scheme(t)})
	require.NoError(t, err)
	p := &proof{T: t, id: fmt.Sprintf("p%x", time.Now().UnixNano()), cluster: access.ControlPlane()}
	p.create(`{apiVersion: v1, kind: Namespace, metadata: {name: ID, labels: {proof: ID}}}`)
	t.Cleanup(func() { p.delete(p.object(`{apiVersion: v1, kind: Namespace, metadata: {name: ID}}`)) })
	return p
}

func (p *proof) object(content string) *unstructured.Unstructured {
	p.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(p, yaml.Unmarshal([]byte(strings.ReplaceAll(content, "ID", p.id)), &u.Object))
	return u
}

func (p *proof) resource(gvk schema.GroupVersionKind) kinds.Resource {
	p.Helper()
	var resource kinds.Resource
	require.Eventually(p, func() bool {
		var err error
		resource, err = p.cluster.Mapper.Resource(context.Background(), gvk)
		return err == nil
	}, time.Minute, 50*time.Millisecond, gvk.String())
	return resource
}

// create creates an object that is not ours, and deletes it at the end.
func (p *proof) create(content string) *unstructured.Unstructured {
	p.Helper()
	u := p.object(content)
	resource := p.resource(u.GroupVersionKind())
	_, err := p.cluster.Dynamic.Resource(resource.GroupVersionResource).Namespace(u.GetNamespace()).Create(context.Background(), u, metav1.CreateOptions{})
	require.NoError(p, err)
	p.Cleanup(func() { p.delete(u) })
	return u
}

func (p *proof) delete(u *unstructured.Unstructured) {
	resource := p.resource(u.GroupVersionKind())
	_ = p.cluster.Dynamic.Resource(resource.GroupVersionResource).Namespace(u.GetNamespace()).Delete(context.Background(), u.GetName(), metav1.DeleteOptions{})
}

// subject is one object of a module.
type subject struct {
	*proof
	job *apply.Installation
	at  bundle.Placed
}

// subject prepares an object as a module's are: fields that others own by design are ignored, it is marked and encoded.
func (p *proof) subject(content string) *subject {
	p.Helper()
	b, _, err := bundle.Build(&render.Rendered{Objects: []*unstructured.Unstructured{p.object(content)}}, bundle.Adaptation{})
	require.NoError(p, err)
	p.resource(b.Objects[0].GVK)
	k := kinds.Mapper{Cluster: p.cluster.Mapper}
	plan, err := bundle.PlanOf(context.Background(), &v1beta2.Manifest{}, b, k, p.id)
	require.NoError(p, err)
	require.Len(p, plan.Entries, 1)
	s := &subject{proof: p, job: &apply.Installation{Target: objects.Target{Cluster: p.cluster, Owner: inventory.Owner{Name: p.id, Mark: p.id + "/" + p.id}, Mapper: k}}}
	for _, stage := range plan.Stages {
		if len(stage) > 0 {
			s.at = stage[0]
		}
	}
	p.Cleanup(func() { p.delete(s.read()) })
	return s
}

// apply applies the object and returns the hash that is recorded.
func (s *subject) apply() string {
	s.Helper()
	live, err := apply.Patch(context.Background(), s.job, s.at, s.at.Object.Body.Fill(s.job.Owner))
	require.NoError(s, err)
	hash := inventory.ObjectHash(live)
	require.NotEmpty(s, hash)
	require.Equal(s, hash, s.seen(), "the answer to a patch and a list say the same")
	return hash
}

// seen is the hash of the object as it is listed, by metadata and in full.
func (s *subject) seen() string {
	s.Helper()
	hash := s.listed(false)
	require.Equal(s, hash, s.listed(true), "both encodings give the same hash")
	return hash
}

func (s *subject) listed(inFull bool) string {
	s.Helper()
	surveyor := objects.Surveyor{
		Target: s.job.Target, Selector: "proof!=none", InFull: func(schema.GroupKind) bool { return inFull },
	}
	saw, err := surveyor.Read(context.Background(), map[schema.GroupKind]schema.GroupVersionKind{s.at.Object.GVK.GroupKind(): s.at.Object.GVK})
	require.NoError(s, err)
	require.Empty(s, saw.Failed)
	require.Contains(s, saw.Seen, s.at.Entry.ID)
	return inventory.ObjectHash(saw.Seen[s.at.Entry.ID].Meta)
}

func (s *subject) read() *unstructured.Unstructured {
	s.Helper()
	u, err := s.client().Get(context.Background(), s.at.Name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		u = &unstructured.Unstructured{}
		u.SetGroupVersionKind(s.at.Object.GVK)
		u.SetNamespace(s.at.Name.Namespace)
		u.SetName(s.at.Name.Name)
		return u
	}
	require.NoError(s, err)
	return u
}

type resourceClient interface {
	Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error)
	Update(ctx context.Context, u *unstructured.Unstructured, options metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error)
}

func (s *subject) client() resourceClient {
	return s.cluster.Dynamic.Resource(s.at.Resource.GroupVersionResource).Namespace(s.at.Name.Namespace)
}

// by patches the object under the name of a manager, as JSON merge patch or, if it is a list, as JSON patch.
func (s *subject) by(manager, change string, subresources ...string) {
	s.Helper()
	kind := types.MergePatchType
	if strings.HasPrefix(change, "[") {
		kind = types.JSONPatchType
	}
	encoded, err := yaml.YAMLToJSON([]byte(change))
	require.NoError(s, err)
	_, err = s.client().Patch(context.Background(), s.at.Name.Name, kind, encoded, metav1.PatchOptions{FieldManager: manager}, subresources...)
	require.NoError(s, err)
}

// replace writes the whole object back, as kubectl edit and kubectl replace do.
func (s *subject) replace(manager string, change func(u *unstructured.Unstructured)) {
	s.Helper()
	// The controllers of some kinds write their status at the same time.
	require.NoError(s, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		u := s.read()
		change(u)
		_, err := s.client().Update(context.Background(), u, metav1.UpdateOptions{FieldManager: manager})
		return err
	}))
}

// applyAs applies an object under the name of another manager.
func (s *subject) applyAs(manager, content string, force bool) {
	s.Helper()
	u := s.object(content)
	encoded, err := json.Marshal(u.Object)
	require.NoError(s, err)
	_, err = s.client().Patch(context.Background(), s.at.Name.Name, types.ApplyPatchType, encoded, metav1.PatchOptions{FieldManager: manager, Force: &force})
	require.NoError(s, err)
}

// mutation is something that others do to an object.
type mutation struct {
	does func(s *subject)
	// seen is true when the hash has to differ afterwards.
	seen bool
}

// shows applies the object, mutates it, reads it, and applies it again, for each mutation.
func (p *proof) shows(content string, mutations map[string]mutation) {
	p.Helper()
	s := p.subject(content)
	ours := s.apply()
	require.Equal(p, ours, s.apply(), "applying the same again changes nothing")
	for what, m := range mutations {
		m.does(s)
		if m.seen {
			require.NotEqual(p, ours, s.seen(), "seen: %s", what)
		} else {
			require.Equal(p, ours, s.seen(), "no drift: %s", what)
		}
		require.Equal(p, ours, s.apply(), "applying again restores the very same hash after: %s", what)
	}
}

const proofDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, labels: {app: d}}
spec:
  replicas: 1
  paused: true
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      containers:
      - name: main
        image: example.com/main:1
        env: [{name: A, value: a}, {name: "B<C>&D", value: b}]
        ports: [{containerPort: 443}, {containerPort: 80, name: http}, {containerPort: 9, protocol: UDP}]
`

func TestTheHashOfAWorkload(t *testing.T) {
	p := newProof(t)
	const path = "/spec/template/spec/containers/0"
	p.shows(proofDeployment, map[string]mutation{
		"an environment variable edited": {seen: true, does: func(s *subject) {
			s.by("kubectl-edit", `[{op: replace, path: `+path+`/env/0/value, value: other}]`)
		}},
		"an environment variable removed": {seen: true, does: func(s *subject) {
			s.by("kubectl-edit", `[{op: remove, path: `+path+`/env/1}]`)
		}},
		"a port removed": {seen: true, does: func(s *subject) {
			s.by("kubectl-edit", `[{op: remove, path: `+path+`/ports/0}]`)
		}},
		"all ports removed": {seen: true, does: func(s *subject) {
			s.by("kubectl-edit", `[{op: remove, path: `+path+`/ports}]`)
		}},
		"the image changed": {seen: true, does: func(s *subject) {
			s.by("kubectl-set", `[{op: replace, path: `+path+`/image, value: "example.com/main:2"}]`)
		}},
		"scaled as an autoscaler does": {seen: true, does: func(s *subject) {
			s.by("kube-controller-manager", `{spec: {replicas: 3}}`, "scale")
		}},
		"scaled by an edit": {seen: true, does: func(s *subject) { s.by("kubectl-edit", `{spec: {replicas: 2}}`) }},
		"a variable added": {does: func(s *subject) {
			s.by("kubectl-edit", `[{op: add, path: `+path+`/env/-, value: {name: E, value: e}}]`)
		}},
		"a sidecar added": {does: func(s *subject) {
			s.by("injector", `[{op: add, path: /spec/template/spec/containers/-, value: {name: side, image: "example.com/side:1"}}]`)
		}},
		"restarted": {does: func(s *subject) {
			s.by("kubectl-rollout", `{spec: {template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now}}}}}`)
		}},
		"its status written": {does: func(s *subject) {
			s.by("kube-controller-manager", `{status: {observedGeneration: 7, replicas: 5}}`, "status")
		}},
		"replaced by itself": {does: func(s *subject) { s.replace("kubectl-replace", func(*unstructured.Unstructured) {}) }},
		"everything taken by another who applies": {seen: true, does: func(s *subject) {
			s.applyAs("argocd", strings.ReplaceAll(proofDeployment, "main:1", "main:3"), true)
		}},
		"the same applied by another too": {does: func(s *subject) { s.applyAs("argocd", proofDeployment, false) }},
	})
}

func TestTheHashOfAScaledWorkloadWhoseReplicasAreIgnored(t *testing.T) {
	p := newProof(t)
	s := p.subject(proofDeployment)
	full := s.apply()
	s.by("kube-controller-manager", `{spec: {replicas: 3}}`, "scale")
	taken := s.seen()
	require.NotEqual(t, full, taken)
	body, err := bundle.WithoutReplicas(s.at.Object.Body.Fill(s.job.Owner))
	require.NoError(t, err)
	live, err := apply.Patch(context.Background(), s.job, s.at, body)
	require.NoError(t, err)
	require.Equal(t, taken, inventory.ObjectHash(live), "only what the autoscaler owns is ignored")
	for n := range 20 {
		// The API server writes our fields in an order that changes from time to time.
		s.by("kube-controller-manager", fmt.Sprintf(`{spec: {replicas: %d}}`, n), "scale")
		require.Equal(t, taken, s.seen(), "it scales on and on, and nobody cares")
	}
	replicas, _, _ := unstructured.NestedInt64(s.read().Object, "spec", "replicas")
	require.EqualValues(t, 19, replicas)
}

func TestTheHashOfAServiceWithPorts(t *testing.T) {
	p := newProof(t)
	p.shows(`
apiVersion: v1
kind: Service
metadata: {name: s}
spec:
  selector: {app: d}
  ports: [{name: https, port: 443}, {name: http, port: 80}, {name: dns, port: 9, protocol: UDP}]
`, map[string]mutation{
		"the target of a port changed": {seen: true, does: func(s *subject) {
			s.by("kubectl-edit", `[{op: replace, path: /spec/ports/1/name, value: other}]`)
		}},
		"a port removed": {seen: true, does: func(s *subject) { s.by("kubectl-edit", `[{op: remove, path: /spec/ports/0}]`) }},
		"a port added": {does: func(s *subject) {
			s.by("kubectl-edit", `[{op: add, path: /spec/ports/-, value: {name: more, port: 81}}]`)
		}},
		"the selector cut": {seen: true, does: func(s *subject) { s.by("kubectl-edit", `{spec: {selector: null}}`) }},
	})
}

func TestTheHashOfConfigurationAndOfMarks(t *testing.T) {
	p := newProof(t)
	p.shows(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {app: d}}, data: {a: "1", b: "2"}}`, map[string]mutation{
		"edited":    {seen: true, does: func(s *subject) { s.by("kubectl-edit", `{data: {a: "3"}}`) }},
		"a key cut": {seen: true, does: func(s *subject) { s.by("kubectl-edit", `{data: {a: null}}`) }},
		"a key removed and added again with its value": {seen: true, does: func(s *subject) {
			s.by("kubectl-edit", `{data: {a: null}}`)
			s.by("kubectl-edit", `{data: {a: "1"}}`)
		}},
		"edited and put back by the same": {seen: true, does: func(s *subject) {
			s.by("kubectl-edit", `{data: {a: "3"}}`)
			s.by("kubectl-edit", `{data: {a: "1"}}`)
		}},
		"a key added":                    {does: func(s *subject) { s.by("kubectl-edit", `{data: {c: "3"}}`) }},
		"another annotation":             {does: func(s *subject) { s.by("kubectl-annotate", `{metadata: {annotations: {x: "yes"}}}`) }},
		"another label":                  {does: func(s *subject) { s.by("kubectl-label", `{metadata: {labels: {x: "yes"}}}`) }},
		"a label of the module's":        {seen: true, does: func(s *subject) { s.by("kubectl-label", `{metadata: {labels: {app: e}}}`) }},
		"a label of the module's cut":    {seen: true, does: func(s *subject) { s.by("kubectl-label", `{metadata: {labels: {app: null}}}`) }},
		"said to be another component":   {seen: true, does: func(s *subject) { s.by("kubectl-label", `{metadata: {labels: {app.kubernetes.io/component: other}}}`) }},
		"said to be another's":           {seen: true, does: func(s *subject) { s.by("x", `{metadata: {annotations: {operator.kyma-project.io/owned-by: a/b}}}`) }},
		"the rendering's digest changed": {seen: true, does: func(s *subject) { s.by("x", `{metadata: {annotations: {operator.kyma-project.io/applied-digest: x}}}`) }},
		"said to be nobody's":            {seen: true, does: func(s *subject) { s.by("x", `{metadata: {annotations: {operator.kyma-project.io/owned-by: null}}}`) }},
		"managed fields cleared":         {seen: true, does: func(s *subject) { s.by("x", `{metadata: {managedFields: [{}]}}`) }},
		"replaced by itself":             {does: func(s *subject) { s.replace("kubectl-replace", func(*unstructured.Unstructured) {}) }},
		"an owner added":                 {does: func(s *subject) { s.by("x", `{metadata: {finalizers: []}}`) }},
		"replaced without our entry in the managed fields": {seen: true, does: func(s *subject) {
			s.replace("backup", func(u *unstructured.Unstructured) { u.SetManagedFields([]metav1.ManagedFieldsEntry{{}}) })
		}},
	})
}

const proofDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: proofs.ID.example.com}
spec:
  group: ID.example.com
  names: {kind: Proof, plural: proofs, singular: proof, listKind: ProofList}
  scope: Namespaced
  conversion: {strategy: None}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
          spec:
            type: object
            properties:
              anything: {type: object, x-kubernetes-preserve-unknown-fields: true}
              set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              atomic: {type: array, items: {type: string}}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, name]
                items: {type: object, required: [port, name], properties: {port: {type: integer}, name: {type: string}, value: {type: string}}}
  - name: v2
    served: true
    storage: false
    subresources: {status: {}}
    schema: *schema
`

const proofResource = `
apiVersion: ID.example.com/v1
kind: Proof
metadata: {name: r}
spec:
  anything: {"a<b>&c": 1, nested: {x: "yes"}}
  set: [a, b]
  atomic: [a, b]
  ports: [{port: 443, name: https, value: a}, {port: 80, name: http, value: b}, {port: 9, name: "a<b", value: c}]
`

func TestTheHashOfACustomResourceWithAListMap(t *testing.T) {
	p := newProof(t)
	p.create(proofDefinition)
	p.shows(proofResource, map[string]mutation{
		"an item edited":    {seen: true, does: func(s *subject) { s.by("kubectl-edit", `[{op: replace, path: /spec/ports/0/value, value: x}]`) }},
		"an item removed":   {seen: true, does: func(s *subject) { s.by("kubectl-edit", `[{op: remove, path: /spec/ports/1}]`) }},
		"an item added":     {does: func(s *subject) { s.by("operator", `[{op: add, path: /spec/ports/-, value: {port: 1, name: one}}]`) }},
		"the set shrunk":    {seen: true, does: func(s *subject) { s.by("kubectl-edit", `{spec: {set: [a]}}`) }},
		"the set grown":     {does: func(s *subject) { s.by("kubectl-edit", `{spec: {set: [a, b, c]}}`) }},
		"the list grown":    {seen: true, does: func(s *subject) { s.by("kubectl-edit", `{spec: {atomic: [a, b, c]}}`) }},
		"something free":    {seen: true, does: func(s *subject) { s.by("kubectl-edit", `{spec: {anything: {nested: {x: "no"}}}}`) }},
		"something added":   {does: func(s *subject) { s.by("kubectl-edit", `{spec: {anything: {more: 1}}}`) }},
		"the spec replaced": {seen: true, does: func(s *subject) { s.by("kubectl-edit", `[{op: replace, path: /spec, value: {set: [x]}}]`) }},
		"its status":        {does: func(s *subject) { s.by("operator", `{status: {state: Ready}}`, "status") }},
		"managed fields":    {seen: true, does: func(s *subject) { s.by("x", `{metadata: {managedFields: [{}]}}`) }},
	})
}

func TestTheHashOverAVersionBumpOfTheAPI(t *testing.T) {
	p := newProof(t)
	definition := p.create(proofDefinition)
	s := p.subject(proofResource)
	first := s.apply()
	second := p.subject(strings.ReplaceAll(proofResource, "example.com/v1", "example.com/v2"))
	require.Equal(t, first, second.seen(), "whatever version it is read in, the fields are ours in the one that was applied")

	second.by("kubectl-label", `{metadata: {labels: {x: "yes"}}}`)
	require.Equal(t, first, s.seen(), "others may write in the new version")
	second.replace("storage-version-migrator", func(*unstructured.Unstructured) {})
	require.Equal(t, first, s.seen())

	resource := p.resource(definition.GroupVersionKind())
	crds := p.cluster.Dynamic.Resource(resource.GroupVersionResource)
	patchCRD := func(change string) {
		encoded, err := yaml.YAMLToJSON([]byte(change))
		require.NoError(t, err)
		_, err = crds.Patch(context.Background(), definition.GetName(), types.JSONPatchType, encoded, metav1.PatchOptions{})
		require.NoError(t, err)
	}
	patchCRD(`[{op: replace, path: /spec/versions/0/storage, value: false}, {op: replace, path: /spec/versions/1/storage, value: true}]`)
	second.replace("storage-version-migrator", func(*unstructured.Unstructured) {})
	require.Equal(t, first, s.seen(), "nor does the version matter that it is stored in")

	upgraded := second.apply()
	require.NotEqual(t, first, upgraded, "what is applied in another version is another object to us: it is recorded anew")
	require.Equal(t, upgraded, second.apply())
	require.NotEqual(t, upgraded, s.apply(), "the old version applied by mistake is seen")
	require.Equal(t, upgraded, second.apply())

	patchCRD(`[{op: replace, path: /spec/versions/0/served, value: false}]`)
	require.Equal(t, upgraded, second.seen(), "a version that is gone is missed by nobody who applied in another")
}

func TestTheHashOfABuiltInKindIsTheSameInAllItsVersions(t *testing.T) {
	p := newProof(t)
	const autoscaler = `
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: h}
spec: {maxReplicas: 5, minReplicas: 1, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}, targetCPUUtilizationPercentage: 50}
`
	s := p.subject(autoscaler)
	first := s.apply()
	other := p.subject(strings.ReplaceAll(autoscaler, "autoscaling/v1", "autoscaling/v2"))
	require.Equal(t, first, other.seen())
	other.by("kubectl-label", `{metadata: {labels: {x: "yes"}}}`)
	require.Equal(t, first, s.seen())
	other.by("kubectl-edit", `{spec: {maxReplicas: 6}}`)
	require.NotEqual(t, first, s.seen())
	require.Equal(t, first, s.apply())
}

// testCertificate is a certificate as a CA bundle holds it.
func testCertificate(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

func TestTheHashOfWhatACABundleIsInjectedInto(t *testing.T) {
	p := newProof(t)
	certificate := testCertificate(t)
	inject := func(s *subject) {
		s.by("cert-manager-cainjector", `[{op: add, path: /webhooks/0/clientConfig/caBundle, value: `+certificate+`}]`)
	}
	webhook := func(name, caBundle string) string {
		return `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ` + name + `.ID.example.com}
webhooks:
- name: w.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {service: {namespace: ID, name: none}` + caBundle + `}
  rules: [{apiGroups: [ID.example.com], apiVersions: ["*"], operations: [CREATE], resources: [nothing]}]
`
	}
	p.shows(webhook("empty", `, caBundle: ""`), map[string]mutation{"an empty one filled in": {does: inject}})
	p.shows(webhook("newline", `, caBundle: Cg==`), map[string]mutation{"one with a line break filled in": {does: inject}})
	p.shows(webhook("none", ""), map[string]mutation{"a missing one filled in": {does: inject}})
	p.shows(webhook("ours", `, caBundle: `+certificate), map[string]mutation{
		"one of ours filled in with the same": {does: inject},
		"one of ours taken": {seen: true, does: func(s *subject) {
			s.by("cert-manager-cainjector", `[{op: remove, path: /webhooks/0/clientConfig/caBundle}]`)
		}},
	})
	p.shows(strings.Replace(proofDefinition, "conversion: {strategy: None}",
		`conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {caBundle: Cg==, service: {namespace: ID, name: none}}}}`, 1),
		map[string]mutation{"a definition's filled in": {does: func(s *subject) {
			s.by("cert-manager-cainjector", `{spec: {conversion: {webhook: {clientConfig: {caBundle: `+certificate+`}}}}}`)
		}}})
}

// mutatingServer changes a key of every ConfigMap that it is called for, and adds another, as webhooks do.
func mutatingServer(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		kind := admissionv1.PatchTypeJSONPatch
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: true, PatchType: &kind,
			Patch: []byte(`[{"op":"add","path":"/data/a","value":"mutated"},{"op":"add","path":"/data/injected","value":"x"}]`),
		}
		_ = json.NewEncoder(w).Encode(review)
	}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

const proofMutated = `{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: "1", b: "2"}}`

// mutated shows that mutations by admission are no drift, and that drift is still detected.
func (p *proof) mutated(value string) {
	p.Helper()
	s := p.subject(proofMutated)
	require.Eventually(p, func() bool {
		// While the API server loads a policy or webhook, it may refuse the objects that it applies to.
		if _, err := apply.Patch(context.Background(), s.job, s.at, s.at.Object.Body.Fill(s.job.Owner)); err != nil {
			return false
		}
		mutated, _, _ := unstructured.NestedString(s.read().Object, "data", "a")
		return mutated == value
	}, 2*time.Minute, 200*time.Millisecond, "the object is mutated")
	first := s.apply()
	require.Equal(p, first, s.apply(), "what admission changes or adds is no drift, however often it is applied")
	s.by("kubectl-label", `{metadata: {labels: {x: "yes"}}}`)
	require.Equal(p, first, s.seen(), "nor is it when others write")
	s.by("kubectl-edit", `{data: {b: "3"}}`)
	require.NotEqual(p, first, s.seen())
	require.Equal(p, first, s.apply())
}

func TestTheHashOfWhatAWebhookMutates(t *testing.T) {
	testfleet.NeedsRealRemote(t, "asking webhooks")
	p := newProof(t)
	server := mutatingServer(t)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	p.create(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: ID}
webhooks:
- name: m.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  reinvocationPolicy: IfNeeded
  clientConfig: {url: "` + server.URL + `", caBundle: ` + base64.StdEncoding.EncodeToString(certificate) + `}
  namespaceSelector: {matchLabels: {proof: ID}}
  objectSelector: {matchLabels: {operator.kyma-project.io/managed-by: kyma}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
`)
	p.mutated("mutated")
}

func TestTheHashOfWhatAnAdmissionPolicyMutates(t *testing.T) {
	testfleet.NeedsRealRemote(t, "asking admission policies")
	p := newProof(t)
	p.create(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: ID}
spec:
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  matchConstraints:
    namespaceSelector: {matchLabels: {proof: ID}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{data: {"a": "by policy", "injected": "x"}}'}
`)
	p.create(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: ID}
spec: {policyName: ID}
`)
	p.mutated("by policy")
}
