// Package conformance_test compares a fake cluster with a real API server: the same requests have the same answers.
package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/memfleet"
)

// TestAnswersAreThoseOfARealServer runs every scenario here and there, and compares the answers.
func TestAnswersAreThoseOfARealServer(t *testing.T) {
	t.Parallel()
	actual, fakes := realCluster(t), fakeClusters(t)
	for i, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			namespace := fmt.Sprintf("conf-%d-%x", i, time.Now().UnixNano()%(1<<40))
			got := make([][]string, repetitions)
			for n := range got {
				got[n] = newCluster(t, fakes[n]).run(t, s, namespace)
			}
			for i, wanted := range actual.run(t, s, namespace) {
				for n := range got {
					assert.Equal(t, wanted, got[n][i], "cluster %d, step %d: %s %s %s", n, i, s.steps[i].verb, s.steps[i].path, s.steps[i].patch)
				}
			}
		})
	}
}

// realCluster is the one that fake ones are compared with. Without one, the test is skipped.
func realCluster(t *testing.T) *cluster {
	t.Helper()
	path := os.Getenv("LM_TEST_REMOTE")
	if path == "" {
		if os.Getenv("LM_TEST_REQUIRE_FLEET") != "" {
			t.Fatal("LM_TEST_REMOTE is not set, but a fleet is required")
		}
		t.Skip("needs the kubeconfig of a real cluster, see test/fleet/README.md, in LM_TEST_REMOTE")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	config.QPS = -1
	return newCluster(t, config)
}

// repetitions is in how many fake clusters a scenario is run, one after the other: from the third one on, requests are
// answered by what the same requests came to before.
const repetitions = 3

func fakeClusters(t *testing.T) []*rest.Config {
	t.Helper()
	fleet, err := memfleet.New(t.Context(), memfleet.Options{Clusters: repetitions, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), ReadyAfter: 100 * time.Millisecond})
	require.NoError(t, err)
	listener, err := fleet.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		go fleet.Run(ctx)
		assert.NoError(t, listener.Serve(ctx))
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	configs := make([]*rest.Config, repetitions)
	for n := range configs {
		raw, err := listener.Kubeconfig(n)
		require.NoError(t, err)
		configs[n], err = clientcmd.RESTConfigFromKubeConfig(raw)
		require.NoError(t, err)
	}
	return configs
}

type cluster struct {
	config *rest.Config
	http   *http.Client
}

func newCluster(t *testing.T, config *rest.Config) *cluster {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	return &cluster{config: config, http: client}
}

// answer is what a request led to.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// run makes the requests of a scenario, and returns the answers as text that can be compared.
func (c *cluster) run(t *testing.T, s scenario, namespace string) []string {
	t.Helper()
	c.do(t, step{verb: "POST", path: "/api/v1/namespaces", body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + namespace + `"}}`})
	defer c.do(t, step{verb: "DELETE", path: "/api/v1/namespaces/" + namespace})
	n := &normalizer{namespace: namespace, tokens: map[string]string{}}
	var answers []answer
	var lines []string
	for _, st := range s.steps {
		st.path, st.body = fill(st.path, namespace, answers), fill(st.body, namespace, answers)
		a := c.await(t, st)
		answers = append(answers, a)
		lines = append(lines, n.text(a))
	}
	return lines
}

// await makes a request until what the step waits for has happened.
func (c *cluster) await(t *testing.T, st step) answer {
	t.Helper()
	const patience, still = 20 * time.Second, 1500 * time.Millisecond
	last, since := c.do(t, st), time.Now()
	for start := time.Now(); time.Since(start) < patience; {
		switch {
		case st.until == "",
			st.until == "gone" && last.code == http.StatusNotFound,
			st.until == "there" && last.code == http.StatusOK,
			st.until == "deleted" && bytes.Contains(last.body, []byte(`"deletionTimestamp"`)),
			st.until == "settled" && time.Since(since) > still:
			return last
		}
		time.Sleep(100 * time.Millisecond)
		next := c.do(t, st)
		if !bytes.Equal(next.body, last.body) {
			since = time.Now()
		}
		last = next
	}
	return last
}

func (c *cluster) do(t *testing.T, st step) answer {
	t.Helper()
	types := map[string]string{
		"": "application/json", "apply": "application/apply-patch+yaml", "merge": "application/merge-patch+json",
		"json": "application/json-patch+json", "strategic": "application/strategic-merge-patch+json",
	}
	header := http.Header{"Accept": {"application/json"}, "User-Agent": {"conformance"}}
	if st.body != "" {
		header.Set("Content-Type", types[st.patch])
	}
	if st.accept != "" {
		header.Set("Accept", st.accept)
	}
	if st.agent != "" {
		header.Set("User-Agent", st.agent)
	}
	return c.send(t, st.verb, st.path, header, st.body)
}

// send makes one request.
func (c *cluster) send(t *testing.T, method, path string, header http.Header, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, c.config.Host+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header = header
	resp, err := c.http.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return answer{resp.StatusCode, resp.Header, content}
}

var place = regexp.MustCompile(`\$\{(uid|rv|continue) (\d+)\}`)

// fill puts in what is known only now.
func fill(text, namespace string, answers []answer) string {
	// The namespace first: a token to continue with is any letters, "NS" among them.
	text = strings.ReplaceAll(text, "NS", namespace)
	return place.ReplaceAllStringFunc(text, func(found string) string {
		match := place.FindStringSubmatch(found)
		at, _ := strconv.Atoi(match[2])
		var object struct {
			Metadata struct{ UID, ResourceVersion, Continue string }
		}
		_ = json.Unmarshal(answers[at].body, &object)
		switch match[1] {
		case "uid":
			return object.Metadata.UID
		case "rv":
			return object.Metadata.ResourceVersion
		}
		return object.Metadata.Continue
	})
}
