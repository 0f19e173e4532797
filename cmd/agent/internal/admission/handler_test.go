package admission_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/admission"
)

// recorder keeps what is reported, and counts what is observed.
type recorder struct {
	mu            sync.Mutex
	reported      []string
	misunderstood int
}

func (r *recorder) Report(manager string, event shared.RemoteEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reported = append(r.reported, fmt.Sprintf("%s %s/%s %s/%s", manager, event.WatchedGVK.Group, event.WatchedGVK.Kind, event.Watched.Namespace, event.Watched.Name))
}
func (r *recorder) Asked()                 {}
func (r *recorder) Answered(time.Duration) {}
func (r *recorder) Misunderstood() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.misunderstood++
}

func newHandler(timeout time.Duration) (http.Handler, *recorder) {
	r := &recorder{}
	return admission.NewHandler(r, r, timeout, slog.New(slog.NewJSONHandler(io.Discard, nil))), r
}

// ask asks as an API server does, with Kubernetes' own types.
func ask(t *testing.T, h http.Handler, path string, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionReview {
	t.Helper()
	body, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: request})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body)))
	require.Equal(t, http.StatusOK, w.Code)
	answer := &admissionv1.AdmissionReview{}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), answer))
	return answer
}

func kyma(fields string) runtime.RawExtension {
	if fields == "" {
		return runtime.RawExtension{}
	}
	return runtime.RawExtension{Raw: []byte(`{"apiVersion":"operator.kyma-project.io/v1beta2","kind":"Kyma","metadata":{"name":"default","namespace":"kyma-system"` + fields + `}`)}
}

func request(operation admissionv1.Operation, subresource, before, after string) *admissionv1.AdmissionRequest {
	return &admissionv1.AdmissionRequest{
		UID: "some-uid", Kind: metav1.GroupVersionKind{Group: "operator.kyma-project.io", Version: "v1beta2", Kind: "Kyma"},
		RequestKind: &metav1.GroupVersionKind{Group: "operator.kyma-project.io", Version: "v1beta1", Kind: "Kyma"},
		SubResource: subresource, Name: "default", Namespace: "kyma-system", Operation: operation, OldObject: kyma(before), Object: kyma(after),
	}
}

func TestWhatChangedInTheWatchedFieldIsReportedAndAllIsAllowed(t *testing.T) {
	const a, b = `},"spec":{"channel":"regular"},"status":{"state":"Ready"}`, `},"spec":{"channel":"fast"},"status":{"state":"Error"}`
	for name, c := range map[string]struct {
		request  *admissionv1.AdmissionRequest
		reported bool
	}{
		"an object is created":                           {request("CREATE", "", "", a), true},
		"an object is deleted":                           {request("DELETE", "", a, ""), true},
		"the spec is changed":                            {request("UPDATE", "", a, `},"spec":{"channel":"fast"},"status":{"state":"Ready"}`), true},
		"the spec is added":                              {request("UPDATE", "", `}`, a), true},
		"the spec is removed":                            {request("UPDATE", "", a, `}`), true},
		"the status is changed with the object":          {request("UPDATE", "", a, `},"spec":{"channel":"regular"},"status":{"state":"Error"}`), false},
		"a label is changed":                             {request("UPDATE", "", a, `,"labels":{"a":"b"}`+a), false},
		"nothing is changed":                             {request("UPDATE", "", a, a), false},
		"the status is changed":                          {request("UPDATE", "status", a, `},"spec":{"channel":"regular"},"status":{"state":"Error"}`), true},
		"the status is set first":                        {request("UPDATE", "status", `},"spec":{}`, `},"spec":{},"status":{}`), true},
		"the spec is changed with the status":            {request("UPDATE", "status", a, `},"spec":{"channel":"fast"},"status":{"state":"Ready"}`), false},
		"the data of an object without a spec":           {request("UPDATE", "", `},"data":{"a":"1"}`, `},"data":{"a":"2"}`), true},
		"a field is added to an object without a spec":   {request("UPDATE", "", `},"data":{}`, `},"data":{},"binaryData":{}`), true},
		"the label of an object without a spec":          {request("UPDATE", "", `},"data":{}`, `,"labels":{"a":"b"}},"data":{}`), false},
		"the status of an object without a spec":         {request("UPDATE", "", `},"data":{}`, `},"data":{},"status":{}`), false},
		"somebody connects":                              {request("CONNECT", "", a, b), false},
		"nothing is really changed, as in a dry run":     {dry(request("UPDATE", "", a, b)), false},
		"nothing is really deleted, as in a dry run":     {dry(request("DELETE", "", a, "")), false},
		"the operation is one that does not yet exist":   {request("PATCH", "", a, b), false},
		"an update without the objects says no change":   {request("UPDATE", "", "", ""), false},
		"a deletion without the object says which it is": {request("DELETE", "", "", ""), true},
	} {
		t.Run(name, func(t *testing.T) {
			h, r := newHandler(time.Minute)
			answer := ask(t, h, "/validate/lifecycle-manager", c.request)
			require.Equal(t, metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, answer.TypeMeta)
			require.Equal(t, &admissionv1.AdmissionResponse{UID: "some-uid", Allowed: true}, answer.Response)
			if c.reported {
				require.Equal(t, []string{"lifecycle-manager operator.kyma-project.io/Kyma kyma-system/default"}, r.reported)
			} else {
				require.Empty(t, r.reported)
			}
		})
	}
}

func dry(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionRequest {
	r.DryRun = ptr.To(true)
	return r
}

func TestAnObjectIsNamedByItselfWhereTheRequestDoesNot(t *testing.T) {
	for operation, objects := range map[admissionv1.Operation][2]string{"CREATE": {"", "}"}, "DELETE": {"}", ""}} {
		h, r := newHandler(time.Minute)
		asked := request(operation, "", objects[0], objects[1])
		asked.Name = ""
		ask(t, h, "/validate/m", asked)
		require.Equal(t, []string{"m operator.kyma-project.io/Kyma kyma-system/default"}, r.reported)
	}
}

func TestWhatCannotBeReportedIsAllowedAndCounted(t *testing.T) {
	for path, change := range map[string]func(*admissionv1.AdmissionRequest){
		"/validate/..%2Fother":                  func(*admissionv1.AdmissionRequest) {},
		"/validate/" + strings.Repeat("m", 64):  func(*admissionv1.AdmissionRequest) {},
		"/validate/a%20b":                       func(*admissionv1.AdmissionRequest) {},
		"/validate/no-name":                     func(r *admissionv1.AdmissionRequest) { r.Name, r.Object = "", runtime.RawExtension{Raw: []byte("{}")} },
		"/validate/no-kind":                     func(r *admissionv1.AdmissionRequest) { r.Kind = metav1.GroupVersionKind{} },
		"/validate/no-name-and-no-object-there": func(r *admissionv1.AdmissionRequest) { r.Name, r.Object = "", runtime.RawExtension{} },
	} {
		h, r := newHandler(time.Minute)
		asked := request("CREATE", "", "", "}")
		change(asked)
		require.True(t, ask(t, h, path, asked).Response.Allowed, path)
		require.Empty(t, r.reported, path)
		require.Equal(t, 1, r.misunderstood, path)
	}
}

func TestWhatIsNoReviewIsRefused(t *testing.T) {
	large := strings.Repeat(" ", admission.MaxReviewBytes+1)
	for name, c := range map[string]struct {
		method, path, body string
		status             int
	}{
		"another method":        {http.MethodGet, "/validate/m", "", http.StatusMethodNotAllowed},
		"another path":          {http.MethodPost, "/mutate/m", "{}", http.StatusNotFound},
		"no manager":            {http.MethodPost, "/validate/", "{}", http.StatusNotFound},
		"nothing":               {http.MethodPost, "/validate/m", "", http.StatusBadRequest},
		"no JSON":               {http.MethodPost, "/validate/m", "{", http.StatusBadRequest},
		"no request":            {http.MethodPost, "/validate/m", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, http.StatusBadRequest},
		"no uid":                {http.MethodPost, "/validate/m", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}`, http.StatusBadRequest},
		"another version":       {http.MethodPost, "/validate/m", `{"apiVersion":"admission.k8s.io/v2","kind":"AdmissionReview","request":{"uid":"a"}}`, http.StatusBadRequest},
		"an object that is one": {http.MethodPost, "/validate/m", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"a","object":1}}`, http.StatusBadRequest},
		"more than is read":     {http.MethodPost, "/validate/m", large, http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			h, r := newHandler(time.Minute)
			for _, known := range []bool{true, false} {
				asked := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.body))
				if !known {
					asked.ContentLength = -1
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, asked)
				require.Equal(t, c.status, w.Code)
			}
			require.Empty(t, r.reported)
		})
	}
}

// What a slow client has not sent holds no memory for longer than the time-out, and others are answered meanwhile.
func TestASlowBodyTimesOut(t *testing.T) {
	h, r := newHandler(200 * time.Millisecond)
	server := httptest.NewServer(h)
	defer server.Close()
	body, write := io.Pipe()
	defer func() { _ = write.Close() }()
	asked, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/validate/m", body)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(asked)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusRequestTimeout, answer.StatusCode)
	require.Equal(t, 1, r.misunderstood)
}

func TestAReviewOfTheLargestObjectsIsRead(t *testing.T) {
	h, r := newHandler(time.Minute)
	data := func(letter string) string { return `},"data":{"a":"` + strings.Repeat(letter, 3<<19-200) + `"}` }
	ask(t, h, "/validate/m", request("UPDATE", "", data("a"), data("b")))
	require.Len(t, r.reported, 1)
}

// Objects are not kept: a review takes little more memory than its body, as many of them may come at once.
func TestAReviewTakesLittleMoreMemoryThanItsBody(t *testing.T) {
	h, _ := newHandler(time.Minute)
	data := func(letter string) string {
		return `},"data":{` + strings.Repeat(`"`+letter+`":{"b":["c","d"]},`, 20000) + `"z":1}`
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: request("UPDATE", "", data("a"), data("b")),
	})
	require.NoError(t, err)
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/validate/m", bytes.NewReader(body)))
		}
	})
	require.Less(t, result.AllocedBytesPerOp(), int64(len(body))+32<<10)
	require.Less(t, result.AllocsPerOp(), int64(200))
}

func BenchmarkReview(b *testing.B) {
	h, _ := newHandler(time.Minute)
	data := func(letter string) string { return `},"spec":{"a":"` + strings.Repeat(letter, 2000) + `"}` }
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: request("UPDATE", "", data("a"), data("b")),
	})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/validate/m", bytes.NewReader(body)))
	}
}

// Whatever the body is, there is an answer, and what is reported has a name.
func FuzzReview(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{}", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}`,
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"a","operation":"UPDATE","kind":{"kind":"K"},"name":"n","object":{"spec":1},"oldObject":null}}`,
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"a","operation":"DELETE","kind":{"kind":"K"},"oldObject":{"metadata":{"name":"n"},"":{}}}}`,
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"a","operation":"UPDATE","subResource":"status","object":[],"oldObject":"x"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		h, r := newHandler(time.Minute)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/validate/m", bytes.NewReader(body)))
		switch w.Code {
		case http.StatusOK:
			var answer admissionv1.AdmissionReview
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
			require.True(t, answer.Response.Allowed)
			require.NotEmpty(t, answer.Response.UID)
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
			require.Empty(t, r.reported)
		default:
			t.Fatalf("answered %d", w.Code)
		}
		for _, each := range r.reported {
			require.NotRegexp(t, `/$`, each)
		}
	})
}
