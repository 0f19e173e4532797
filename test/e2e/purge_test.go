package e2e

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/fleets"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// A Kyma whose cluster, or the access to it, is lost for good is released in the control plane: after the grace period,
// or by the purge command.
func TestAKymaWhoseClusterIsDeadIsReleased(t *testing.T) {
	fleets.Idles(t)
	s := harness.NewEnvironment(t, "--purge-orderly-attempt", "2s")
	s.PushMinimal("lone")
	s.Instance.Start()
	connection, through := s.ThroughProxy(t)
	for _, name := range []string{"dead", "keyless", "asked"} {
		s.GiveAccess(name, through)
		require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewSynced(name, "lone")))
		s.BecomesReady(name, "lone@1.0.0")
		t.Cleanup(func() { s.RemoveNamespaces(s.Remote, name) })
	}
	connection.Close()

	t.Run("after the grace period", func(t *testing.T) {
		const grace = 10 * time.Second
		gone := []*v1beta2.Kyma{s.Kyma("dead"), s.Kyma("keyless")}
		require.NoError(t, s.ControlPlane.Delete(t.Context(), s.AccessOf(gone[1])))
		for _, kyma := range gone {
			harness.Edit(t, s.ControlPlane, s.Kyma(kyma.Name), func(k *v1beta2.Kyma) {
				metav1.SetMetaDataAnnotation(&k.ObjectMeta, shared.AnnotationPurgeGracePeriod, grace.String())
			})
			require.NoError(t, s.ControlPlane.Delete(t.Context(), kyma))
		}
		for _, kyma := range gone {
			s.Eventually("Kyma "+kyma.Name+" is gone", grace+3*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(kyma)) })
			s.Warns(kyma, "PurgeAbandoned", "left there")
			require.Equal(t, "1.0.0", s.MinimalVersion(kyma.Name, "lone"), "what could not be reached is there")
		}
	})
	t.Run("when somebody asks for it, with the name of the Kyma", func(t *testing.T) {
		kyma := s.Kyma("asked")
		out, err := runPurge(t, s, "asked", "asked\n")
		require.Error(t, err)
		require.Contains(t, out, "the Kyma is not being deleted")
		require.NoError(t, s.ControlPlane.Delete(t.Context(), kyma))
		out, err = runPurge(t, s, "asked", "dead\n")
		require.Error(t, err)
		require.Contains(t, out, "the name does not match; nothing was done")
		require.False(t, s.IsGone(kyma))
		out, err = runPurge(t, s, "asked", "asked\n")
		require.NoError(t, err, out)
		require.Contains(t, out, "Manifest asked-lone-")
		require.Contains(t, out, "Kyma kcp-system/asked is gone")
		require.True(t, s.IsGone(kyma))
		s.Warns(kyma, "PurgeAbandoned", "left there")
	})
}

// runPurge runs the command that purges, with what somebody types.
func runPurge(t *testing.T, s *harness.Environment, kyma, typed string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testfleet.Binary(t, "lifecycle-manager"),
		"purge", kyma, "--kubeconfig", s.ControlPlane.Kubeconfig, "--timeout", "4m")
	cmd.Env = s.Variables()
	cmd.Stdin = strings.NewReader(typed)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
