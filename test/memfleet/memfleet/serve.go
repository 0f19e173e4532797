package memfleet

import (
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/filters"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/apis"
	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// serveCluster answers a request to one cluster, whose path there is given.
func (f *Fleet) serveCluster(w http.ResponseWriter, req *http.Request, number int, path string) {
	c := f.at(number)
	f.conns.use(req.Context(), number)
	inside := *req.URL
	inside.Path, inside.RawPath = path, ""
	if raw := req.URL.RawPath; raw != "" {
		if _, rest, ok := strings.Cut(strings.TrimPrefix(raw, prefix), "/"); ok {
			inside.RawPath = "/" + rest
		}
	}
	within := req.WithContext(store.In(req.Context(), c.store))
	within.URL = &inside
	within.RequestURI = (&url.URL{Path: inside.Path, RawPath: inside.RawPath, RawQuery: inside.RawQuery}).RequestURI()
	info, err := f.server.Info(within)
	if err != nil {
		apis.Refuse(w, within, apierrors.NewBadRequest(err.Error()))
		return
	}
	c.counts.add(f.names.number(info))
	if !f.tokens.allows(req, Name(number)) {
		apis.Refuse(w, within, apierrors.NewUnauthorized("Unauthorized"))
		return
	}
	within = within.WithContext(apis.WithInfo(within.Context(), info)) //nolint:contextcheck // it is the context of this request
	answer := filters.WithWarningRecorder(f.server)
	if rules := f.rulesFor(number); rules != nil {
		f.serveFaulty(w, within, number, rules, answer)
		return
	}
	answer.ServeHTTP(w, within)
}
