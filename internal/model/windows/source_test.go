package windows

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

const (
	saturdays = `{"default": {"days": ["Sat"], "begin": "20:00:00Z", "end": "23:00:00Z"}}`
	sundays   = `{"default": {"days": ["Sun"], "begin": "20:00:00Z", "end": "23:00:00Z"}}`
)

// clock is a clock that tests set.
type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(time.Now().UnixNano())
	return c
}

func (c *clock) Now() time.Time       { return time.Unix(0, c.now.Load()) }
func (c *clock) pass(d time.Duration) { c.now.Add(int64(d)) }

func newSource(t *testing.T, path string, required bool) (*Source, *clock, *prometheus.Registry) {
	t.Helper()
	c, registry := newClock(), prometheus.NewPedanticRegistry()
	s, err := New(Options{Path: path, Required: required, Metrics: registry, Now: c.Now})
	require.NoError(t, err)
	return s, c, registry
}

// success returns the value of the gauge.
func success(t *testing.T, registry *prometheus.Registry) float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	require.Equal(t, "lifecycle_mgr_maintenance_window_config_read_success", families[0].GetName())
	return families[0].GetMetric()[0].GetGauge().GetValue()
}

func windowsOf(t *testing.T, s *Source) string {
	t.Helper()
	policy, err := s.Policy()
	require.NoError(t, err)
	windows, matched := policy.For(nil)
	require.True(t, matched)
	return windows[0].String()
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// mount creates a file as the kubelet does for a ConfigMap: name -> ..data/name, ..data -> ..<revision>.
func mount(t *testing.T, dir, revision, content string) {
	t.Helper()
	folder := filepath.Join(dir, ".."+revision)
	require.NoError(t, os.Mkdir(folder, 0o700))
	write(t, filepath.Join(folder, "policy.json"), content)
	require.NoError(t, os.Symlink(".."+revision, filepath.Join(dir, "..data_tmp")))
	require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	if err := os.Symlink("..data/policy.json", filepath.Join(dir, "policy.json")); err != nil {
		require.ErrorIs(t, err, fs.ErrExist)
	}
}

func TestAMissingFileIsAnErrorOnlyIfItIsRequired(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "policy.json")

	s, _, registry := newSource(t, path, false)
	policy, err := s.Policy()
	require.NoError(t, err)
	require.Nil(t, policy)
	require.Empty(t, s.Digest())
	require.InDelta(t, 1, success(t, registry), 0)

	s, _, registry = newSource(t, path, true)
	policy, err = s.Policy()
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, path)
	require.Nil(t, policy)
	require.InDelta(t, 0, success(t, registry), 0)

	s, _, _ = newSource(t, "", true)
	policy, err = s.Policy()
	require.NoError(t, err)
	require.Nil(t, policy)
}

func TestAChangedFileIsSeenWithinASecond(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "policy.json")
	s, c, _ := newSource(t, path, false)
	none := s.Digest()

	changes := []struct {
		name   string
		change func()
		want   string
	}{
		{"it appears", func() { write(t, path, saturdays) }, "Sat 20:00:00Z to 23:00:00Z"},
		{"it is overwritten with the same size", func() { write(t, path, sundays) }, "Sun 20:00:00Z to 23:00:00Z"},
		{"another file replaces it", func() {
			write(t, path+".new", saturdays)
			require.NoError(t, os.Rename(path+".new", path))
		}, "Sat 20:00:00Z to 23:00:00Z"},
	}
	before := none
	for _, tc := range changes {
		t.Run(tc.name, func(t *testing.T) {
			tc.change()
			require.Equal(t, before, s.Digest(), "it was read less than a second ago")
			c.pass(time.Second)
			require.Equal(t, tc.want, windowsOf(t, s))
			require.NotEqual(t, before, s.Digest())
			before = s.Digest()
		})
	}
	require.NoError(t, os.Remove(path))
	c.pass(time.Second)
	policy, err := s.Policy()
	require.NoError(t, err)
	require.Nil(t, policy)
	require.Equal(t, none, s.Digest())
}

func TestAReplacedConfigMapIsRead(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, "1", saturdays)
	s, c, registry := newSource(t, filepath.Join(dir, "policy.json"), false)
	require.Equal(t, "Sat 20:00:00Z to 23:00:00Z", windowsOf(t, s))
	first := s.Digest()

	mount(t, dir, "2", sundays)
	c.pass(time.Second)
	require.Equal(t, "Sun 20:00:00Z to 23:00:00Z", windowsOf(t, s))
	require.NotEqual(t, first, s.Digest())

	mount(t, dir, "3", saturdays)
	c.pass(time.Second)
	require.Equal(t, first, s.Digest(), "equal content has an equal digest")

	// A dangling link does not mean that there is no policy.
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "..3")))
	c.pass(time.Second)
	_, err := s.Policy()
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NotEqual(t, first, s.Digest())
	require.InDelta(t, 0, success(t, registry), 0)
}

func TestAnInvalidFileIsAnErrorUntilItIsCorrected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	write(t, path, saturdays)
	s, c, registry := newSource(t, path, false)
	good := s.Digest()
	require.InDelta(t, 1, success(t, registry), 0)

	write(t, path, `{"default": {"days": ["Sat"], "begin": "8 pm", "end": "23:00:00Z"}}`)
	for range 3 {
		c.pass(time.Minute)
		policy, err := s.Policy()
		require.Nil(t, policy, "the earlier policy is no longer used")
		var invalid *InvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, "default.begin", invalid.Problems[0].Path)
		require.ErrorContains(t, err, path)
		require.InDelta(t, 0, success(t, registry), 0)
	}
	require.NotEqual(t, good, s.Digest())

	write(t, path, saturdays)
	c.pass(time.Second)
	require.Equal(t, good, s.Digest())
	require.Equal(t, "Sat 20:00:00Z to 23:00:00Z", windowsOf(t, s))
	require.InDelta(t, 1, success(t, registry), 0)
}

func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	cases := map[string]struct {
		make func(path string) error
		want string
	}{
		"a folder":                 {func(path string) error { return os.Mkdir(path, 0o700) }, "is not a regular file"},
		"a pipe without a writer":  {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "is not a regular file"},
		"a file that is too large": {func(path string) error { return os.WriteFile(path, make([]byte, 1<<20+1), 0o600) }, "is larger than 1048576 bytes"},
		"a link to itself":         {func(path string) error { return os.Symlink(path, path) }, "too many levels"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "policy.json")
			require.NoError(t, tc.make(path))
			s, c, registry := newSource(t, path, false)
			_, err := s.Policy()
			require.ErrorContains(t, err, tc.want)
			require.NotEmpty(t, s.Digest())
			require.InDelta(t, 0, success(t, registry), 0)

			require.NoError(t, os.RemoveAll(path))
			write(t, path, saturdays)
			c.pass(time.Second)
			require.Equal(t, "Sat 20:00:00Z to 23:00:00Z", windowsOf(t, s))
		})
	}
}

func TestAnUnchangedFileIsParsedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	write(t, path, saturdays)
	s, c, _ := newSource(t, path, false)
	first, err := s.Policy()
	require.NoError(t, err)
	for range 10 {
		c.pass(time.Hour)
		again, err := s.Policy()
		require.NoError(t, err)
		require.Same(t, first, again)
	}
}

func TestAClockThatIsSetBackDoesNotStopTheReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	write(t, path, saturdays)
	s, c, _ := newSource(t, path, false)
	first := s.Digest()
	write(t, path, sundays)
	c.pass(-time.Hour)
	require.NotEqual(t, first, s.Digest())
}

func TestASourceIsSafeForConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, "0", saturdays)
	s, c, registry := newSource(t, filepath.Join(dir, "policy.json"), false)
	done := make(chan struct{})
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				policy, err := s.Policy()
				if err != nil || policy == nil || s.Digest() == "" {
					t.Errorf("policy %v, error %v", policy, err)
					return
				}
				_, _ = registry.Gather()
				c.pass(300 * time.Millisecond)
			}
		})
	}
	for i := range 50 {
		content := saturdays
		if i%2 == 0 {
			content = sundays
		}
		mount(t, dir, string(rune('a'+i%26))+string(rune('A'+i/26)), content)
	}
	close(done)
	asking.Wait()
}

func TestEachChangeIsLoggedOnce(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	path, c := filepath.Join(t.TempDir(), "policy.json"), newClock()
	s, err := New(Options{Path: path, MinSize: 4 * time.Hour, Now: c.Now, Log: log})
	require.NoError(t, err)
	read := func() []string {
		lines = nil
		for range 3 {
			c.pass(time.Second)
			_, _ = s.Policy()
		}
		return lines
	}
	require.Len(t, read(), 1)
	require.Contains(t, lines[0], "no maintenance policy")
	write(t, path, saturdays)
	require.Len(t, read(), 2)
	require.Contains(t, lines[0], "maintenance policy read")
	require.Contains(t, lines[1], `"window"="Sat 20:00:00Z to 23:00:00Z"`)
	write(t, path, `{"default": {"days": ["Someday"], "begin": "20:00:00Z", "end": "23:00:00Z"}}`)
	require.Len(t, read(), 2)
	require.Contains(t, lines[1], `"place"="default.days[0]"`)
	require.Contains(t, lines[1], "is not a day")
	write(t, path, `{`)
	require.Len(t, read(), 1)
	require.Contains(t, lines[0], "cannot be used")
	require.Empty(t, read())
}

func TestTwoSourcesCannotShareOneGauge(t *testing.T) {
	registry := prometheus.NewRegistry()
	_, err := New(Options{Metrics: registry, Log: logr.Discard()})
	require.NoError(t, err)
	_, err = New(Options{Metrics: registry})
	require.ErrorContains(t, err, "register the metrics of the maintenance policy")
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}
