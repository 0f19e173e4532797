package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// What the image of these tests says that it is.
const (
	imageVersion = "1.2.3"
	imageCommit  = "0123456789abcdef0123456789abcdef01234567"
	imageBuildID = "1.2.3-0123456789ab"
)

// The image is all that an instance needs: pushed, pulled, and run in its own root as its own user, it installs a module
// with an operator, and one that is a chart, for which it runs its own program once more.
//
// The process allows nothing but FIPS 140-3: whatever it can do so, it can do otherwise too. `make fips` sets IMAGE_FIPS, and the
// test then builds the image of `make image FIPS=1`. For that image Go compiles every package once more, which takes minutes.
func TestTheImageInstallsModulesInItsOwnRoot(t *testing.T) {
	metrics := process.FreeAddress(t)
	s := harness.NewEnvironment(t, "--metrics-bind-address", metrics)
	s.Instance.Container = pushedAndPulled(s)
	s.Push("test/modules/sample/1.0.0")
	s.PushModule(harness.MinimalModule{
		Name: "rendered", Channels: "regular",
		Templates: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {version: {{ .Chart.Version }}}\n",
	})
	s.Instance.Start()
	s.Create(harness.NewKyma("contained", "sample", "rendered"))
	s.BecomesReady("contained", "rendered@1.0.0", "sample@1.0.0")
	require.Equal(t, "1.0.0", s.MinimalVersion(harness.RemoteNamespace, "rendered"))

	require.Equal(t, "1", process.Metric(t, metrics, `lifecycle_mgr_build_info{build_id="`+imageBuildID+`",commit="`+imageCommit+`",go_version="`))
	require.Equal(t, "2", process.Metric(t, metrics, "lifecycle_mgr_fips_mode"))
	history := harness.Decoded(s.History(kick.KymaWorkflowID(kick.RefOf(s.Kyma("contained")))))
	require.Contains(t, history, `"`+imageBuildID+`"`, "the build that did the tasks")
	require.Contains(t, history, "@"+imageBuildID, "the process that did them")
}

// pushedAndPulled builds the image for this machine, pushes it to the registry of the environment, and pulls it.
func pushedAndPulled(s *harness.Environment) *harness.Container {
	t := s.T
	t.Helper()
	reference := s.Registry + "/lifecycle-manager:" + imageVersion
	args := []string{
		"run", "-C", filepath.Join(testfleet.Root(t), "deploy", "image"), ".", "-platforms", "linux/" + runtime.GOARCH,
		"-version", imageVersion, "-commit", imageCommit, "-out", filepath.Join(t.TempDir(), "image"), "-push", reference,
	}
	if os.Getenv("IMAGE_FIPS") != "" {
		args = append(args, "-fips")
	}
	s.Run("go", args...)
	c := harness.PullImage(t, reference)
	c.Config.Env = append(c.Config.Env, "GODEBUG=fips140=only")

	out, err := c.Command(nil, "version", "-o", "json").Output()
	require.NoError(t, err)
	var said struct {
		Version, Commit, BuildID string
		FIPS                     bool
	}
	require.NoError(t, json.Unmarshal(out, &said))
	require.Equal(t, []string{imageVersion, imageCommit, imageBuildID}, []string{said.Version, said.Commit, said.BuildID})
	require.True(t, said.FIPS)
	require.Subset(t, listedBySBOM(t, reference, c), []string{"github.com/kyma-project/lifecycle-manager/cmd/lifecycle-manager", "k8s.io/client-go", "go.temporal.io/sdk", "stdlib"})
	return c
}

// listedBySBOM are the names of what the SBOM lists that the registry has for an image.
func listedBySBOM(t testing.TB, reference string, c *harness.Container) []string {
	t.Helper()
	ref, err := name.ParseReference(reference)
	require.NoError(t, err)
	referrers, err := remote.Referrers(ref.Context().Digest(c.Digest.String()))
	require.NoError(t, err)
	list, err := referrers.IndexManifest()
	require.NoError(t, err)
	require.Len(t, list.Manifests, 1)
	assert.Equal(t, "application/spdx+json", list.Manifests[0].ArtifactType)
	attached, err := remote.Image(ref.Context().Digest(list.Manifests[0].Digest.String()))
	require.NoError(t, err)
	layers, err := attached.Layers()
	require.NoError(t, err)
	content, err := layers[0].Compressed()
	require.NoError(t, err)
	defer func() { _ = content.Close() }()
	var document struct{ Packages []struct{ Name string } }
	require.NoError(t, json.NewDecoder(content).Decode(&document))
	var names []string
	for _, p := range document.Packages {
		names = append(names, p.Name)
	}
	return names
}
