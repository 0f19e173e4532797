package e2e

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
)

// Mandatory modules are in every Kyma, listed or not, for as long as the catalog makes them mandatory.
func TestTheLifeOfMandatoryModules(t *testing.T) {
	metrics := process.FreeAddress(t)
	// Two Kymas are few, and the whole fleet: as a share of it, a removal from both would need an approval.
	s := harness.NewEnvironment(t, "--metrics-bind-address", metrics, "--catalog-removal-max-percent", "100")
	s.PushMinimal("chosen")
	for _, version := range []string{"1.0.0", "1.1.0"} {
		applyKind(s, "ModuleTemplate", s.Pack(harness.MinimalModule{Name: "silent", Version: version, Config: "mandatory: true"}))
	}
	s.Instance.Start()
	names := []string{"mandated-a", "mandated-b"}
	for _, name := range names {
		s.Create(harness.NewSynced(name, "chosen"))
	}
	for _, name := range names {
		s.BecomesReady(name, "chosen@1.0.0")
	}
	everywhere := func(module, version string) {
		t.Helper()
		s.Eventually("module "+module+" is everywhere in version "+version, 2*time.Minute, func(c *assert.CollectT) {
			for _, name := range names {
				assert.Equal(c, version, s.MinimalVersion(name, module), name)
			}
		})
	}

	t.Run("one that only its templates make mandatory is installed in the highest version", func(t *testing.T) {
		everywhere("silent", "1.1.0")
		s.Eventually("they are counted", 2*time.Minute, func(c *assert.CollectT) {
			assert.Equal(c, "1", process.Metric(t, metrics, "lifecycle_mgr_mandatory_modules"))
		})
	})
	t.Run("one that a release meta makes mandatory is installed in the version that it names", func(t *testing.T) {
		higher := s.Pack(harness.MinimalModule{Name: "always", Version: "1.1.0", Config: "mandatory: true"})
		wanted := s.Pack(harness.MinimalModule{Name: "always", Config: "mandatory: true"})
		// The release meta comes first: a template that is there alone, if only briefly, would count.
		applyKind(s, "ModuleReleaseMeta", wanted)
		s.Eventually("the release meta is known", 2*time.Minute, func(c *assert.CollectT) {
			meta := &v1beta2.ModuleReleaseMeta{}
			require.NoError(c, s.ControlPlane.Get(t.Context(), client.ObjectKey{Namespace: harness.ControlPlaneNamespace, Name: "always"}, meta))
			assert.Contains(c, meta.Finalizers, mandatoryFinalizer)
		})
		// The higher version is there, and does not count.
		applyKind(s, "ModuleTemplate", higher)
		applyKind(s, "ModuleTemplate", wanted)
		everywhere("always", "1.0.0")
		s.Eventually("they are counted", 2*time.Minute, func(c *assert.CollectT) {
			assert.Equal(c, "2", process.Metric(t, metrics, "lifecycle_mgr_mandatory_modules"))
		})
	})
	t.Run("they are not shown in the Kymas, and have metrics of their own", func(t *testing.T) {
		for _, name := range names {
			s.BecomesReady(name, "chosen@1.0.0")
			require.Equal(t, "1/1", s.Kyma(name).Status.ModulesReady)
			require.Len(t, s.Kyma(name).Spec.Modules, 1)
		}
		s.Eventually("their states are exported", 2*time.Minute, func(c *assert.CollectT) {
			for _, module := range []string{"always", "silent"} {
				series := `lifecycle_mgr_mandatory_module_state{kyma_name="mandated-a",module_name="` + module + `",state="Ready"}`
				assert.Equal(c, "1", process.Metric(t, metrics, series), module)
			}
		})
		require.NotEmpty(t, process.Metric(t, metrics, "lifecycle_mgr_module_state{"))
		require.Empty(t, process.Metric(t, metrics, `lifecycle_mgr_module_state{instance_id="",kyma_name="mandated-a",module_name="always"`))
	})
	t.Run("a deleted release meta removes it, and stays until it is removed everywhere", func(t *testing.T) {
		meta := &v1beta2.ModuleReleaseMeta{ObjectMeta: metav1.ObjectMeta{Name: "always", Namespace: harness.ControlPlaneNamespace}}
		hasFinalizer(t, s, meta)
		// A finalizer of others blocks the removal in one cluster.
		blocked := mandatoryManifest(s, "mandated-b", "always")
		finalizeManifest(s, &blocked, "example.com/not-yet", true)
		require.NoError(t, s.ControlPlane.Delete(t.Context(), meta))
		s.Eventually("it is removed where nothing blocks it", 2*time.Minute, func(c *assert.CollectT) {
			assert.Empty(c, s.MinimalVersion("mandated-a", "always"))
			assert.Empty(c, s.MinimalVersion("mandated-b", "always"))
		})
		hasFinalizer(t, s, meta)
		finalizeManifest(s, &blocked, "example.com/not-yet", false)
		s.Eventually("the release meta is gone", 2*time.Minute, func(c *assert.CollectT) {
			err := s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(meta), meta)
			assert.True(c, apierrors.IsNotFound(err), "%v", meta.Finalizers)
		})
		require.Equal(t, "1.1.0", s.MinimalVersion("mandated-a", "silent"), "the other one stays")
	})
	t.Run("it goes with its last template where there is no release meta", func(t *testing.T) {
		for _, name := range []string{"silent-1.0.0", "silent-1.1.0"} {
			template := &v1beta2.ModuleTemplate{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: harness.ControlPlaneNamespace}}
			require.NoError(t, s.ControlPlane.Delete(t.Context(), template))
		}
		s.Eventually("it is removed", 2*time.Minute, func(c *assert.CollectT) {
			for _, name := range names {
				assert.Empty(c, s.MinimalVersion(name, "silent"))
			}
			assert.Equal(c, "0", process.Metric(t, metrics, "lifecycle_mgr_mandatory_modules"))
		})
		for _, name := range names {
			require.Equal(t, "1.0.0", s.MinimalVersion(name, "chosen"))
		}
	})
}

// mandatoryFinalizer is the finalizer of what makes a module mandatory.
const mandatoryFinalizer = "operator.kyma-project.io/mandatory-module"

// hasFinalizer requires that a release meta is protected by its finalizer.
func hasFinalizer(t *testing.T, s *harness.Environment, meta *v1beta2.ModuleReleaseMeta) {
	t.Helper()
	require.NoError(t, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(meta), meta))
	require.Contains(t, meta.Finalizers, mandatoryFinalizer)
}

func mandatoryManifest(s *harness.Environment, kyma, module string) v1beta2.Manifest {
	s.T.Helper()
	for _, manifest := range s.Manifests(s.Kyma(kyma)) {
		if manifest.IsMandatory() && manifest.ModuleName() == module {
			return manifest
		}
	}
	s.T.Fatalf("Kyma %s has no Manifest of mandatory module %s", kyma, module)
	return v1beta2.Manifest{}
}

// finalizeManifest adds a finalizer to a Manifest, or removes it.
func finalizeManifest(s *harness.Environment, manifest *v1beta2.Manifest, finalizer string, on bool) {
	s.T.Helper()
	key := client.ObjectKeyFromObject(manifest)
	s.Eventually("the finalizer is written", 2*time.Minute, func(c *assert.CollectT) {
		var now v1beta2.Manifest
		require.NoError(c, s.ControlPlane.Get(s.T.Context(), key, &now))
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
		require.NoError(c, s.ControlPlane.Update(s.T.Context(), &now))
	})
}

// applyKind applies the catalog entries of one kind.
func applyKind(s *harness.Environment, kind string, documents []byte) {
	s.T.Helper()
	for _, document := range bytes.Split(documents, []byte("---\n")) {
		if bytes.Contains(document, []byte("\nkind: "+kind+"\n")) {
			s.Apply(s.ControlPlane, harness.ControlPlaneNamespace, document)
		}
	}
}
