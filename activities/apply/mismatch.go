package apply

import (
	"errors"
	"net/http"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// isMismatch tells whether the API server could not make sense of an object that is applied, such as one with a field of
// a wrong type. For that it has no error of its own: it answers 500 and gives no reason (k8s.io/apiserver,
// responsewriters.ErrorToAPIStatus), where an admission webhook that does not answer is an internal error. So it does
// for a conversion webhook, and now and then for its storage.
func isMismatch(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	return s.Code == http.StatusInternalServerError && s.Reason == metav1.StatusReasonUnknown
}

var (
	// firstField finds the first field that the API server complains of, and the type that it wants there. All before
	// it is the server's own words and the object's name.
	firstField = regexp.MustCompile(`^[^)\n]*\): (?:errors:\n  )?((?:\.[\w./-]+|\[[^\]\n]*\])+): (?:(expected [a-z]+(?: [a-z]+| \([a-z ]+\))*), got )?`)
	// twice finds what the API server says of two elements of a list that have the same key.
	twice = regexp.MustCompile(`^duplicate entries for key (\[[^\]\n]*\])`)
	// element finds what tells the elements of a list apart. That is a field's value, or the element itself.
	element = regexp.MustCompile(`\[[^\]]*\]`)
	// sayable is such a value that may be said.
	sayable = regexp.MustCompile(`^\[name="[\w./-]+"\]$`)
)

// describeMismatch says which field does not fit, as far as the API server's words are understood. They quote the value, which
// may be secret: what is not understood is not said.
func describeMismatch(err error) string {
	said := err.Error()
	found := firstField.FindStringSubmatch(said)
	if found == nil {
		return "the API server cannot make sense of it: a field may be of a wrong type"
	}
	path := element.ReplaceAllStringFunc(strings.TrimPrefix(found[1], "."), withoutValue)
	if key := twice.FindStringSubmatch(said[len(found[0]):]); key != nil {
		return "invalid: " + path + ": duplicate entries for key " + withoutValue(key[1])
	}
	if found[2] == "" {
		return "invalid: " + path + " does not fit its kind"
	}
	return "invalid: " + path + ": " + found[2]
}

// withoutValue is what tells an element of a list apart as it may be said.
func withoutValue(key string) string {
	if sayable.MatchString(key) {
		return key
	}
	return "[…]"
}
