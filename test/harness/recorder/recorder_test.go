package recorder_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/harness/recorder"
)

type server func(*http.Request) *http.Response

func (s server) RoundTrip(r *http.Request) (*http.Response, error) { return s(r), nil }

func TestARecordHasNothingInItThatOnlyOneClusterHas(t *testing.T) {
	r := recorder.New("c1234", "127.0.0.1:5000")
	code := http.StatusNotFound
	cluster := server(func(r *http.Request) *http.Response {
		sent, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.NotContains(t, string(sent), "${", "what is sent stays as it is")
		return &http.Response{StatusCode: code, Body: http.NoBody}
	})
	send := func(through http.RoundTripper, method, path, body string) {
		request, err := http.NewRequestWithContext(t.Context(), method, "https://cluster"+path, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer secret")
		request.Header.Set("Accept", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
		response, err := through.RoundTrip(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	product, owner := r.Through(cluster), r.WritesThrough(cluster)
	send(product, http.MethodGet, "/api/v1/namespaces/too-early", "")
	r.Begin("part")
	send(product, http.MethodGet, "/api/v1/namespaces/c1234", "")
	code = http.StatusOK
	send(owner, http.MethodGet, "/api/v1/namespaces/c1234", "")
	send(product, http.MethodGet, "/api/v1/namespaces/c1234", "")
	send(owner, http.MethodPut, "/api/v1/namespaces/c1234", `{"metadata":{"uid":"11","resourceVersion":"22","managedFields":[{}]},"at":"127.0.0.1:5000/<c1234>"}`)
	send(product, http.MethodGet, "/api/v1/namespaces/c1234", "")
	code = http.StatusConflict
	send(product, http.MethodDelete, "/api/v1/namespaces/c1234", `{"preconditions":{"resourceVersion":"22"}}`)
	send(product, http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"c1234"}}`)

	folder := filepath.Join(t.TempDir(), "requests")
	r.Write(t, folder)
	raw, err := os.ReadFile(filepath.Join(folder, "01-part.jsonl"))
	require.NoError(t, err)
	const read = `{"method":"GET","path":"/api/v1/namespaces/${id}","code":200,"accept":"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}` + "\n"
	require.Equal(t, read+ //nolint:testifylint // several lines, each of which is JSON
		`{"method":"PUT","path":"/api/v1/namespaces/${id}","code":200,"accept":"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",`+
		`"body":{"at":"registry.example.com/<${id}>","metadata":{"resourceVersion":"${rv}","uid":"${uid}"}}}`+"\n"+
		read+
		`{"method":"POST","path":"/api/v1/namespaces","code":409,"accept":"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1","body":{"metadata":{"name":"${id}"}}}`+"\n",
		string(raw), "a read once between two writes, with the last answer; no update that came too late; no credentials")
}
