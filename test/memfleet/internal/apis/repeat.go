package apis

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/lru"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// repeats remembers what requests came to, so that the same request to thousands of clusters is worked out once or
// twice: a server-side apply of a Deployment costs a millisecond, to repeat its result some hundredths of one.
type repeats struct{ known *lru.Cache }

// rememberedRequests bounds what is remembered.
const rememberedRequests = 32768

func newRepeats() repeats { return repeats{lru.New(rememberedRequests)} }

// repeatKey is all that the result of a request depends on.
type repeatKey struct {
	// request is a digest of the request without the cluster's own labels and annotations, and of how those relate to
	// what is there.
	request [sha256.Size]byte
	before  unique.Handle[string]
}

// repeated is what a request came to.
type repeated struct {
	effect *store.Effect
	// twice is set when a second one came to the same. A result that depends on anything else, such as an address that
	// is handed out, is another one then.
	twice bool
	// key is that of the object.
	key string
}

// repeatable is a request that may have been made before.
type repeatable struct {
	key                 repeatKey
	resource            schema.GroupResource
	object              string
	before              *store.Record
	labels, annotations store.Values
}

// serveWrite answers a request for a resource by what the same request came to before, or by working it out.
func (s *Server) serveWrite(w http.ResponseWriter, req *http.Request, cluster *store.Cluster, info *request.RequestInfo, serving string, handler http.Handler) {
	known, ok := s.repeatable(req, cluster, info, serving)
	if !ok {
		handler.ServeHTTP(w, req)
		return
	}
	found, _ := s.repeats.known.Get(known.key)
	one, _ := found.(repeated)
	if one.twice && s.repeat(w, req, cluster, info, known, one, handler) {
		return
	}
	ctx, trace := store.WithTrace(req.Context())
	handler.ServeHTTP(w, req.WithContext(ctx))
	if trace.After == nil || trace.Before != known.before || w.Header().Get("Warning") != "" {
		return
	}
	effect := trace.Effect(known.labels, known.annotations)
	if effect == nil {
		return
	}
	s.repeats.known.Add(known.key, repeated{effect: effect, twice: effect.Same(one.effect), key: trace.After.Key()})
}

// repeat does what is known, and answers with the object as it is then.
func (s *Server) repeat(w http.ResponseWriter, req *http.Request, cluster *store.Cluster, info *request.RequestInfo,
	known *repeatable, one repeated, handler http.Handler,
) bool {
	if info.Namespace != "" && known.resource != Namespaces() {
		if namespace := cluster.Get(Namespaces(), info.Namespace); namespace == nil || namespace.Deleting() {
			return false
		}
	}
	if !cluster.Repeat(one.effect, known.resource, one.key, known.before, known.labels, known.annotations, time.Now()) {
		return false
	}
	read := *info
	read.Verb, read.Name = "get", one.key[strings.LastIndexByte(one.key, '/')+1:]
	again := req.Clone(request.WithRequestInfo(req.Context(), &read))
	again.Method, again.Body, again.ContentLength = http.MethodGet, http.NoBody, 0
	again.URL.RawQuery = ""
	if info.Verb == "create" {
		again.URL.Path += "/" + read.Name
	}
	if known.before == nil {
		w = &created{w}
	}
	handler.ServeHTTP(w, again)
	return true
}

// created answers with 201 where a reader would get 200.
type created struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *created) WriteHeader(code int) {
	if code == http.StatusOK {
		code = http.StatusCreated
	}
	c.ResponseWriter.WriteHeader(code)
}

// repeatable determines what the result of a request depends on. It reads the body, and replaces it by a copy.
func (s *Server) repeatable(req *http.Request, cluster *store.Cluster, info *request.RequestInfo, serving string) (*repeatable, bool) {
	contentType := req.Header.Get("Content-Type")
	isApply := info.Verb == "patch" && contentType == string(types.ApplyYAMLPatchType)
	if !isApply && info.Verb != "create" || info.Subresource != "" || !plainQuery(req) {
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, req.Body, maxBody))
	req.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), req.Body))
	if err != nil {
		return nil, false
	}
	r := &repeatable{resource: schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}}
	digest := sha256.New()
	note := func(parts ...string) {
		for _, part := range parts {
			// A hash.Hash never returns an error from Write.
			_, _ = io.WriteString(digest, strconv.Itoa(len(part))+":"+part)
		}
	}
	note(info.Verb, contentType, req.URL.Path, req.URL.RawQuery, req.Header.Get("User-Agent"), serving)
	if isApply {
		r.object = info.Name
		if info.Namespace != "" && r.resource != Namespaces() {
			r.object = info.Namespace + "/" + info.Name
		}
		if r.before = cluster.Get(r.resource, r.object); r.before != nil {
			if !r.before.Plain() {
				return nil, false
			}
			r.key.before = r.before.Body()
		}
	}
	if !r.own(body, note) {
		return nil, false
	}
	digest.Sum(r.key.request[:0])
	return r, true
}

// plainQuery reports whether a request has no options that make it another one.
func plainQuery(req *http.Request) bool {
	for name := range req.URL.Query() {
		if name != "fieldManager" && name != "force" && name != "fieldValidation" {
			return false
		}
	}
	return true
}

// own sets apart what a body has of the cluster's own, and notes the rest.
func (r *repeatable) own(body []byte, note func(...string)) bool {
	var object, metadata map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || json.Unmarshal(object["metadata"], &metadata) != nil {
		// It is in another encoding, and its labels are noted with the rest.
		note(string(body))
		r.relate("labels", nil, nil, note)
		return true
	}
	for _, field := range []string{"uid", "resourceVersion", "ownerReferences", "generateName"} {
		if _, given := metadata[field]; given {
			return false
		}
	}
	var labels, annotations store.Values
	if raw, ok := metadata["labels"]; ok && json.Unmarshal(raw, &labels) != nil {
		return false
	}
	if raw, ok := metadata["annotations"]; ok && json.Unmarshal(raw, &annotations) != nil {
		return false
	}
	for _, v := range labels {
		if len(validation.IsValidLabelValue(v)) > 0 {
			return false
		}
	}
	delete(metadata, "labels")
	delete(metadata, "annotations")
	delete(object, "metadata")
	for _, fields := range []map[string]json.RawMessage{object, metadata} {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			note(name, string(fields[name]))
		}
		note("end")
	}
	var before struct{ labels, annotations map[string]string }
	if r.before != nil {
		before.labels, before.annotations = r.before.Labels(), r.before.Annotations()
	}
	r.labels = r.relate("labels", labels, before.labels, note)
	r.annotations = r.relate("annotations", annotations, before.annotations, note)
	return true
}

// relate notes which values a request names, and how they relate to those that are there. It returns those that may be
// any.
func (r *repeatable) relate(what string, given, before map[string]string, note func(...string)) store.Values {
	note(what)
	free := store.Values{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		v := given[key]
		old, was := before[key]
		switch {
		case !isFree(key):
			note(key, "is", v)
		default:
			free[key] = v
			note(key, "free")
		}
		note(strconv.FormatBool(was), strconv.FormatBool(old == v))
	}
	note("before")
	for _, key := range slices.Sorted(maps.Keys(before)) {
		note(key)
		if !isFree(key) {
			note(before[key])
		}
	}
	return free
}

// isFree reports whether Kubernetes ignores the values of a label or annotation.
func isFree(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	if domain == "app.kubernetes.io" {
		return true
	}
	return domain != key && !strings.HasSuffix(domain, "k8s.io") && !strings.HasSuffix(domain, "kubernetes.io")
}
