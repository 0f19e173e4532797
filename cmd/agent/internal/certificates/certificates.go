// Package certificates keeps the agent's certificate and trusted authorities up to date with the files of a mounted
// Secret. Both may change while the agent runs.
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
	// settling is how long the files must be unchanged before they are read, because they may be written one by one.
	settling = 200 * time.Millisecond
	// unwatched is the maximum interval between reads if the files cannot be watched.
	unwatched = 2 * time.Second
	// maxFileBytes is above the maximum size of a Secret.
	maxFileBytes = 1 << 20
)

// Files are the paths of the certificate's files.
type Files struct {
	Certificate, Key, Authorities string
}

// In returns the paths of the files in the folder of a mounted Secret.
func In(folder string) Files {
	return Files{
		Certificate: filepath.Join(folder, shared.CertificateKey), Key: filepath.Join(folder, shared.PrivateKeyKey),
		Authorities: filepath.Join(folder, shared.CertificateAuthorityKey),
	}
}

// folders returns the folders of the files.
func (f Files) folders() []string {
	all := []string{filepath.Dir(f.Certificate), filepath.Dir(f.Key), filepath.Dir(f.Authorities)}
	slices.Sort(all)
	return slices.Compact(all)
}

// Observer is notified about the certificate.
type Observer interface {
	// CertificateLoaded is called when a new certificate comes into use.
	CertificateLoaded(leaf *x509.Certificate)
	// CertificateBroken is called if the files cannot be used. The previous certificate stays in use.
	CertificateBroken()
}

// Keeper holds the certificate in use.
type Keeper struct {
	files    Files
	interval time.Duration
	observer Observer
	log      *slog.Logger
	watch    func() (*fsnotify.Watcher, error)
	current  atomic.Pointer[loaded]
}

// loaded is the content of files that belong together.
type loaded struct {
	content     [3][]byte
	certificate tls.Certificate
	authorities *x509.CertPool
}

// New returns a Keeper without a certificate; Load or Run load it. Run reads the files when their folders change. It
// also reads them once per interval, in case it missed a change.
func New(files Files, interval time.Duration, observer Observer, log *slog.Logger) *Keeper {
	return &Keeper{files: files, interval: interval, observer: observer, log: log, watch: fsnotify.NewWatcher}
}

// Loaded reports whether a certificate is loaded.
func (k *Keeper) Loaded() bool { return k.current.Load() != nil }

// Run keeps the certificate up to date until the context ends.
func (k *Keeper) Run(ctx context.Context) error {
	interval := k.interval
	var events chan fsnotify.Event
	var failures chan error
	watcher, err := k.watch()
	if err == nil {
		defer func() { _ = watcher.Close() }()
		events, failures = watcher.Events, watcher.Errors
	} else {
		// A node has a limited number of inotify watches, and other processes may have used them up.
		interval = min(interval, unwatched)
		k.log.Warn("cannot watch the certificate's files, will read them every few seconds", logkey.Error, err)
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
			k.log.Warn("cannot watch the certificate's files", logkey.Error, err)
		case <-settled.C:
			k.Load()
		case <-ticker.C:
			k.Load()
		}
	}
}

// add watches the folders, because the kubelet replaces a link in them. It adds a folder again after the folder was
// replaced.
func (k *Keeper) add(watcher *fsnotify.Watcher) {
	for _, folder := range k.files.folders() {
		if err := watcher.Add(folder); err != nil {
			k.log.Debug("cannot watch the certificate's folder, will read its files periodically", logkey.Path, folder, logkey.Error, err)
		}
	}
}

// Load reads the files. If their content has changed and is valid, the new certificate comes into use.
func (k *Keeper) Load() {
	read, err := k.read()
	if err != nil {
		k.log.Error("cannot use the certificate's files, the previous certificate stays in use", logkey.Error, err)
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
		return nil, fmt.Errorf("read %s: the file contains no certificate", k.files.Authorities)
	}
	return read, nil
}

func readFile(path string) ([]byte, error) {
	about, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read a certificate file: %w", err)
	}
	if !about.Mode().IsRegular() || about.Size() > maxFileBytes {
		return nil, fmt.Errorf("read %s: not a regular file of at most %d bytes", path, maxFileBytes)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a certificate file: %w", err)
	}
	return content, nil
}

// errNone is returned before the first certificate was loaded.
var errNone = errors.New("no certificate is loaded yet")

// Server returns the TLS configuration of a server that uses the current certificate for each handshake.
func (k *Keeper) Server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		// A resumed session would keep the certificate of its first handshake.
		SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if in := k.current.Load(); in != nil {
				return &in.certificate, nil
			}
			return nil, errNone
		},
	}
}

// Client returns the TLS configuration of a client with the current certificate and trusted authorities.
func (k *Keeper) Client() (*tls.Config, error) {
	in := k.current.Load()
	if in == nil {
		return nil, errNone
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{in.certificate}, RootCAs: in.authorities}, nil
}
