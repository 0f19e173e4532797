// Package certificates keeps the agent's certificate, and the authorities that it trusts, as the files of a mounted
// Secret have them: both change while the agent runs.
package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

const (
	// settling is how long the files must not have changed before they are read: they may be written one by one.
	settling = 200 * time.Millisecond
	// unwatched is how often the files are read at least where the system does not say that they change.
	unwatched = 2 * time.Second
	// maxFileBytes is above what a Secret can hold.
	maxFileBytes = 1 << 20
)

// Files are the paths of what is kept.
type Files struct {
	Certificate, Key, Authorities string
}

// In are the files of a mounted Secret.
func In(folder string) Files {
	return Files{
		Certificate: filepath.Join(folder, shared.CertificateKey), Key: filepath.Join(folder, shared.PrivateKeyKey),
		Authorities: filepath.Join(folder, shared.CertificateAuthorityKey),
	}
}

// folders are those that the files are in.
func (f Files) folders() []string {
	all := []string{filepath.Dir(f.Certificate), filepath.Dir(f.Key), filepath.Dir(f.Authorities)}
	slices.Sort(all)
	return slices.Compact(all)
}

// Observer is told of what happens to the certificate.
type Observer interface {
	// CertificateLoaded is called with each certificate that is in use from now on.
	CertificateLoaded(leaf *x509.Certificate)
	// CertificateBroken is called where files cannot be used. Those before stay in use.
	CertificateBroken()
}

// Keeper has the certificate in use.
type Keeper struct {
	files    Files
	interval time.Duration
	observer Observer
	log      *slog.Logger
	watch    func() (*fsnotify.Watcher, error)
	current  atomic.Pointer[loaded]
}

// loaded is what was read from files that belong together.
type loaded struct {
	content     [3][]byte
	certificate tls.Certificate
	authorities *x509.CertPool
}

// New makes a Keeper that has no certificate before Load or Run. Run reads the files where their folders change, and
// each interval, in case it is not told of a change.
func New(files Files, interval time.Duration, observer Observer, log *slog.Logger) *Keeper {
	return &Keeper{files: files, interval: interval, observer: observer, log: log, watch: fsnotify.NewWatcher}
}

// Loaded is whether there is a certificate.
func (k *Keeper) Loaded() bool { return k.current.Load() != nil }

// Run keeps the certificate until the context ends.
func (k *Keeper) Run(ctx context.Context) error {
	interval := k.interval
	var events chan fsnotify.Event
	var failures chan error
	watcher, err := k.watch()
	if err == nil {
		defer func() { _ = watcher.Close() }()
		events, failures = watcher.Events, watcher.Errors
	} else {
		// A node has a limited number of watches, which others may have used up.
		interval = min(interval, unwatched)
		k.log.Warn("cannot watch the certificate's files, they are read every few seconds instead", logkey.Error, err)
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	settled := time.NewTimer(0)
	defer settled.Stop()
	for {
		if watcher != nil {
			k.add(watcher)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-events:
			settled.Reset(settling)
		case err := <-failures:
			k.log.Warn("watching the certificate's files failed", logkey.Error, err)
		case <-settled.C:
			k.Load()
		case <-ticker.C:
			k.Load()
		}
	}
}

// add watches the folders, since the kubelet replaces a link in them. One that was itself replaced is watched anew.
func (k *Keeper) add(watcher *fsnotify.Watcher) {
	for _, folder := range k.files.folders() {
		if err := watcher.Add(folder); err != nil {
			k.log.Debug("cannot watch the certificate's folder, its files are read now and then", logkey.Path, folder, logkey.Error, err)
		}
	}
}

// Load reads the files, and uses what is in them if it has changed and can be used.
func (k *Keeper) Load() {
	read, err := k.read()
	if err != nil {
		k.log.Error("the certificate's files cannot be used, what was read before stays in use", logkey.Error, err)
		k.observer.CertificateBroken()
		return
	}
	if before := k.current.Load(); before != nil && slices.EqualFunc(before.content[:], read.content[:], bytes.Equal) {
		return
	}
	k.current.Store(read)
	k.log.Info("read the certificate", logkey.Name, read.certificate.Leaf.Subject.CommonName, logkey.Until, read.certificate.Leaf.NotAfter.UTC().Format(time.RFC3339))
	k.observer.CertificateLoaded(read.certificate.Leaf)
}

func (k *Keeper) read() (*loaded, error) {
	read := &loaded{authorities: x509.NewCertPool()}
	for i, path := range []string{k.files.Certificate, k.files.Key, k.files.Authorities} {
		content, err := readFile(path)
		if err != nil {
			return nil, err
		}
		read.content[i] = content
	}
	var err error
	if read.certificate, err = tls.X509KeyPair(read.content[0], read.content[1]); err != nil {
		return nil, fmt.Errorf("read %s with its key: %w", k.files.Certificate, err)
	}
	if !read.authorities.AppendCertsFromPEM(read.content[2]) {
		return nil, fmt.Errorf("read %s: no certificate is in it", k.files.Authorities)
	}
	return read, nil
}

func readFile(path string) ([]byte, error) {
	about, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read a file of the certificate: %w", err)
	}
	if !about.Mode().IsRegular() || about.Size() > maxFileBytes {
		return nil, fmt.Errorf("read %s: it is no file of at most %d bytes", path, maxFileBytes)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a file of the certificate: %w", err)
	}
	return content, nil
}

// errNone is before the first certificate was read.
var errNone = errors.New("no certificate was read yet")

// Server is for a server that shows the certificate in use at each handshake.
func (k *Keeper) Server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		// A session that is resumed would go on with the certificate of its first handshake.
		SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if in := k.current.Load(); in != nil {
				return &in.certificate, nil
			}
			return nil, errNone
		},
	}
}

// Client is for a client that shows the certificate in use now, and trusts the authorities of now.
func (k *Keeper) Client() (*tls.Config, error) {
	in := k.current.Load()
	if in == nil {
		return nil, errNone
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{in.certificate}, RootCAs: in.authorities}, nil
}
