package memfleet

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/apis"
	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// serveFaulty answers a request as the rules of its cluster want it.
func (f *Fleet) serveFaulty(w http.ResponseWriter, req *http.Request, number int, rules []*Rule, answer http.Handler) {
	info, _ := request.RequestInfoFrom(req.Context())
	c := f.at(number)
	ctx := req.Context()
	ends := endless
	for _, rule := range rules {
		if !rule.matches(info) {
			continue
		}
		random := draw(f.Faults().Seed, rule.Name, uint64(number), c.choices.Add(1)) //nolint:gosec // not negative
		if rule.Requests != nil && random.Float64() >= *rule.Requests {
			continue
		}
		if !rule.wait(ctx, random) {
			return
		}
		if rule.Status != 0 {
			rule.refuse(w, req, info)
			return
		}
		if rule.BytesPerSecond > 0 {
			w = &slow{w, rule.BytesPerSecond, ctx}
		}
		if rule.StaleWrites > 0 && (info.Verb == "get" || info.Verb == "list") {
			ctx = store.Stale(ctx)
		}
		if after := rule.EndWatchesAfter.Duration; after > 0 && info.Verb == "watch" {
			ends = min(ends, after)
		}
	}
	if ends < endless {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, ends)
		defer cancel()
	}
	answer.ServeHTTP(w, req.WithContext(ctx))
}

// endless is longer than any request lasts.
const endless = 1000 * time.Hour

func (r *Rule) matches(info *request.RequestInfo) bool {
	return (len(r.Verbs) == 0 || slices.Contains(r.Verbs, info.Verb)) && (len(r.Resources) == 0 || slices.Contains(r.Resources, info.Resource))
}

// wait waits as long as the rule says. It returns false when nobody waits for the answer any more.
func (r *Rule) wait(ctx context.Context, random *rand.Rand) bool {
	if r.BlackHole {
		<-ctx.Done()
		return false
	}
	if r.Latency == nil {
		return true
	}
	return sleep(ctx, r.Latency.of(random))
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// refuse answers with the rule's status, as a real server does where it has such an answer.
func (r *Rule) refuse(w http.ResponseWriter, req *http.Request, info *request.RequestInfo) {
	resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	seconds := int(r.RetryAfter.Seconds())
	var err error
	switch r.Status {
	case http.StatusUnauthorized:
		err = apierrors.NewUnauthorized("Unauthorized")
	case http.StatusForbidden:
		err = apierrors.NewForbidden(resource, info.Name, errFault)
	case http.StatusTooManyRequests:
		err = apierrors.NewTooManyRequests("Too many requests, please try again later.", max(seconds, 1))
	case http.StatusInternalServerError:
		err = apierrors.NewInternalError(errFault)
	case http.StatusServiceUnavailable:
		err = apierrors.NewServiceUnavailable(errFault.Error())
	default:
		err = &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: int32(r.Status), Reason: metav1.StatusReasonUnknown, Message: errFault.Error(), //nolint:gosec // checked
		}}
	}
	if seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	apis.Refuse(w, req, err)
}

type faultError string

func (e faultError) Error() string { return string(e) }

// errFault is what answers say that are a fault of ours.
const errFault = faultError("this fault was asked for")

// slow sends a body slowly.
type slow struct {
	http.ResponseWriter
	perSecond int
	ctx       context.Context //nolint:containedctx // a ResponseWriter is for one request
}

// Write implements http.ResponseWriter.
func (s *slow) Write(p []byte) (int, error) {
	const steps = 10
	piece := max(s.perSecond/steps, 1)
	written := 0
	for len(p) > 0 {
		n, err := s.ResponseWriter.Write(p[:min(piece, len(p))])
		written += n
		if err != nil {
			return written, err
		}
		s.Flush()
		p = p[n:]
		if !sleep(s.ctx, time.Second/steps) {
			return written, s.ctx.Err()
		}
	}
	return written, nil
}

// Flush implements http.Flusher.
func (s *slow) Flush() { _ = http.NewResponseController(s.ResponseWriter).Flush() }
