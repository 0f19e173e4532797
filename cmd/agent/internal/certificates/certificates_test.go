package certificates_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/certificates"
	"github.com/kyma-project/lifecycle-manager/test/agenttest"
)

type observer struct{ loaded, broken atomic.Int64 }

func (o *observer) CertificateLoaded(*x509.Certificate) { o.loaded.Add(1) }
func (o *observer) CertificateBroken()                  { o.broken.Add(1) }

// serve starts a server with a Keeper's certificate.
func serve(t *testing.T, keeper *certificates.Keeper) string {
	t.Helper()
	port, err := tls.Listen("tcp", "127.0.0.1:0", keeper.Server())
	require.NoError(t, err)
	server := &http.Server{Handler: http.NotFoundHandler(), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), ReadHeaderTimeout: time.Minute}
	ended := make(chan error)
	go func() { ended <- server.Serve(port) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-ended, http.ErrServerClosed)
	})
	return port.Addr().String()
}

// shown returns the common name of a server's certificate.
func shown(t *testing.T, address string) string {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// link replaces a file with a link.
func link(t *testing.T, target, path string) {
	t.Helper()
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink(target, path))
}

func keep(t *testing.T, files certificates.Files, interval time.Duration) (*certificates.Keeper, *observer) {
	t.Helper()
	o := &observer{}
	keeper := certificates.New(files, interval, o, slog.New(slog.NewJSONHandler(io.Discard, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- keeper.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	require.Eventually(t, keeper.Loaded, time.Minute, 10*time.Millisecond)
	return keeper, o
}

func TestAReplacedCertificateIsUsedForTheNextHandshake(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	mount := agenttest.MountCertificate(t, ca, "first")
	keeper, o := keep(t, certificates.In(mount.Folder), time.Hour)
	address := serve(t, keeper)
	require.Equal(t, "first", shown(t, address))
	for _, name := range []string{"second", "third"} {
		mount.Renew(ca, name)
		require.Eventually(t, func() bool { return shown(t, address) == name }, time.Minute, 20*time.Millisecond)
		client, err := keeper.Client()
		require.NoError(t, err)
		require.Equal(t, name, client.Certificates[0].Leaf.Subject.CommonName)
	}
	require.EqualValues(t, 3, o.loaded.Load(), "unchanged files must not be loaded again")
}

func TestAMissedChangeIsFoundAfterTheInterval(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	// The files are links to a folder that is not watched.
	mount, outer := agenttest.MountCertificate(t, ca, "first"), agenttest.MountCertificate(t, ca, "outer")
	files := certificates.In(outer.Folder)
	link(t, certificates.In(mount.Folder).Certificate, files.Certificate)
	link(t, certificates.In(mount.Folder).Key, files.Key)
	link(t, certificates.In(mount.Folder).Authorities, files.Authorities)
	keeper, _ := keep(t, files, 50*time.Millisecond)
	address := serve(t, keeper)
	mount.Renew(ca, "second")
	require.Eventually(t, func() bool { return shown(t, address) == "second" }, time.Minute, 20*time.Millisecond)
}

func TestBrokenFilesKeepThePreviousCertificate(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	certificate, key := ca.Issue("other")
	_, otherKey := ca.Issue("other")
	for name, files := range map[string]map[string][]byte{
		"no certificate":                 {shared.CertificateKey: nil, shared.PrivateKeyKey: key, shared.CertificateAuthorityKey: ca.PEM},
		"the key of another certificate": {shared.CertificateKey: certificate, shared.PrivateKeyKey: otherKey, shared.CertificateAuthorityKey: ca.PEM},
		"no authority":                   {shared.CertificateKey: certificate, shared.PrivateKeyKey: key, shared.CertificateAuthorityKey: []byte("none")},
		"a missing file":                 {shared.CertificateKey: certificate, shared.PrivateKeyKey: key},
	} {
		t.Run(name, func(t *testing.T) {
			mount := agenttest.MountCertificate(t, ca, "first")
			keeper, o := keep(t, certificates.In(mount.Folder), time.Hour)
			address := serve(t, keeper)
			require.NoError(t, mount.Replace(files))
			require.Eventually(t, func() bool { return o.broken.Load() > 0 }, time.Minute, 10*time.Millisecond)
			require.Equal(t, "first", shown(t, address))
			mount.Renew(ca, "second")
			require.Eventually(t, func() bool { return shown(t, address) == "second" }, time.Minute, 20*time.Millisecond)
		})
	}
}

func TestAServerAcceptsNoOlderTLS(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	keeper, _ := keep(t, certificates.In(agenttest.MountCertificate(t, ca, "first").Folder), time.Hour)
	address := serve(t, keeper)
	_, err := tls.Dial("tcp", address, &tls.Config{RootCAs: ca.Pool(), MaxVersion: tls.VersionTLS12})
	require.ErrorContains(t, err, "protocol version")
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: ca.Pool()})
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

func TestWithoutFilesHandshakesFailUntilTheFilesAppear(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	mount := agenttest.MountCertificate(t, ca, "first")
	require.NoError(t, mount.Replace(map[string][]byte{}))
	o := &observer{}
	keeper := certificates.New(certificates.In(mount.Folder), time.Hour, o, slog.New(slog.DiscardHandler))
	keeper.Load()
	require.False(t, keeper.Loaded())
	require.EqualValues(t, 1, o.broken.Load())
	_, err := keeper.Client()
	require.Error(t, err)
	_, err = tls.Dial("tcp", serve(t, keeper), &tls.Config{RootCAs: ca.Pool()})
	require.Error(t, err)
	mount.Renew(ca, "first")
	keeper.Load()
	require.True(t, keeper.Loaded())
}
