package apply

import (
	"errors"
	"net/http"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
)

// isMismatch reports whether an applied object does not match its schema, as with a field of a wrong type. The API server
// has no error of its own for that: it answers 500 without a reason (k8s.io/apiserver,
// responsewriters.ErrorToAPIStatus), where an admission webhook that does not answer is an internal error. It answers
// the same for a conversion webhook, its storage, its encryption and what runs out of time: those say nothing about the
// object.
func isMismatch(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	if s.Code != http.StatusInternalServerError || s.Reason != metav1.StatusReasonUnknown || serverFailed.MatchString(s.Message) {
		return false
	}
	_, _, conversion := clusters.ConversionFailure(err)
	return !conversion
}

var (
	// serverFailed finds what etcd, gRPC (a key management service) and Go's own network and contexts say, at the beginning
	// of a message or after what was being done. The text of an object stands in quotation marks or after "got".
	serverFailed = regexp.MustCompile(`^(?:[\w ()/.-]+: )*(?:etcdserver: |rpc error: |dial tcp|context deadline exceeded$|context canceled$|net/http: |http2: |unexpected EOF$)`)
	// firstField finds the first field that the API server rejects, and the type that it expects there. All text before it
	// is the server's own and the object's name.
	firstField = regexp.MustCompile(`^[^)\n]*\): (?:errors:\n  )?((?:\.[\w./-]+|\[[^\]\n]*\])+): (?:(expected [a-z]+(?: [a-z]+| \([a-z ]+\))*), got )?`)
	// duplicateKey finds the message of the API server for two elements of a list that have the same key.
	duplicateKey = regexp.MustCompile(`^duplicate entries for key (\[[^\]\n]*\])`)
	// element finds the key of an element of a list. That is a field's value, or the element itself.
	element = regexp.MustCompile(`\[[^\]]*\]`)
	// public is such a key that is never secret.
	public = regexp.MustCompile(`^\[name="[\w./-]+"\]$`)
)

// describeMismatch says which field does not match, as far as the API server's message can be parsed. It quotes the
// value, which may be secret: what cannot be parsed is not repeated.
func describeMismatch(err error) string {
	message := err.Error()
	found := firstField.FindStringSubmatch(message)
	if found == nil {
		return "it does not match the schema of its kind: a field may be of a wrong type"
	}
	path := element.ReplaceAllStringFunc(strings.TrimPrefix(found[1], "."), withoutValue)
	if key := duplicateKey.FindStringSubmatch(message[len(found[0]):]); key != nil {
		return "invalid: " + path + ": duplicate entries for key " + withoutValue(key[1])
	}
	if found[2] == "" {
		return "invalid: " + path + " does not match the schema of its kind"
	}
	return "invalid: " + path + ": " + found[2]
}

// withoutValue is the key of an element of a list without values that may be secret.
func withoutValue(key string) string {
	if public.MatchString(key) {
		return key
	}
	return "[…]"
}
