package e2e

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// A deletion always ends: a module's custom resource whose finalizer nobody serves holds its Kyma for the grace
// period, and a minute at most after that.
func TestAKymaThatAFinalizerHoldsIsPurgedWhenItsGraceIsOver(t *testing.T) {
	const grace = 30 * time.Second
	metrics := freeAddress(t)
	s := newStage(t, "--purge-orderly-attempt", "5s", "--metrics-bind-address", metrics)
	s.push("test/modules/sample/1.0.0")
	s.instance.start()
	s.create(newKyma("held", "sample"))
	s.becomesReady("held", "sample@1.0.0")
	s.holdSample(t, "example.com/nobody")
	edit(t, s.controlPlane, s.kyma("held"), func(k *v1beta2.Kyma) {
		metav1.SetMetaDataAnnotation(&k.ObjectMeta, shared.AnnotationPurgeGracePeriod, grace.String())
	})
	kyma := s.kyma("held")
	require.NoError(t, s.controlPlane.Delete(t.Context(), kyma))
	deleted := s.kyma("held").DeletionTimestamp.Time
	at := deleted.Add(grace)

	t.Run("until then it says what it waits for and when it is forced", func(t *testing.T) {
		s.eventually("the status says so", grace-2*time.Second, func(c *assert.CollectT) {
			var now v1beta2.Kyma
			require.NoError(c, s.controlPlane.Get(t.Context(), client.ObjectKeyFromObject(kyma), &now))
			require.NotNil(c, now.Status.LastOperation)
			assert.Contains(c, now.Status.LastOperation.Operation, "sample (waiting for module crs deletion)")
			assert.Contains(c, now.Status.LastOperation.Operation, "it is purged at "+at.UTC().Format(time.RFC3339))
		})
	})
	t.Run("it is gone within the grace period and a minute, and nothing of it is left", func(t *testing.T) {
		s.eventually("the Kyma is gone", time.Until(at)+time.Minute, func(c *assert.CollectT) { assert.True(c, s.isGone(kyma)) })
		require.False(t, time.Now().Before(at))
		s.eventually("nothing is left", 3*time.Minute, func(c *assert.CollectT) { assert.Empty(c, s.ofModule(t, s.remote)) })
		require.Empty(t, s.remoteKymas(t))
		s.eventually("the workflows are closed", 2*time.Minute, func(c *assert.CollectT) {
			assert.Equal(c, map[string]string{kick.KymaWorkflow: "Completed", kick.ManifestWorkflow: "Completed"}, s.workflowsOf(kyma))
		})
	})
	t.Run("an Event, the metric, the log and the workflow name what was forced", func(t *testing.T) {
		s.eventually("the Event is there", 2*time.Minute, func(c *assert.CollectT) {
			assert.Regexp(c, `^Sample kyma-system/\S+ in the remote cluster loses its finalizers example.com/nobody$`, strings.Join(s.warnings(kyma)["Purged"], "\n"))
		})
		require.Equal(t, "1", metric(t, metrics, "lifecycle_mgr_purged_objects_total"))
		log, err := os.ReadFile(s.instance.log)
		require.NoError(t, err)
		require.Regexp(t, `"msg":"purge: forced","kyma":"kcp-system/held","kind":"Sample"`, string(log))
	})
}

// A cluster that is lost for good, or the access to it, is let go on the control plane's side: after the grace period,
// or when somebody says so.
func TestAKymaWhoseClusterIsDeadIsLetGo(t *testing.T) {
	s := newStage(t, "--purge-orderly-attempt", "2s")
	s.pushTiny("lone")
	s.instance.start()
	way, through := s.through(t)
	for _, name := range []string{"dead", "keyless", "asked"} {
		s.giveAccess(name, through)
		require.NoError(t, s.controlPlane.Create(t.Context(), newSynced(name, "lone")))
		s.becomesReady(name, "lone@1.0.0")
		t.Cleanup(func() { s.removeNamespaces(s.remote, name) })
	}
	way.unplug()

	t.Run("after the grace period", func(t *testing.T) {
		const grace = 10 * time.Second
		gone := []*v1beta2.Kyma{s.kyma("dead"), s.kyma("keyless")}
		require.NoError(t, s.controlPlane.Delete(t.Context(), s.accessOf(gone[1])))
		for _, kyma := range gone {
			edit(t, s.controlPlane, s.kyma(kyma.Name), func(k *v1beta2.Kyma) {
				metav1.SetMetaDataAnnotation(&k.ObjectMeta, shared.AnnotationPurgeGracePeriod, grace.String())
			})
			require.NoError(t, s.controlPlane.Delete(t.Context(), kyma))
		}
		for _, kyma := range gone {
			s.eventually("Kyma "+kyma.Name+" is gone", grace+3*time.Minute, func(c *assert.CollectT) { assert.True(c, s.isGone(kyma)) })
			s.warns(kyma, "PurgeLetGo", "left there")
			require.Equal(t, "1.0.0", s.tinyVersion(kyma.Name, "lone"), "what nobody could reach is there")
		}
	})
	t.Run("when somebody asks for it, with the name of the Kyma", func(t *testing.T) {
		kyma := s.kyma("asked")
		out, err := s.purge(t, "asked", "asked\n")
		require.Error(t, err)
		require.Contains(t, out, "it is not being deleted")
		require.NoError(t, s.controlPlane.Delete(t.Context(), kyma))
		out, err = s.purge(t, "asked", "dead\n")
		require.Error(t, err)
		require.Contains(t, out, "that is not its name: nothing was done")
		require.False(t, s.isGone(kyma))
		out, err = s.purge(t, "asked", "asked\n")
		require.NoError(t, err, out)
		require.Contains(t, out, "Manifest asked-lone-")
		require.Contains(t, out, "Kyma kcp-system/asked is gone")
		require.True(t, s.isGone(kyma))
		s.warns(kyma, "PurgeLetGo", "left there")
	})
}

// In a single cluster a purge takes the module alone, and what a protected finalizer holds stays and is named.
func TestAPurgeInASingleClusterTakesTheModuleAlone(t *testing.T) {
	const grace = 5 * time.Second
	s := newStage(t, "--mode", "single-cluster", "--purge-orderly-attempt", "2s", "--purge-grace-period", grace.String(),
		"--skip-finalizer-purging-for", "example.com/protected")
	s.remote = s.controlPlane
	s.push("test/modules/sample/1.0.0")
	s.instance.start()
	originals := func() map[string]types.UID {
		found := s.originals(t)
		delete(found, "CustomResourceDefinition /samples."+sampleGVK.Group)
		delete(found, "Namespace /"+remoteNamespace) // it is made for the first module, and never removed
		maps.DeleteFunc(found, func(key string, _ types.UID) bool { return strings.HasPrefix(key, "Kyma ") })
		return found
	}
	before := originals()
	purged := func(finalizer string) (*v1beta2.Kyma, *unstructured.Unstructured) {
		t.Helper()
		kyma := newKyma("single", "sample")
		require.NoError(t, s.controlPlane.Create(t.Context(), kyma))
		s.becomesReady("single", "sample@1.0.0")
		held := s.holdSample(t, finalizer)
		require.NoError(t, s.controlPlane.Delete(t.Context(), kyma))
		s.eventually("the Kyma is gone", grace+3*time.Minute, func(c *assert.CollectT) { assert.True(c, s.isGone(kyma)) })
		require.Equal(t, before, originals())
		return kyma, held
	}

	kyma, _ := purged("example.com/nobody")
	s.warns(kyma, "Purged", "loses its finalizers example.com/nobody")
	s.eventually("nothing of the module is left", 3*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, s.ofModule(t, s.controlPlane))
	})

	_, held := purged("example.com/protected")
	require.NoError(t, s.controlPlane.Get(t.Context(), client.ObjectKeyFromObject(held), held))
	require.Contains(t, held.GetFinalizers(), "example.com/protected")
	// Whoever serves the finalizer is done at last; the API server may take minutes to finish with the definition then.
	forgetOne(s.controlPlane, held)
	forgetOne(s.controlPlane, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "samples." + sampleGVK.Group}})
	s.eventually("nothing of the module is left", 3*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, s.ofModule(t, s.controlPlane))
	})
}

// holdSample gives the default custom resource of the sample module a finalizer.
func (s *stage) holdSample(t *testing.T, finalizer string) *unstructured.Unstructured {
	t.Helper()
	samples := &unstructured.UnstructuredList{}
	samples.SetGroupVersionKind(sampleGVK)
	require.NoError(t, s.remote.List(t.Context(), samples))
	require.Len(t, samples.Items, 1)
	held := &samples.Items[0]
	patch := client.RawPatch("application/json-patch+json", []byte(`[{"op":"add","path":"/metadata/finalizers","value":["`+finalizer+`"]}]`))
	require.NoError(t, s.remote.Patch(t.Context(), held, patch))
	return held
}

// purge runs the command that purges, with what somebody types.
func (s *stage) purge(t *testing.T, kyma, typed string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testfleet.Binary(t, "lifecycle-manager"),
		"purge", kyma, "--kubeconfig", s.controlPlane.kubeconfig, "--timeout", "4m")
	cmd.Env = s.environment()
	cmd.Stdin = strings.NewReader(typed)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// metric reads the value of a metric without labels.
func metric(t *testing.T, address, name string) string {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics") //nolint:noctx // a test
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(string(body))
	require.Len(t, found, 2, "there is no metric %s", name)
	return found[1]
}
