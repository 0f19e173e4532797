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
	// maxDetail bounds the API server's words about one field, maxRefusal those about one object.
	maxDetail  = 160
	maxRefusal = 320
)

var (
	// missingRight finds the right in the API server's answer to a user who does not have it. The name of the user can be
	// so long that the rest would be cut.
	missingRight = regexp.MustCompile(`is forbidden: User "[^"]*" (cannot \w+ resource "[^"]*" in API group "[^"]*".*)$`)
	// grantedRight finds the rights that nobody may grant who does not have them, also without the user.
	grantedRight = regexp.MustCompile(`(?s)is forbidden: user "[^"]*" (?:\(groups=.*?\) )?(is attempting to grant RBAC permissions not currently held:.*)$`)
	// deniedByWebhook finds the answer of an admission webhook that denies an object, whatever status it chooses.
	deniedByWebhook = regexp.MustCompile(`^admission webhook "[^"]*" denied the request`)
	// immutable finds what API servers say of a change that they never allow. They have no status of its own for it.
	immutable = regexp.MustCompile(`(?i)\bimmutable\b|\b(?:may not|cannot|can't|must not) be (?:changed|updated)\b|\b(?:may not|cannot|can't) change\b|\bupdates to .* (?:are|is) forbidden\b`)
	// rawValue finds the beginning of a value in Go's own syntax, which an API server quotes if it can encode it in no other way.
	rawValue = regexp.MustCompile(`^(?:[&*({\[]|map\[|[\w.*\[\]]+[{(])`)
	// sensitive finds names of fields that may hold secrets.
	sensitive = regexp.MustCompile(`(?i)passw|passphrase|token|secret|credential|private|apikey|accesskey`)
)

// Refusal says in the API server's words why it refused an object. The values of fields can be secret and are never
// repeated; their paths and the reasons are. Where a field may hold secrets, its reason is withheld as well: see
// mayHoldSecrets.
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
			// An admission policy gives its reason as free text, and names no field.
			fields = append(fields, cause.Message)
			continue
		}
		fields = append(fields, describeCause(cause, status.Status().Details.Kind))
	}
	slices.Sort(fields)
	return fault.Shorten("invalid: "+strings.Join(slices.Compact(fields), ", "), maxRefusal)
}

// causesOf returns why an object is invalid, field by field; nothing for any other error.
func causesOf(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// describeCause names a field and says what is wrong with it.
func describeCause(cause metav1.StatusCause, kind string) string {
	known, detail, at := causeText(cause.Type), detailOf(cause), cause.Field
	if at == "<nil>" {
		at = "the object" // a rule for the whole of a custom resource has no field
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

// causeText says in our words what kind of cause it is; empty if that says no more than that the field is invalid.
func causeText(cause metav1.CauseType) string {
	switch cause {
	case metav1.CauseTypeFieldValueRequired:
		return "is required"
	case metav1.CauseTypeFieldValueNotFound:
		return "refers to what does not exist"
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

// isImmutable reports whether a field was refused because nobody may change it.
func isImmutable(cause metav1.StatusCause) bool { return immutable.MatchString(detailOf(cause)) }

// changesImmutable reports whether an object is refused only because it would change what cannot be changed: to delete
// the object and to create it again would help.
func changesImmutable(err error) bool {
	causes := causesOf(err)
	return len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool { return cause.Field == "" || !isImmutable(cause) })
}

// detailOf returns the reason in a cause: the first line, without the kind of the error and without the value that it
// quotes (k8s.io/apimachinery/pkg/util/validation/field, Error.ErrorBody). The lines after the first can be a
// comparison of both objects.
func detailOf(cause metav1.StatusCause) string {
	kind, rest, found := strings.Cut(cause.Message, ": ")
	switch kind {
	case "Required value", "Forbidden", "Too long", "Too short", "Internal error":
		// These quote no value.
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

// withoutQuotedValue removes the value at the beginning of a reason. What begins like a value and cannot be parsed is
// withheld as a whole.
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
			return text // the reason itself begins with a quotation, and no value is quoted
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

// mayHoldSecrets reports whether the API server's words about a field could repeat a secret. That is so for everything
// in a Secret, and in any other object for data, annotations, environment variables, commands, arguments, HTTP headers,
// and fields whose name says that they hold a secret.
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
			// They refer to a secret and hold none.
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
