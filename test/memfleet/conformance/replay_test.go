package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheProductsRequestsHaveTheAnswersOfARealServer sends what Lifecycle Manager asked of a real cluster, from its first
// synchronization to the purge, to a real cluster and to fake ones, request by request. `make record-requests` records it.
func TestTheProductsRequestsHaveTheAnswersOfARealServer(t *testing.T) {
	t.Parallel()
	actual, fakes := realCluster(t), fakeClusters(t)
	files, err := filepath.Glob(filepath.Join("testdata", "requests", "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "nothing is recorded")
	id := fmt.Sprintf("c%016x", time.Now().UnixNano())
	r := &replay{all: []*replayed{newReplayed(actual, id)}, id: id, deleted: map[string]bool{}}
	for _, config := range fakes {
		r.all = append(r.all, newReplayed(newCluster(t, config), id))
	}
	r.clear(t)
	t.Cleanup(func() { r.clear(t) })
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		// Each part needs what was before it.
		require.True(t, t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			number := 0
			for line := range bytes.Lines(raw) {
				number++
				var request recorded
				require.NoError(t, json.Unmarshal(line, &request))
				if !notServed.MatchString(request.Path) {
					r.send(t, fmt.Sprintf("%s:%d", file, number), request)
				}
				if request.isApply() && !moved.MatchString(request.Path) {
					// Once more, which changes nothing: the product itself does not write what is as it should be.
					request.Code = http.StatusOK
					r.send(t, fmt.Sprintf("%s:%d, again", file, number), request)
				}
			}
		}))
	}
}

// notServed is what fake clusters do not have on purpose: it is in README.md.
var notServed = regexp.MustCompile(`^/apis/resource\.k8s\.io/`)

// discovery is how clusters are asked for all that they serve. The lists differ by what is not served.
var discovery = regexp.MustCompile(`^/apis?$`)

// recorded is a request as it is kept. ${id} replaces what is unique to the test, and ${uid} and ${rv} for those of
// the object that it is about.
type recorded struct {
	Method, Path, ContentType, Accept string
	// Code is what it was answered with, at last.
	Code int
	Body json.RawMessage
}

func (r recorded) isApply() bool { return strings.HasPrefix(r.ContentType, "application/apply-patch") }

func (r recorded) writes() bool { return r.Method != http.MethodGet }

// replay sends the same requests to several clusters, of which the first is the real one.
type replay struct {
	all []*replayed
	id  string
	// written is true after a write until the clusters came to rest.
	written bool
	// deleted are the paths of what was deleted.
	deleted map[string]bool
}

// replayed is one of the clusters.
type replayed struct {
	*cluster
	normalizer
}

var aNamespace = regexp.MustCompile(`^/api/v1/namespaces/[^/]+$`)

func newReplayed(c *cluster, id string) *replayed {
	return &replayed{c, normalizer{namespace: id, tokens: map[string]string{}, versions: map[string]string{}}}
}

const (
	// patience is how long clusters have to reach the state of the one that the requests are from.
	patience = 20 * time.Second
	// still is how long the answers to a read stay the same when controllers are done with what was written before.
	still = 500 * time.Millisecond
)

// send makes a request to all clusters, and compares the answers.
func (r *replay) send(t *testing.T, at string, request recorded) {
	t.Helper()
	var texts []string
	if about, _, _ := strings.Cut(request.Path, "?"); aNamespace.MatchString(about) {
		r.deleted[about] = request.Method == http.MethodDelete || !request.writes() && r.deleted[about]
		if r.deleted[about] && !request.writes() {
			// When it was recorded, it may still have been about to go.
			request.Code = http.StatusNotFound
		}
	}
	if request.writes() {
		for _, c := range r.all {
			texts = append(texts, c.write(t, r.id, request))
		}
	} else {
		texts = r.read(t, request)
	}
	r.written = request.writes() || r.written && !moved.MatchString(request.Path)
	what := fmt.Sprintf("%s: %s %s %s", at, request.Method, request.Path, request.Body)
	for i := range r.all {
		require.Equal(t, texts[0], texts[i], "fake cluster %d, compared with the real one, %s", i, what)
	}
	require.True(t, strings.HasPrefix(texts[0], strconv.Itoa(request.Code)), "when it was recorded, the answer was %d, %s\n%s", request.Code, what, texts[0])
}

// write makes a request that changes something, again for as long as it is refused and was not when it was recorded:
// what controllers do with the writes before takes longer in one cluster than in another.
func (c *replayed) write(t *testing.T, id string, request recorded) string {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		a := c.answer(t, id, request)
		if a.code < http.StatusBadRequest || a.code == request.Code || time.Now().After(deadline) {
			return c.said(request, a)
		}
	}
}

// moved is what controllers write to after others have.
var moved = regexp.MustCompile(`/(deployments|customresourcedefinitions|validatingadmissionpolicies)\b|^/apis/[^/]+(/v1)?$`)

// read makes a request until all clusters answer it alike, as when it was recorded, and after a write until they have
// become quiet.
func (r *replay) read(t *testing.T, request recorded) []string {
	t.Helper()
	var last string
	atRest := !r.written || !moved.MatchString(request.Path)
	since := time.Now()
	for deadline := since.Add(patience); ; time.Sleep(50 * time.Millisecond) {
		var texts, bodies []string
		former := make([]normalizer, len(r.all))
		agreed := true
		for i, c := range r.all {
			former[i] = c.clone()
			a := c.answer(t, r.id, request)
			texts, bodies = append(texts, c.said(request, a)), append(bodies, string(a.body))
			agreed = agreed && a.code == request.Code && texts[i] == texts[0]
		}
		if now := strings.Join(bodies, ""); now != last {
			last, since = now, time.Now()
		}
		if agreed && (atRest || time.Since(since) > still) || time.Now().After(deadline) {
			return texts
		}
		for i, c := range r.all {
			c.normalizer = former[i]
		}
	}
}

// byItself are what the controllers of a real cluster put into a new namespace, by their kind.
var byItself = map[string]string{"configmaps": "kube-root-ca.crt", "serviceaccounts": "default"}

// said is an answer as text that can be compared, without what is in no fake cluster.
func (c *replayed) said(request recorded, a answer) string {
	about, _, _ := strings.Cut(request.Path, "?")
	if discovery.MatchString(about) {
		return fmt.Sprintf("%d %s", a.code, a.header.Get("Content-Type"))
	}
	var list map[string]any
	name := byItself[path.Base(about)]
	if name == "" || json.Unmarshal(a.body, &list) != nil {
		return c.text(a)
	}
	items, _ := list["items"].([]any)
	items = slices.DeleteFunc(items, func(item any) bool {
		object, _ := item.(map[string]any)
		metadata, _ := object["metadata"].(map[string]any)
		return metadata["name"] == name
	})
	if len(items) == 0 {
		items = nil // as an empty list is
	}
	list["items"] = items
	a.body, _ = json.Marshal(list)
	return c.text(a)
}

// answer makes a request once.
func (c *replayed) answer(t *testing.T, id string, request recorded) answer {
	t.Helper()
	header := http.Header{"Accept": {request.Accept}, "User-Agent": {"lifecycle-manager"}}
	if request.ContentType != "" {
		header.Set("Content-Type", request.ContentType)
	}
	address, body := strings.ReplaceAll(request.Path, "${id}", id), strings.ReplaceAll(string(request.Body), "${id}", id)
	if strings.Contains(body, "${uid}") || strings.Contains(body, "${rv}") {
		about, _, _ := strings.Cut(address, "?")
		var now struct {
			Metadata struct{ UID, ResourceVersion string }
		}
		found := c.send(t, http.MethodGet, strings.TrimSuffix(about, "/status"), http.Header{"Accept": {metadataOnly}}, "")
		require.NoError(t, json.Unmarshal(found.body, &now))
		body = strings.NewReplacer("${uid}", now.Metadata.UID, "${rv}", now.Metadata.ResourceVersion).Replace(body)
	}
	return c.send(t, request.Method, address, header, body)
}

// clear removes our definitions and what remains of a replay from the clusters.
func (r *replay) clear(t *testing.T) {
	t.Helper()
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	for _, c := range r.all {
		for _, kind := range []string{"kymas", "manifests", "moduletemplates", "modulereleasemetas", "watchers"} {
			c.erase(t, definitions+"/"+kind+".operator.kyma-project.io")
		}
		c.erase(t, definitions+"/widgets."+r.id+".example.com")
		c.erase(t, "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/"+r.id+"-sizes")
		for _, namespace := range []string{"-module", "-remote"} {
			c.send(t, http.MethodDelete, "/api/v1/namespaces/"+r.id+namespace, http.Header{}, "")
		}
	}
}

// erase deletes an object and waits until it is gone.
func (c *replayed) erase(t *testing.T, object string) {
	t.Helper()
	c.send(t, http.MethodDelete, object, http.Header{}, "")
	require.Eventually(t, func() bool {
		return c.send(t, http.MethodGet, object, http.Header{"Accept": {metadataOnly}}, "").code == http.StatusNotFound
	}, 3*time.Minute, 100*time.Millisecond, object)
}
