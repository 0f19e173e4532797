package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// checked is what `lifecycle-manager check` found: messages by result and subject.
type checked map[string]map[string]string

// check runs `lifecycle-manager check` as the admin of the control plane, and returns its exit code and what it found.
func check(t *testing.T, s *harness.Environment, flags ...string) (int, checked) {
	t.Helper()
	args := append([]string{"check", "--kubeconfig", s.ControlPlane.Kubeconfig, "-o", "json", "--oci-registry-plain-http", s.Registry}, flags...)
	cmd := exec.CommandContext(t.Context(), testfleet.Binary(t, "lifecycle-manager"), args...)
	cmd.Env = s.Variables()
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	var report struct {
		OK       bool
		Findings []struct{ Subject, Result, Message, Remedy string }
	}
	require.NoError(t, json.Unmarshal(out, &report), "%s: %v", problems.String(), err)
	found := checked{}
	for _, each := range report.Findings {
		if found[each.Result] == nil {
			found[each.Result] = map[string]string{}
		}
		found[each.Result][each.Subject] += each.Message + "\n" + each.Remedy + "\n"
	}
	t.Logf("%v", found)
	require.Equal(t, report.OK, cmd.ProcessState.ExitCode() == 0)
	return cmd.ProcessState.ExitCode(), found
}

// A check finds what is right and what is wrong, before and after an installation. A process refuses to start where it could only
// fail later.
func TestACheckFindsAndAStartRefusesWhatCannotWork(t *testing.T) {
	s := harness.NewEnvironment(t)
	t.Run("a check before anything was started", func(t *testing.T) {
		code, found := check(t, s)
		require.Zero(t, code)
		require.Contains(t, found["ok"]["instance"], "has no owner yet")
		require.Contains(t, found["ok"]["settings"], "recorded no settings yet")
		require.Contains(t, found["ok"], "rights")
		require.Contains(t, found["ok"], "CustomResourceDefinitions")
		require.Contains(t, found["warning"]["Temporal's database"], "SQLite")
	})
	s.PushMinimal("fine")
	s.Instance.Start()
	s.Create(harness.NewSynced("good", "fine"))
	s.BecomesReady("good", "fine@1.0.0")
	t.Run("a check finds right what is right", func(t *testing.T) { assertCheckIsFine(t, s) })
	t.Run("a check finds wrong what is wrong", func(t *testing.T) { assertCheckFindsFaults(t, s) })
	t.Run("a support bundle has resources, workflows and logs, but no token", func(t *testing.T) { assertBundle(t, s) })
	s.RemoveKyma("good") // else another instance would find it
	t.Run("a process does not start where it could only fail later", func(t *testing.T) { assertDoesNotStart(t, s) })
}

// assertCheckIsFine checks an instance with a cluster and a registry.
func assertCheckIsFine(t *testing.T, s *harness.Environment) {
	t.Helper()
	code, found := check(t, s, "--oci-registry-host", s.Registry)
	require.Zero(t, code)
	require.Contains(t, found["ok"]["settings"], "ConfigMap kcp-system/lifecycle-manager-settings")
	require.Contains(t, found["ok"]["instance"], "belongs to this instance")
	require.Contains(t, found["ok"]["access Secrets"], "1 of 1 lead to a cluster that answers")
	require.Contains(t, found["ok"]["registry"], "answers")
	require.NotContains(t, found, "failed")
}

// assertCheckFindsFaults checks with one fault after another. The access Secrets of two clusters that do not answer stay.
func assertCheckFindsFaults(t *testing.T, s *harness.Environment) {
	t.Helper()
	t.Run("another name", func(t *testing.T) {
		code, found := check(t, s, "--managed-by", "second")
		require.Equal(t, 1, code)
		require.Contains(t, found["failed"]["instance"], "belongs to another instance")
	})
	t.Run("another namespace of its own", func(t *testing.T) {
		code, found := check(t, s, "--leader-election-namespace", "kube-public")
		require.Equal(t, 1, code)
		require.Contains(t, found["failed"]["instance"], "in its namespace "+harness.ControlPlaneNamespace)
	})
	t.Run("an account without rights", func(t *testing.T) {
		code, found := check(t, s, "--as", "system:serviceaccount:default:nobody")
		require.Equal(t, 1, code)
		require.Contains(t, found["failed"]["rights"], "missing: list, watch kymas.operator.kyma-project.io")
		require.Contains(t, found["failed"]["access Secrets"], "forbidden")
		require.Contains(t, found["ok"], "CustomResourceDefinitions", "that needs no right")
	})
	t.Run("a cluster that refuses, a registry that is not there, and a Temporal namespace that is missing", func(t *testing.T) {
		s.GiveAccess("refused", bytes.ReplaceAll(s.RemoteAccess(t), []byte(accessToken(t, s)), []byte(harness.Planted)))
		s.GiveAccess("broken", harness.Kubeconfig(t, "https://"+process.FreeAddress(t), nil, nil))
		elsewhere := *s
		elsewhere.Namespace = "nowhere"
		code, found := check(t, &elsewhere, "--oci-registry-host", process.FreeAddress(t))
		require.Equal(t, 1, code)
		require.Contains(t, found["failed"]["Temporal namespace"], "temporal operator namespace create --namespace nowhere")
		require.Contains(t, found["failed"], "registry")
		require.Contains(t, found["ok"]["access Secrets"], "1 of 3 lead to a cluster that answers")
		require.Contains(t, found["failed"], "access Secret kcp-system/broken-access")
		require.Contains(t, found["failed"]["access Secret kcp-system/refused-access"], "renew the credentials")
	})
}

// assertBundle requires that a support bundle has the resources, workflows and logs, and neither the token of the cluster that
// answers nor the token of the one that refuses.
func assertBundle(t *testing.T, s *harness.Environment) {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "bundle.tar.gz")
	cmd := exec.CommandContext(t.Context(), testfleet.Binary(t, "lifecycle-manager"), "support-bundle", "--kubeconfig", s.ControlPlane.Kubeconfig, "-o", archive, "--log-file", s.Instance.Log)
	cmd.Env = s.Variables()
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, string(said))
	files := unpacked(t, archive)
	for file, text := range map[string]string{
		"resources/kymas.json": `"name": "good"`, "resources/manifests.json": "good-fine", "resources/moduletemplates.json": "fine-1.0.0",
		"resources/settings.json": "sync-namespace", "resources/access-secrets.json": "broken-access", "workflows/open.json": `"id": "kyma/kcp-system/good/`,
		"logs/lifecycle-manager.log": "starting", "check.json": "broken-access", "manifest.json": "files",
	} {
		require.Contains(t, files[file], text, file)
	}
	histories, token := 0, accessToken(t, s)
	for file, content := range files {
		require.NotContains(t, content, harness.Planted, file)
		require.NotContains(t, content, token, file)
		if strings.HasPrefix(file, "workflows/histories/") {
			histories++
			require.Contains(t, content, "workflowExecutionStartedEventAttributes")
		}
	}
	require.Positive(t, histories)
}

// accessToken is what Lifecycle Manager shows to the remote cluster.
func accessToken(t *testing.T, s *harness.Environment) string {
	t.Helper()
	config, err := clientcmd.Load(s.RemoteAccess(t))
	require.NoError(t, err)
	token := config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo].Token
	require.NotEmpty(t, token)
	return token
}

// unpacked are the files of an archive by their names below its only folder.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	plain, err := gzip.NewReader(file)
	require.NoError(t, err)
	files := map[string]string{}
	for reader := tar.NewReader(plain); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		content, err := io.ReadAll(reader)
		require.NoError(t, err)
		_, name, _ := strings.Cut(header.Name, "/")
		files[name] = string(content)
	}
}
