package apis

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// ServeHTTP answers a request whose context has a cluster (store.In) and request information (WithInfo). Paths are those
// of a cluster.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	info, _ := request.RequestInfoFrom(req.Context())
	cluster := store.From(req.Context())
	if info == nil || cluster == nil {
		notFound(w, req)
		return
	}
	switch {
	case req.URL.Path == "/version" || req.URL.Path == "/version/":
		responsewriters.WriteRawJSON(http.StatusOK, version.Info{
			Major: "1", Minor: "36", GitVersion: Version, GitTreeState: "clean", Platform: "linux/amd64", Compiler: "gc",
		}, w)
	case req.URL.Path == "/healthz" || req.URL.Path == "/livez" || req.URL.Path == "/readyz":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok"))
	case info.IsResourceRequest && s.groups.has(info.APIGroup):
		s.serveWrite(w, req, cluster, info, "", s.builtIn)
	case info.IsResourceRequest:
		s.serveCustom(w, req, cluster, info)
	default:
		s.serveDiscovery(w, req, cluster)
	}
}

func (s *Server) serveCustom(w http.ResponseWriter, req *http.Request, cluster *store.Cluster, info *request.RequestInfo) {
	one, ok := s.definitionsOf(cluster).byName[schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}.String()]
	if !ok {
		notFound(w, req)
		return
	}
	handler, err := one.serve()
	if err != nil {
		responsewriters.InternalError(w, req, err)
		return
	}
	s.serveWrite(w, req, cluster, info, strconv.Itoa(one.number), handler)
}

// Info says what a request is about.
func (s *Server) Info(req *http.Request) (*request.RequestInfo, error) {
	return s.resolver.NewRequestInfo(req)
}

// WithInfo returns the context of a request that is about this, and made by an administrator of the cluster.
func WithInfo(ctx context.Context, info *request.RequestInfo) context.Context {
	account := &user.DefaultInfo{
		Name: "system:serviceaccount:kube-system:lifecycle-manager", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
	}
	// The handlers expect one, also where nothing is audited.
	ctx = audit.WithAuditContext(request.WithUser(request.WithRequestInfo(ctx, info), account))
	return request.WithReceivedTimestamp(ctx, time.Now())
}

// notFound is the answer of a real server for what it does not serve.
func notFound(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "404 page not found", http.StatusNotFound)
}

// Refuse answers with an error, in the form that the client asks for.
func Refuse(w http.ResponseWriter, req *http.Request, err error) {
	responsewriters.ErrorNegotiated(err, legacyscheme.Codecs, schema.GroupVersion{Version: "v1"}, w, req)
}
