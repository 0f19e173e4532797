package controllers

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/apis"
)

// local is the configuration of clients whose requests do not leave this process. Contexts name the cluster.
func local(server *apis.Server, agent string, protobuf bool) *rest.Config {
	config := &rest.Config{Host: "http://memfleet", Transport: transport{server}, UserAgent: agent, QPS: -1}
	if protobuf {
		config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	}
	return config
}

type transport struct{ server *apis.Server }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	info, err := t.server.Info(req)
	if err != nil {
		return nil, fmt.Errorf("what the request is about: %w", err)
	}
	if req.Body == nil {
		req.Body = http.NoBody
	}
	answer := &answer{header: http.Header{}, code: http.StatusOK}
	t.server.ServeHTTP(answer, req.WithContext(apis.WithInfo(req.Context(), info)))
	return &http.Response{
		StatusCode: answer.code, Status: http.StatusText(answer.code), Header: answer.header, Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(&answer.body), ContentLength: int64(answer.body.Len()),
	}, nil
}

// answer is a response in memory.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(code int)        { a.code = code }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
func (a *answer) Flush()                      {}

// Client returns a client of all clusters for a fleet's own use. Contexts name the cluster (store.In).
func Client(server *apis.Server) (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(local(server, "kube-apiserver", false))
}
