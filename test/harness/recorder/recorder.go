// Package recorder records the requests to a cluster in a form that can be sent to another one. test/cost records with it,
// test/memfleet/conformance replays.
package recorder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Recorded is one request to a cluster as it can be sent to another one: ${id} replaces what is unique to the test,
// ${uid} and ${rv} for the uid and the resourceVersion of the object that the request is about.
type Recorded struct {
	Method string `json:"method"`
	// Path has the query with it.
	Path string `json:"path"`
	// Code is what it was answered with.
	Code        int             `json:"code"`
	ContentType string          `json:"contentType,omitempty"`
	Accept      string          `json:"accept,omitempty"`
	Body        json.RawMessage `json:"body,omitempty"`

	sent bool
}

func (r *Recorded) writes() bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// Recorder keeps the requests to a cluster in the order in which they were sent, in parts. No header is kept but those
// that say what a body is.
type Recorder struct {
	id, registry string

	mu    sync.Mutex
	parts []part
	// reads are those since the last write: repeated ones are not kept.
	reads map[string]*Recorded
	err   error
}

type part struct {
	name     string
	requests []*Recorded
}

// New makes a recorder for a test with this id and a registry at this host, which differ from run to run.
func New(id, registry string) *Recorder { return &Recorder{id: id, registry: registry} }

// Begin begins the next part.
func (r *Recorder) Begin(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts, r.reads = append(r.parts, part{name: name}), nil
}

// Through keeps all requests through a transport.
func (r *Recorder) Through(next http.RoundTripper) http.RoundTripper { return r.through(next, true) }

// WritesThrough keeps the writes of a client that is not under test, but changes what the product will find.
func (r *Recorder) WritesThrough(next http.RoundTripper) http.RoundTripper {
	return r.through(next, false)
}

func (r *Recorder) through(next http.RoundTripper, readsToo bool) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		kept := r.keep(request, readsToo)
		response, err := next.RoundTrip(request)
		if kept != nil && err == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			kept.Code, kept.sent = response.StatusCode, true
		}
		return response, err
	})
}

// keep keeps a request, or returns nil where it is not to be.
func (r *Recorder) keep(request *http.Request, readsToo bool) *Recorded {
	// The time-out differs from request to request.
	address := *request.URL
	query := address.Query()
	query.Del("timeout")
	address.RawQuery = query.Encode()
	kept := &Recorded{Method: request.Method, Path: r.general(address.RequestURI()), Accept: inJSON(request.Header.Get("Accept"))}
	if !kept.writes() && !readsToo {
		return nil
	}
	body, err := content(request)
	if err == nil && len(body) > 0 {
		kept.ContentType = jsonType(request.Header.Get("Content-Type"))
		kept.Body, err = portable([]byte(r.general(string(body))))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.err = fmt.Errorf("%s %s: %w", kept.Method, kept.Path, err)
		return nil
	}
	if len(r.parts) == 0 {
		return nil
	}
	if kept.writes() {
		r.reads = nil
	} else if asked := r.reads[kept.Accept+" "+kept.Path]; asked != nil {
		return asked
	} else {
		if r.reads == nil {
			r.reads = map[string]*Recorded{}
		}
		r.reads[kept.Accept+" "+kept.Path] = kept
	}
	last := &r.parts[len(r.parts)-1]
	last.requests = append(last.requests, kept)
	return kept
}

// general replaces what differs from run to run.
func (r *Recorder) general(text string) string {
	return strings.NewReplacer(r.id, "${id}", r.registry, "registry.example.com").Replace(text)
}

// content is the body of a request, which the sender can read again. What is in protobuf becomes JSON.
func content(request *http.Request) ([]byte, error) {
	if request.Body == nil {
		return nil, nil
	}
	raw, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(raw))
	if !bytes.HasPrefix(raw, []byte("k8s\x00")) {
		return raw, nil
	}
	object, kind, err := clientscheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(*kind)
	return runtime.Encode(unversioned{}, object)
}

// unversioned encodes an object as it is.
type unversioned struct{}

func (unversioned) Encode(object runtime.Object, to io.Writer) error {
	return json.NewEncoder(to).Encode(object)
}

func (unversioned) Identifier() runtime.Identifier { return "unversioned" }

const inProtobuf = "application/vnd.kubernetes.protobuf"

func inJSON(accept string) string {
	for each := range strings.SplitSeq(accept, ",") {
		if !strings.HasPrefix(each, inProtobuf) {
			return each
		}
	}
	return strings.Replace(accept, inProtobuf, runtime.ContentTypeJSON, 1)
}

func jsonType(contentType string) string {
	return strings.Replace(contentType, inProtobuf, runtime.ContentTypeJSON, 1)
}

// portable is a body without what is unique to its cluster.
func portable(body []byte) (json.RawMessage, error) {
	var content any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		return nil, fmt.Errorf("a body that is not JSON: %w", err)
	}
	placeholders := map[string]string{"uid": "${uid}", "resourceVersion": "${rv}"}
	switch content := content.(type) {
	case map[string]any:
		for _, place := range []string{"metadata", "preconditions"} {
			about, _ := content[place].(map[string]any)
			for key, placeholder := range placeholders {
				if value, ok := about[key].(string); ok && value != "" {
					about[key] = placeholder
				}
			}
			// An update without them does not change them.
			delete(about, "managedFields")
		}
	case []any: // the operations of a JSON patch
		for _, each := range content {
			operation, _ := each.(map[string]any)
			for key, placeholder := range placeholders {
				if operation["path"] == "/metadata/"+key {
					operation["value"] = placeholder
				}
			}
		}
	}
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(content)
	return encoded.Bytes(), err
}

// Write writes each part into a file of its own in a folder, a request a line, in place of what was there.
func (r *Recorder) Write(t testing.TB, folder string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.NoError(t, r.err, "a request could not be recorded")
	require.NoError(t, os.RemoveAll(folder))
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for i, each := range r.parts {
		var lines bytes.Buffer
		encoder := json.NewEncoder(&lines)
		encoder.SetEscapeHTML(false)
		for _, request := range each.requests {
			if request.isRepeatable() {
				require.NoError(t, encoder.Encode(request))
			}
		}
		name := fmt.Sprintf("%02d-%s.jsonl", i+1, each.name)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), lines.Bytes(), 0o644)) //nolint:gosec // no secret is in it
	}
}

// isRepeatable is false of what was never answered, and of an update that failed with a conflict: it changed nothing,
// and would not conflict again.
func (r *Recorded) isRepeatable() bool {
	late := r.Code == http.StatusConflict && bytes.Contains(r.Body, []byte("${rv}"))
	return r.sent && !late
}

// Folder is where the requests of the product to a cluster are recorded.
func Folder(t testing.TB) string {
	t.Helper()
	return filepath.Join(testfleet.Root(t), "test", "memfleet", "conformance", "testdata", "requests")
}

// RequireKnown fails the test where a write is of a kind that was not recorded: then the record is stale.
func (r *Recorder) RequireKnown(t testing.TB) {
	t.Helper()
	known := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(Folder(t), "*.jsonl"))
	require.NoError(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range bytes.Lines(raw) {
			recorded := &Recorded{}
			require.NoError(t, json.Unmarshal(line, recorded))
			known[recorded.shape()] = true
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	require.NoError(t, r.err, "a request could not be recorded")
	for _, each := range r.parts {
		for _, request := range each.requests {
			require.True(t, !request.writes() || known[request.shape()],
				"the fake clusters were never compared with a real one by such a request; run `make record-requests`: %s", request.shape())
		}
	}
}

// shape is the kind of a request: the same for all objects of a kind.
func (r *Recorded) shape() string {
	path, query, _ := strings.Cut(r.Path, "?")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	resource := 2 // after api/v1
	if parts[0] == "apis" {
		resource = 3 // after apis/GROUP/VERSION
	}
	if len(parts) > resource+2 && parts[resource] == "namespaces" && parts[resource+2] != "status" {
		parts[resource+1] = "*"
		resource += 2
	}
	if len(parts) > resource+1 {
		parts[resource+1] = "*"
	}
	return fmt.Sprintf("%s %s?%s %s %s", r.Method, strings.Join(parts, "/"), query, r.ContentType, r.Accept)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
