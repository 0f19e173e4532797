// Package e2e runs Lifecycle Manager as a process on the local fleet and looks at what becomes of Kymas: in
// the control plane, in real remote clusters, and in Temporal.
//
// Each test has a fleet for itself as long as it runs, and an instance of its own in a Temporal namespace of its own.
// As many tests run side by side as there are fleets.
package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	temporal "go.temporal.io/sdk/client"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	crds "github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

const (
	controlPlaneNamespace = "kcp-system"
	remoteNamespace       = "kyma-system"
)

// cluster is one of the fleet's clusters as its admin sees it.
type cluster struct {
	client.Client
	kubeconfig string
	// access is the kubeconfig of the service account for Lifecycle Manager.
	access string
}

// stage is what a test plays on: the control plane, remote clusters, and an instance.
type stage struct {
	t            testing.TB
	venue        venue
	controlPlane cluster
	// remotes are all remote clusters, and remote is the first of them, which is all that most tests need.
	remotes   []cluster
	remote    cluster
	registry  string
	namespace string
	temporal  temporal.Client
	instance  *instance
}

// newStage prepares the control plane and an idle instance; the test starts it.
func newStage(t testing.TB, flags ...string) *stage {
	t.Helper()
	v := takeVenue(t)
	s := &stage{t: t, venue: v, controlPlane: openCluster(t, v.ControlPlane), registry: v.Registry.Host}
	for _, remote := range v.Remotes {
		s.remotes = append(s.remotes, openCluster(t, remote))
	}
	s.remote = s.remotes[0]
	s.namespace, s.temporal = s.newTemporalNamespace()
	s.awaitDefinitions()
	installDefinitions(t, s.controlPlane)
	s.ensureNamespace(s.controlPlane, controlPlaneNamespace)
	// Clean-up runs in reverse: Kymas go while instance and operator still serve them.
	s.serveSamples()
	s.instance = &instance{t: t, stage: s, flags: flags}
	t.Cleanup(s.clearAfterFailure)
	t.Cleanup(s.instance.stop)
	t.Cleanup(s.deleteEverything)
	return s
}

// awaitDefinitions waits until the API servers have finished with the definitions that the test before this one has
// left without anything that uses them: that is quick as a rule, but may take minutes.
func (s *stage) awaitDefinitions() {
	s.t.Helper()
	for _, c := range append([]cluster{s.controlPlane}, s.remotes...) {
		require.EventuallyWithT(s.t, func(collect *assert.CollectT) {
			var definitions apiextensionsv1.CustomResourceDefinitionList
			require.NoError(collect, c.List(s.t.Context(), &definitions))
			for _, definition := range definitions.Items {
				assert.True(collect, definition.DeletionTimestamp.IsZero(), "%s is still being deleted", definition.Name)
			}
		}, 3*time.Minute, 200*time.Millisecond)
	}
}

func openCluster(t testing.TB, at venueCluster) cluster {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", at.Kubeconfig)
	require.NoError(t, err)
	config.QPS, config.Burst = 200, 400
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1beta2.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return cluster{Client: c, kubeconfig: at.Kubeconfig, access: at.AccessKubeconfig}
}

func installDefinitions(t testing.TB, c cluster) {
	t.Helper()
	all, err := crds.All()
	require.NoError(t, err)
	for _, definition := range all {
		definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		err := c.Patch(ctx(t), definition, client.Apply, client.FieldOwner("e2e"), client.ForceOwnership) //nolint:staticcheck // a typed object
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return c.List(ctx(t), &v1beta2.KymaList{}) == nil }, time.Minute, 100*time.Millisecond)
}

// ctx ends with the test's own deadline.
func ctx(t testing.TB) context.Context {
	t.Helper()
	return t.Context()
}

func (s *stage) ensureNamespace(c cluster, name string) {
	s.t.Helper()
	err := c.Create(ctx(s.t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if !apierrors.IsAlreadyExists(err) {
		require.NoError(s.t, err)
	}
}

// push packs the module in a folder of this repository, pushes it and announces it in the control plane.
func (s *stage) push(folder string) {
	s.t.Helper()
	s.pushFolder(filepath.Join(testfleet.Root(s.t), folder))
}

// pushFolder does the same with any folder, named by its absolute path.
func (s *stage) pushFolder(folder string) {
	s.t.Helper()
	announced := s.run(testfleet.Binary(s.t, "module"), "push", folder, "--registry", s.registry, "--plain-http")
	s.apply(s.controlPlane, controlPlaneNamespace, announced)
}

// run runs a program and returns its standard output.
func (s *stage) run(program string, args ...string) []byte {
	s.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx(s.t), program, args...)
	// Where the operators' modules are pinned; paths in arguments are absolute.
	cmd.Dir = filepath.Join(testfleet.Root(s.t), "test", "modules")
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(s.t, cmd.Run(), "%s %s: %s", filepath.Base(program), strings.Join(args, " "), errs.String())
	return out.Bytes()
}

// apply applies a stream of YAML documents; objects without a namespace go into the given one.
func (s *stage) apply(c cluster, namespace string, documents []byte) {
	s.t.Helper()
	for _, document := range strings.Split("\n"+string(documents), "\n---") {
		obj := &unstructured.Unstructured{}
		require.NoError(s.t, yaml.Unmarshal([]byte(document), &obj.Object))
		if len(obj.Object) == 0 {
			continue
		}
		if obj.GetNamespace() == "" {
			obj.SetNamespace(namespace)
		}
		require.NoError(s.t, c.Apply(ctx(s.t), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("e2e"), client.ForceOwnership))
	}
}

// give gives a Kyma access to the remote cluster.
func (s *stage) give(kymaName string) {
	s.t.Helper()
	require.NoError(s.t, s.controlPlane.Create(ctx(s.t), s.accessOf(newKyma(kymaName))))
}

// newKyma is a Kyma with these modules.
func newKyma(name string, modules ...string) *v1beta2.Kyma {
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: controlPlaneNamespace}}
	for _, module := range modules {
		kyma.Spec.Modules = append(kyma.Spec.Modules, v1beta2.Module{Name: module})
	}
	return kyma
}

// create creates a Kyma with access to the remote cluster.
func (s *stage) create(kyma *v1beta2.Kyma) {
	s.t.Helper()
	s.give(kyma.Name)
	require.NoError(s.t, s.controlPlane.Create(ctx(s.t), kyma))
}

// kyma reads a Kyma from the control plane.
func (s *stage) kyma(name string) *v1beta2.Kyma {
	s.t.Helper()
	var kyma v1beta2.Kyma
	require.NoError(s.t, s.controlPlane.Get(ctx(s.t), client.ObjectKey{Namespace: controlPlaneNamespace, Name: name}, &kyma))
	return &kyma
}

// remoteKyma reads the Kyma in the remote cluster.
func (s *stage) remoteKyma() *v1beta2.Kyma {
	s.t.Helper()
	var kyma v1beta2.Kyma
	require.NoError(s.t, s.remote.Get(ctx(s.t), client.ObjectKey{Namespace: remoteNamespace, Name: "default"}, &kyma))
	return &kyma
}

// edit changes a Kyma as somebody with an editor does: again on the newest version if another wrote meanwhile.
func edit(t testing.TB, c cluster, kyma *v1beta2.Kyma, change func(*v1beta2.Kyma)) {
	t.Helper()
	editObject(t, c, kyma, func() { change(kyma) })
}

// editObject does the same with any object; change changes the object that it was given.
func editObject(t testing.TB, c cluster, object client.Object, change func()) {
	t.Helper()
	patiently := wait.Backoff{Steps: 300, Duration: 50 * time.Millisecond, Jitter: 1}
	require.NoError(t, retry.RetryOnConflict(patiently, func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change()
		return c.Update(t.Context(), object)
	}))
}

// eventually waits until what is asserted is true.
func (s *stage) eventually(what string, within time.Duration, check func(c *assert.CollectT)) {
	s.t.Helper()
	if !assert.EventuallyWithT(s.t, check, within, 100*time.Millisecond, what) {
		s.instance.printLog()
		s.t.FailNow()
	}
}

// becomesReady waits until the Kyma is Ready with exactly these modules, as name@version.
func (s *stage) becomesReady(name string, modules ...string) {
	s.t.Helper()
	s.eventually("Kyma "+name+" becomes Ready", 2*time.Minute, func(c *assert.CollectT) {
		var kyma v1beta2.Kyma
		require.NoError(c, s.controlPlane.Get(s.t.Context(), client.ObjectKey{Namespace: controlPlaneNamespace, Name: name}, &kyma))
		var have []string
		for _, m := range kyma.Status.Modules {
			have = append(have, m.Name+"@"+m.Version)
			assert.Equal(c, shared.StateReady, m.State, "module %s: %s", m.Name, m.Message)
		}
		assert.ElementsMatch(c, modules, have)
		assert.Equal(c, shared.StateReady, kyma.Status.State)
	})
}

// deleteEverything deletes all Kymas and waits until nothing of them is left, so that the next test begins with
// clean clusters. It fails the test if that does not come to an end.
func (s *stage) deleteEverything() {
	bounded, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var kymas v1beta2.KymaList
	if err := s.controlPlane.List(bounded, &kymas); err != nil || len(kymas.Items) == 0 {
		s.deleteCatalog(bounded)
		return
	}
	if !s.instance.running() {
		s.instance.start()
	}
	for i := range kymas.Items {
		_ = s.controlPlane.Delete(bounded, &kymas.Items[i])
	}
	for bounded.Err() == nil {
		if err := s.controlPlane.List(bounded, &kymas); err == nil && len(kymas.Items) == 0 {
			s.deleteCatalog(bounded)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.instance.printLog()
	s.t.Errorf("Kymas are left after the test: %d", len(kymas.Items))
}

// clearAfterFailure deletes by force what a failed test has left, so that the next one does not fail for it.
func (s *stage) clearAfterFailure() {
	if !s.t.Failed() {
		return
	}
	s.instance.stop()
	forget(s.controlPlane, &v1beta2.ManifestList{}, &v1beta2.KymaList{}, &v1beta2.ModuleTemplateList{}, &v1beta2.ModuleReleaseMetaList{})
	_ = s.controlPlane.DeleteAllOf(context.Background(), &corev1.Secret{}, client.InNamespace(controlPlaneNamespace), client.HasLabels{shared.LabelKymaName})
	for _, remote := range s.remotes {
		forget(remote, &v1beta2.KymaList{}, &v1beta2.ModuleTemplateList{}, &v1beta2.ModuleReleaseMetaList{})
		for _, object := range s.all(s.t, remote) {
			if object.GetAnnotations()[shared.AnnotationOwnedBy] != "" {
				forgetOne(remote, &object)
			}
		}
	}
}

func forget(c cluster, lists ...client.ObjectList) {
	for _, list := range lists {
		_ = c.List(context.Background(), list)
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			if object, ok := o.(client.Object); ok {
				forgetOne(c, object)
			}
			return nil
		})
	}
}

func forgetOne(c cluster, object client.Object) {
	released := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	_ = c.Delete(context.Background(), object)
	_ = c.Patch(context.Background(), object, released)
}

// removeNamespaces deletes namespaces in a clean-up, and waits until they are gone with all that is in them.
func (s *stage) removeNamespaces(c cluster, names ...string) {
	bounded, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for bounded.Err() == nil {
		names = slices.DeleteFunc(names, func(name string) bool {
			return apierrors.IsNotFound(c.Delete(bounded, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		})
		if len(names) == 0 {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	s.t.Errorf("namespaces are left after the test: %s", names)
}

// deleteCatalog deletes the catalog and waits until it is gone: what made a module mandatory is held until the
// instance has seen that no cluster has it.
func (s *stage) deleteCatalog(bounded context.Context) {
	s.deleteCatalogIn(bounded, controlPlaneNamespace)
	require.NoError(s.t, s.controlPlane.DeleteAllOf(bounded, &corev1.Secret{}, client.InNamespace(controlPlaneNamespace), client.HasLabels{shared.LabelKymaName}))
}

func (s *stage) deleteCatalogIn(bounded context.Context, namespace string) {
	for _, obj := range []client.Object{&v1beta2.ModuleTemplate{}, &v1beta2.ModuleReleaseMeta{}} {
		require.NoError(s.t, s.controlPlane.DeleteAllOf(bounded, obj, client.InNamespace(namespace)))
	}
	for _, list := range []client.ObjectList{&v1beta2.ModuleTemplateList{}, &v1beta2.ModuleReleaseMetaList{}} {
		for s.instance.running() {
			require.NoError(s.t, s.controlPlane.List(bounded, list, client.InNamespace(namespace)))
			if meta.LenList(list) == 0 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// process is a program that runs beside the test and is stopped by its process id.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func startProcess(t testing.TB, log *os.File, env []string, program string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, env
	require.NoError(t, cmd.Start())
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return p
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) stop(sig os.Signal) {
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(40 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// freeAddress is an address on loopback that nobody listens on, and that nobody takes before it is used, however
// long that takes: the port is below those that systems and fleets choose from, and given out once.
func freeAddress(t testing.TB) string {
	t.Helper()
	const first, last = 10000, 19999
	for range last - first {
		address := fmt.Sprintf("127.0.0.1:%d", first+(os.Getpid()*97+int(portsGivenOut.Add(1)))%(last-first))
		if listener, err := net.Listen("tcp", address); err == nil {
			require.NoError(t, listener.Close())
			return address
		}
	}
	t.Fatalf("every port between %d and %d is taken", first, last)
	return ""
}

// portsGivenOut counts the ports that freeAddress has tried.
var portsGivenOut atomic.Int64

// isReady asks a probe.
func isReady(address string) bool {
	response, err := http.Get(fmt.Sprintf("http://%s/readyz", address)) //nolint:noctx // a probe of a test
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusOK
}
