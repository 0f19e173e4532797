package windows

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
)

const (
	// checkEvery is how often the file is checked, at most.
	checkEvery = time.Second
	// settled is the age from which a file's modification time is trusted. The clocks of file systems are coarse, so a
	// younger file may change again without a new modification time.
	settled = 2 * time.Second
	// maxSize is the maximum size of a ConfigMap.
	maxSize = 1 << 20
	// unreadable is the digest of a file that cannot be read.
	unreadable = "unreadable"
)

// Options are the settings and dependencies of a Source.
type Options struct {
	// Path is the policy file; empty means that there is no policy and never will be.
	Path string
	// Required means that the path was configured explicitly. Then a missing file is an error. Otherwise it means that
	// there is no policy.
	Required bool
	// MinSize is the minimum length of a usable window. It is used only to log shorter windows.
	MinSize time.Duration
	// Metrics registers the gauge lifecycle_mgr_maintenance_window_config_read_success; may be nil.
	Metrics prometheus.Registerer
	// Log gets a line when the policy changes or cannot be read. The zero value is silent.
	Log logr.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Source reads the policy from a file that may change at any time, such as a mounted ConfigMap. It is safe for
// concurrent use.
type Source struct {
	Options

	mu      sync.Mutex
	checked time.Time   // when the file was last checked; zero before the first check
	seen    fs.FileInfo // the file that was last read; nil if the next check must read it
	current reading
}

// reading is the result of reading the file.
type reading struct {
	policy *Policy
	digest string
	err    error
}

// New returns a Source. An invalid file is not an error here, so that a bad policy only makes upgrades wait.
func New(o Options) (*Source, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log.GetSink() == nil {
		o.Log = logr.Discard()
	}
	s := &Source{Options: o}
	if o.Metrics != nil {
		if err := metrics.RegisterPolicyRead(o.Metrics, func() bool { _, err := s.Policy(); return err == nil }); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Policy returns the current policy, at most a second late. Nil without an error means that there is no policy, so
// nothing waits. An error means that the present file cannot be read or is invalid, even if an earlier one was valid.
// Then upgrades that need a window must wait. If the content is invalid, the error is an *InvalidError.
func (s *Source) Policy() (*Policy, error) {
	r := s.read()
	return r.policy, r.err
}

// Digest returns a digest that changes whenever the content of the file changes, even if the content is invalid. It is
// empty if there is no policy.
func (s *Source) Digest() string { return s.read().digest }

// read returns the current reading, and checks the file if the last check was a while ago.
func (s *Source) read() reading {
	if s.Path == "" {
		return reading{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	if since := now.Sub(s.checked); !s.checked.IsZero() && since >= 0 && since < checkEvery {
		return s.current
	}
	first := s.checked.IsZero()
	s.checked = now
	before := s.current
	s.check(now)
	if first || before.digest != s.current.digest || text(before.err) != text(s.current.err) {
		s.log()
	}
	return s.current
}

// check reads the file if it changed since it was last read.
func (s *Source) check(now time.Time) {
	content, info, err := readUnless(s.Path, s.seen)
	if errors.Is(err, fs.ErrNotExist) && exists(s.Path) {
		// The link exists, but its target did not: the kubelet was replacing the folder behind a mounted ConfigMap.
		content, info, err = readUnless(s.Path, s.seen)
	}
	if err == nil && info == nil {
		return
	}
	s.seen = nil
	if errors.Is(err, fs.ErrNotExist) && !s.Required && !exists(s.Path) {
		s.current = reading{}
		return
	}
	if err != nil {
		s.current = reading{digest: unreadable, err: fmt.Errorf("read the maintenance policy: %w", err)}
		return
	}
	if age := now.Sub(info.ModTime()); age > settled {
		s.seen = info
	}
	digest := sha256.Sum256(content)
	if r := (reading{digest: hex.EncodeToString(digest[:])}); r.digest != s.current.digest {
		if r.policy, r.err = Parse(content); r.err != nil {
			r.err = fmt.Errorf("%s: %w", s.Path, r.err)
		}
		s.current = r
	}
}

// readUnless returns the content of a regular file and its FileInfo at the time it was opened. It returns nothing if
// the file has not changed since seen. It does not open anything but a regular file, because opening a pipe would
// block.
func readUnless(path string, seen fs.FileInfo) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if seen != nil && same(seen, info) {
		return nil, nil, nil
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }()
	if info, err = file.Stat(); err != nil {
		return nil, nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return nil, nil, err
	}
	if len(content) > maxSize {
		return nil, nil, fmt.Errorf("%s is larger than %d bytes", path, maxSize)
	}
	return content, info, nil
}

// same reports whether two reads saw the same file in the same state: inode, size and modification time are equal.
func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// exists reports whether a file of that name exists. A dangling link counts.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// log logs the current policy.
func (s *Source) log() {
	log := s.Log.WithValues(logkey.Path, s.Path)
	switch r := s.current; {
	case r.err != nil:
		log.Error(r.err, "the maintenance policy cannot be used: upgrades that need a window wait until it is corrected")
	case r.policy == nil:
		log.Info("no maintenance policy: upgrades do not wait for windows")
	default:
		log.Info("maintenance policy read", logkey.Digest, r.digest[:12], logkey.Rules, len(r.policy.rules))
		for _, part := range r.policy.Ignored() {
			log.Info("a part of the maintenance policy is ignored", logkey.Place, part.Path, logkey.Reason, part.Message)
		}
		for _, w := range r.policy.tooShort(s.MinSize) {
			log.Info("a maintenance window is shorter than the minimum and never used", logkey.Window, w.String(), logkey.Minimum, s.MinSize.String())
		}
	}
}

// tooShort returns the windows of a policy that Next skips.
func (p *Policy) tooShort(minSize time.Duration) []Window {
	var short []Window
	check := func(windows []Window) {
		for _, w := range windows {
			if s := w.around(time.Time{})[0]; s.length() < minSize {
				short = append(short, w)
			}
		}
	}
	for _, r := range p.rules {
		check(r.windows)
	}
	check(p.fallback)
	return short
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
