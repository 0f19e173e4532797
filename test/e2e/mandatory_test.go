package e2e

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Mandatory modules are in every Kyma, whoever lists them, for as long as something in the catalog says so.
func TestTheLifeOfMandatoryModules(t *testing.T) {
	metrics := freeAddress(t)
	// Two Kymas are few, and the whole fleet: as a share of it, a removal from both would be held.
	s := newStage(t, "--metrics-bind-address", metrics, "--catalog-removal-max-percent", "100")
	s.pushTiny("chosen")
	for _, version := range []string{"1.0.0", "1.1.0"} {
		s.applyKind("ModuleTemplate", s.pack(tiny{name: "silent", version: version, config: "mandatory: true"}))
	}
	s.instance.start()
	names := []string{"mandated-a", "mandated-b"}
	for _, name := range names {
		s.create(newSynced(name, "chosen"))
	}
	for _, name := range names {
		s.becomesReady(name, "chosen@1.0.0")
	}
	everywhere := func(module, version string) {
		t.Helper()
		s.eventually("module "+module+" is everywhere in version "+version, 2*time.Minute, func(c *assert.CollectT) {
			for _, name := range names {
				assert.Equal(c, version, s.tinyVersion(name, module), name)
			}
		})
	}

	t.Run("one that only its templates make mandatory is installed in the highest version", func(t *testing.T) {
		everywhere("silent", "1.1.0")
		s.eventually("they are counted", 2*time.Minute, func(c *assert.CollectT) {
			assert.Equal(c, "1", s.metric(t, metrics, "lifecycle_mgr_mandatory_modules"))
		})
	})
	t.Run("one that a release meta makes mandatory is installed in the version that it names", func(t *testing.T) {
		higher := s.pack(tiny{name: "always", version: "1.1.0", config: "mandatory: true"})
		wanted := s.pack(tiny{name: "always", config: "mandatory: true"})
		// The release meta comes first: a template that is there alone, if only for a moment, would be meant.
		s.applyKind("ModuleReleaseMeta", wanted)
		s.eventually("the release meta is known", 2*time.Minute, func(c *assert.CollectT) {
			meta := &v1beta2.ModuleReleaseMeta{}
			require.NoError(c, s.controlPlane.Get(t.Context(), client.ObjectKey{Namespace: controlPlaneNamespace, Name: "always"}, meta))
			assert.Contains(c, meta.Finalizers, holdsMandatory)
		})
		// The higher version is there, and not meant.
		s.applyKind("ModuleTemplate", higher)
		s.applyKind("ModuleTemplate", wanted)
		everywhere("always", "1.0.0")
		s.eventually("they are counted", 2*time.Minute, func(c *assert.CollectT) {
			assert.Equal(c, "2", s.metric(t, metrics, "lifecycle_mgr_mandatory_modules"))
		})
	})
	t.Run("they are not to be seen in the Kymas, and have metrics of their own", func(t *testing.T) {
		for _, name := range names {
			s.becomesReady(name, "chosen@1.0.0")
			require.Equal(t, "1/1", s.kyma(name).Status.ModulesReady)
			require.Len(t, s.kyma(name).Spec.Modules, 1)
		}
		s.eventually("their states are exported", 2*time.Minute, func(c *assert.CollectT) {
			for _, module := range []string{"always", "silent"} {
				series := `lifecycle_mgr_mandatory_module_state{kyma_name="mandated-a",module_name="` + module + `",state="Ready"}`
				assert.Equal(c, "1", s.metric(t, metrics, series), module)
			}
		})
		require.NotEmpty(t, s.metric(t, metrics, "lifecycle_mgr_module_state{"))
		require.Empty(t, s.metric(t, metrics, `lifecycle_mgr_module_state{instance_id="",kyma_name="mandated-a",module_name="always"`))
	})
	t.Run("a deleted release meta removes it, and stays until it is removed everywhere", func(t *testing.T) {
		meta := &v1beta2.ModuleReleaseMeta{ObjectMeta: metav1.ObjectMeta{Name: "always", Namespace: controlPlaneNamespace}}
		s.isHeld(t, meta)
		// Something of another keeps one cluster from letting go of it.
		blocked := s.mandatoryManifest("mandated-b", "always")
		s.finalize(&blocked, "example.com/not-yet", true)
		require.NoError(t, s.controlPlane.Delete(t.Context(), meta))
		s.eventually("it is removed where nothing is in the way", 2*time.Minute, func(c *assert.CollectT) {
			assert.Empty(c, s.tinyVersion("mandated-a", "always"))
			assert.Empty(c, s.tinyVersion("mandated-b", "always"))
		})
		s.isHeld(t, meta)
		s.finalize(&blocked, "example.com/not-yet", false)
		s.eventually("the release meta is gone", 2*time.Minute, func(c *assert.CollectT) {
			err := s.controlPlane.Get(t.Context(), client.ObjectKeyFromObject(meta), meta)
			assert.True(c, apierrors.IsNotFound(err), "%v", meta.Finalizers)
		})
		require.Equal(t, "1.1.0", s.tinyVersion("mandated-a", "silent"), "the other one stays")
	})
	t.Run("it goes with its last template where there is no release meta", func(t *testing.T) {
		for _, name := range []string{"silent-1.0.0", "silent-1.1.0"} {
			template := &v1beta2.ModuleTemplate{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: controlPlaneNamespace}}
			require.NoError(t, s.controlPlane.Delete(t.Context(), template))
		}
		s.eventually("it is removed", 2*time.Minute, func(c *assert.CollectT) {
			for _, name := range names {
				assert.Empty(c, s.tinyVersion(name, "silent"))
			}
			assert.Equal(c, "0", s.metric(t, metrics, "lifecycle_mgr_mandatory_modules"))
		})
		for _, name := range names {
			require.Equal(t, "1.0.0", s.tinyVersion(name, "chosen"))
		}
	})
}

// holdsMandatory is the finalizer of what makes a module mandatory.
const holdsMandatory = "operator.kyma-project.io/mandatory-module"

// isHeld makes sure that a release meta cannot vanish yet.
func (s *stage) isHeld(t *testing.T, meta *v1beta2.ModuleReleaseMeta) {
	t.Helper()
	require.NoError(t, s.controlPlane.Get(t.Context(), client.ObjectKeyFromObject(meta), meta))
	require.Contains(t, meta.Finalizers, holdsMandatory)
}

func (s *stage) mandatoryManifest(kyma, module string) v1beta2.Manifest {
	s.t.Helper()
	for _, manifest := range s.manifests(s.kyma(kyma)) {
		if manifest.IsMandatory() && manifest.ModuleName() == module {
			return manifest
		}
	}
	s.t.Fatalf("Kyma %s has no Manifest of mandatory module %s", kyma, module)
	return v1beta2.Manifest{}
}

// finalize puts a finalizer on a Manifest, or takes it off again.
func (s *stage) finalize(manifest *v1beta2.Manifest, finalizer string, on bool) {
	s.t.Helper()
	key := client.ObjectKeyFromObject(manifest)
	s.eventually("the finalizer is written", 2*time.Minute, func(c *assert.CollectT) {
		var now v1beta2.Manifest
		require.NoError(c, s.controlPlane.Get(s.t.Context(), key, &now))
		var kept []string
		for _, one := range now.Finalizers {
			if one != finalizer {
				kept = append(kept, one)
			}
		}
		if on {
			kept = append(kept, finalizer)
		}
		now.Finalizers = kept
		require.NoError(c, s.controlPlane.Update(s.t.Context(), &now))
	})
}

// applyKind applies what is of one kind of what announces a module.
func (s *stage) applyKind(kind string, announced []byte) {
	s.t.Helper()
	for _, document := range bytes.Split(announced, []byte("---\n")) {
		if bytes.Contains(document, []byte("\nkind: "+kind+"\n")) {
			s.apply(s.controlPlane, controlPlaneNamespace, document)
		}
	}
}

// metric is the value of the first series whose line begins so; empty where there is none.
func (s *stage) metric(t *testing.T, address, series string) string {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics") //nolint:noctx // of a test
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), series) {
			return lines.Text()[strings.LastIndex(lines.Text(), " ")+1:]
		}
	}
	require.NoError(t, lines.Err())
	return ""
}
