package apply

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

const (
	// maxDetail bounds the API server's text about one field, maxRefusal its text about one object.
	maxDetail  = 160
	maxRefusal = 320
)

var (
	// missingRight finds the missing right in the API server's answer. The user's name before it can be so long that the
	// rest would be cut off.
	missingRight = regexp.MustCompile(`is forbidden: User "[^"]*" (cannot \w+ resource "[^"]*" in API group "[^"]*".*)$`)
	// grantedRight finds the rights that a user must hold to grant them. It leaves out the user's name, too.
	grantedRight = regexp.MustCompile(`(?s)is forbidden: user "[^"]*" (?:\(groups=.*?\) )?(is attempting to grant RBAC permissions not currently held:.*)$`)
	// deniedByWebhook matches the answer of an admission webhook that denies an object, whatever status it uses.
	deniedByWebhook = regexp.MustCompile(`^admission webhook "[^"]*" denied the request`)
	// immutable matches API servers' texts for a change that they never allow. There is no separate status for it.
	immutable = regexp.MustCompile(`(?i)\bimmutable\b|\b(?:may not|cannot|can't|must not) be (?:changed|updated)\b|\b(?:may not|cannot|can't) change\b|\bupdates to .* (?:are|is) forbidden\b`)
	// rawValue matches the beginning of a value in Go syntax. API servers quote values like this if they cannot encode
	// them otherwise.
	rawValue = regexp.MustCompile(`^(?:[&*({\[]|map\[|[\w.*\[\]]+[{(])`)
	// sensitive matches names of fields that may hold secrets.
	sensitive = regexp.MustCompile(`(?i)passw|passphrase|token|secret|credential|private|apikey|accesskey`)
)

// Refusal returns why the API server refused an object, in the API server's words. It contains paths of fields and
// reasons, but never values, because values can be secret. If a field may hold secrets, Refusal leaves out its reason
// too: see mayHoldSecrets.
func Refusal(err error) string {
	if of, why, ok := clusters.ConversionFailure(err); ok {
		return objects.Shorten("the conversion webhook of " + of + " failed: " + why)
	}
	if isMismatch(err) {
		return objects.Shorten(describeMismatch(err))
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return objects.Shorten(err.Error())
	}
	if apierrors.IsForbidden(err) {
		for _, known := range []*regexp.Regexp{missingRight, grantedRight} {
			if found := known.FindStringSubmatch(err.Error()); found != nil {
				return fault.Shorten("forbidden: "+found[1], maxRefusal)
			}
		}
	}
	causes := causesOf(err)
	if len(causes) == 0 {
		return fault.Shorten(err.Error(), maxRefusal)
	}
	var fields []string
	for _, cause := range causes {
		if cause.Field == "" {
			// An admission policy gives its reason as free text and names no field.
			fields = append(fields, cause.Message)
			continue
		}
		fields = append(fields, describeCause(cause, status.Status().Details.Kind))
	}
	slices.Sort(fields)
	return fault.Shorten("invalid: "+strings.Join(slices.Compact(fields), ", "), maxRefusal)
}

// causesOf returns why an object is invalid, field by field; nil for any other error.
func causesOf(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// describeCause returns the name of a field and what is wrong with it.
func describeCause(cause metav1.StatusCause, kind string) string {
	known, detail, at := causeText(cause.Type), detailOf(cause), cause.Field
	if at == "<nil>" {
		at = "the object" // a validation rule for a whole custom resource has no field
	}
	if detail == "" || mayHoldSecrets(cause.Field, kind) {
		switch {
		case known == "" && isImmutable(cause):
			known = "cannot be changed"
		case known == "":
			known = "is invalid or cannot be changed"
		}
		return at + " " + known
	}
	detail = fault.Shorten(detail, maxDetail)
	if known == "" || isImmutable(cause) {
		return at + ": " + detail
	}
	return at + " " + known + ": " + detail
}

// causeText returns our description of a type of cause; empty if it would only say that the field is invalid.
func causeText(cause metav1.CauseType) string {
	switch cause {
	case metav1.CauseTypeFieldValueRequired:
		return "is required"
	case metav1.CauseTypeFieldValueNotFound:
		return "refers to something that does not exist"
	case metav1.CauseTypeFieldValueDuplicate:
		return "is given twice"
	case metav1.CauseTypeFieldValueNotSupported:
		return "is not supported"
	case metav1.CauseTypeForbidden:
		return "must not be set or changed"
	default:
		return ""
	}
}

// isImmutable reports whether a field was refused because it must never change.
func isImmutable(cause metav1.StatusCause) bool { return immutable.MatchString(detailOf(cause)) }

// changesImmutable reports whether an object is refused only because it would change immutable fields. Deleting the
// object and creating it again would help.
func changesImmutable(err error) bool {
	causes := causesOf(err)
	return len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool { return cause.Field == "" || !isImmutable(cause) })
}

// detailOf returns the reason in a cause: its first line, without the kind of the error and without the quoted value
// (k8s.io/apimachinery/pkg/util/validation/field, Error.ErrorBody). The other lines can be a comparison of both
// objects.
func detailOf(cause metav1.StatusCause) string {
	kind, rest, found := strings.Cut(cause.Message, ": ")
	switch kind {
	case "Required value", "Forbidden", "Too long", "Too short", "Internal error":
		// These errors quote no value.
	case "Invalid value", "Unsupported value", "Duplicate value", "Not found", "Too many", "Too few":
		rest = withoutQuotedValue(rest)
	default:
		return ""
	}
	if !found {
		return ""
	}
	first, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(first)
}

// withoutQuotedValue removes the value at the beginning of a reason. If the text begins like a value but cannot be
// parsed, withoutQuotedValue returns the empty string.
func withoutQuotedValue(text string) string {
	after := func(length int) (string, bool) {
		if length == len(text) {
			return "", true
		}
		return strings.CutPrefix(text[length:], ": ")
	}
	if strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "`") {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return ""
		}
		detail, ok := after(len(quoted))
		if !ok {
			return text // the reason itself begins with a quotation, and there is no quoted value
		}
		return detail
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	var value json.RawMessage
	if err := decoder.Decode(&value); err == nil {
		if detail, ok := after(int(decoder.InputOffset())); ok {
			return detail
		}
	}
	if rawValue.MatchString(text) {
		return ""
	}
	return text
}

// mayHoldSecrets reports whether the API server's text about a field could repeat a secret. That is possible for
// everything in a Secret. In other objects it is possible for data, annotations, environment variables, commands,
// arguments, HTTP headers, and fields with a name that suggests a secret.
func mayHoldSecrets(field, kind string) bool {
	if kind == "Secret" {
		return true
	}
	list := ""
	for _, s := range stepsTo(field) {
		if s.name == "" {
			continue
		}
		switch strings.ToLower(s.name) {
		case "data", "binarydata", "stringdata", "annotations", "env", "command", "args", "httpheaders", "headers":
			return true
		case "imagepullsecrets", "secretref", "secretkeyref", "secretname", "automountserviceaccounttoken", "serviceaccounttoken":
			// These fields refer to a secret and hold none.
		case "secret":
			if list != "volumes" && list != "sources" {
				return true
			}
		default:
			if sensitive.MatchString(s.name) {
				return true
			}
		}
		list = s.name
	}
	return false
}
