package artifacts

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// tally is a Counter that remembers its calls.
type tally struct {
	mu    sync.Mutex
	asked []string
	bytes int
}

func (c *tally) ArtifactAsked(kind string, hit bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, fmt.Sprint(kind, " ", hit))
}

func (c *tally) RegistryAnswered(reason string, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.bytes = append(c.asked, "fetched: "+reason), c.bytes+bytes
}

func TestRequestsToCachesAndRegistriesAreCounted(t *testing.T) {
	r := newTestRegistry(t)
	layer := r.push(t, []byte(configMapNamed("a")))
	counted, folder := &tally{}, t.TempDir()
	s := r.store(t, func(o *Options) { o.Counter, o.CacheDir = counted, folder })
	for range 2 {
		content, err := s.Fetch(t.Context(), layer)
		require.NoError(t, err)
		require.Equal(t, len(content), counted.bytes)
	}
	again := r.store(t, func(o *Options) { o.Counter, o.CacheDir = counted, folder })
	_, err := again.Fetch(t.Context(), layer)
	require.NoError(t, err)
	require.Equal(t, []string{"fetched: ", "layer false", "layer true", "layer true"}, counted.asked, "the folder is a cache too")

	counted.asked = nil
	layer.Digest = "sha256:" + strings.Repeat("0", 64)
	_, err = again.Fetch(t.Context(), layer)
	require.Error(t, err)
	_, err = again.FetchDescriptor(t.Context(), r.host+"/sub", component, "9.9.9")
	require.Error(t, err)
	require.Equal(t, []string{"fetched: LayerNotFound", "layer false", "descriptor false", "fetched: DescriptorNotFound"}, counted.asked)
}
