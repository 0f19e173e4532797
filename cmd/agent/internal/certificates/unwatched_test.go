package certificates

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/agenttest"
)

// seen receives the common names of loaded certificates.
type seen chan string

func (s seen) CertificateLoaded(leaf *x509.Certificate) { s <- leaf.Subject.CommonName }
func (s seen) CertificateBroken()                       {}

// The agent works even if other processes have used up all watches of the node.
func TestWithoutWatchesTheFilesAreReadEveryFewSeconds(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	mount := agenttest.MountCertificate(t, ca, "first")
	names := make(seen, 2)
	keeper := New(In(mount.Folder), time.Hour, names, slog.New(slog.DiscardHandler))
	keeper.watch = func() (*fsnotify.Watcher, error) { return nil, errors.New("too many open files") }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- keeper.Run(ctx) }()
	require.Equal(t, "first", <-names)
	mount.Renew(ca, "second")
	require.Equal(t, "second", <-names)
	cancel()
	require.NoError(t, <-ended)
}
