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

// isMismatch reports whether an applied object does not match its schema, for example because a field has the wrong
// type. The API server has no error type for a mismatch: it answers 500 without a reason (k8s.io/apiserver,
// responsewriters.ErrorToAPIStatus). An admission webhook that does not answer is an internal error instead. The API
// server also answers 500 without a reason if its conversion webhook, storage, encryption or a timeout fails. Those
// say nothing about the object, so isMismatch excludes them.
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
	// serverFailed matches the errors of etcd, gRPC (a key management service), and Go's network and context packages,
	// at the beginning of a message or after the action that failed. Text from the object itself is quoted or follows
	// "got".
	serverFailed = regexp.MustCompile(`^(?:[\w ()/.-]+: )*(?:etcdserver: |rpc error: |dial tcp|context deadline exceeded$|context canceled$|net/http: |http2: |unexpected EOF$)`)
	// firstField finds the first field that the API server rejects, and the type that it expects there. The text before
	// the field is the server's own text and the object's name.
	firstField = regexp.MustCompile(`^[^)\n]*\): (?:errors:\n  )?((?:\.[\w./-]+|\[[^\]\n]*\])+): (?:(expected [a-z]+(?: [a-z]+| \([a-z ]+\))*), got )?`)
	// duplicateKey matches the API server's message for two list elements with the same key.
	duplicateKey = regexp.MustCompile(`^duplicate entries for key (\[[^\]\n]*\])`)
	// element finds the key of a list element: a field's value, or the element itself.
	element = regexp.MustCompile(`\[[^\]]*\]`)
	// public matches keys that are never secret.
	public = regexp.MustCompile(`^\[name="[\w./-]+"\]$`)
)

// describeMismatch returns which field does not match, as far as it can parse the API server's message. The message
// quotes the value, which may be secret, so describeMismatch drops what it cannot parse.
func describeMismatch(err error) string {
	message := err.Error()
	found := firstField.FindStringSubmatch(message)
	if found == nil {
		return "it does not match the schema of its kind: a field may have the wrong type"
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

// withoutValue returns the key of a list element without values that may be secret.
func withoutValue(key string) string {
	if public.MatchString(key) {
		return key
	}
	return "[…]"
}
