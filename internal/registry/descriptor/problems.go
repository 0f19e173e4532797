package descriptor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xeipuuv/gojsonschema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// ErrInvalid is wrapped by every error about an invalid descriptor.
var ErrInvalid = errors.New("invalid component descriptor")

const (
	// maxProblems is the greatest number of reported problems, because a status and a terminal cannot show hundreds.
	maxProblems = 10
	// maxQuoted is the greatest length of a quoted value, in bytes.
	maxQuoted = 80
)

// Error lists the problems in a descriptor with their paths. It wraps ErrInvalid.
type Error struct {
	// Problems name the paths in the descriptor, for example `component.resources[1].access.type`.
	Problems field.ErrorList
}

// Error returns the problems as one message.
func (e *Error) Error() string {
	return fmt.Sprintf("%v: %v", ErrInvalid, e.Problems.ToAggregate())
}

// Unwrap returns ErrInvalid.
func (e *Error) Unwrap() error { return ErrInvalid }

func invalid(problem *field.Error) error { return &Error{Problems: field.ErrorList{problem}} }

// ProblemsOf returns the problems in an error of Parse, with their paths below the given path. An error without a path
// is about the whole descriptor.
func ProblemsOf(err error, below *field.Path) field.ErrorList {
	var known *Error
	if !errors.As(err, &known) {
		return field.ErrorList{field.Invalid(below, field.OmitValueType{}, err.Error())}
	}
	return prefixed(known.Problems, below)
}

// prefixed returns the problems with their paths below the given path.
func prefixed(problems field.ErrorList, below *field.Path) field.ErrorList {
	if below == nil {
		return problems
	}
	all := make(field.ErrorList, 0, len(problems))
	for _, problem := range problems {
		moved := *problem
		moved.Field = below.String() + "." + problem.Field
		all = append(all, &moved)
	}
	return all
}

// explain converts the library's refusal into problems with paths. Some of the library's errors are only text. In that
// case explain repeats the check, for structured results.
func (d document) explain(refused error) error {
	var problems field.ErrorList
	if aggregate, ok := errors.AsType[utilerrors.Aggregate](refused); ok {
		for _, err := range aggregate.Errors() {
			if problem, ok := errors.AsType[*field.Error](err); ok {
				problems = append(problems, problem)
			}
		}
	}
	if len(problems) == 0 {
		result, err := d.schema.rules().Validate(gojsonschema.NewBytesLoader(d.json))
		if err == nil {
			problems = problemsOf(result.Errors())
		}
	}
	if len(problems) == 0 {
		return fmt.Errorf("%w: %w", ErrInvalid, refused)
	}
	return &Error{Problems: orderly(problems)}
}

// problemsOf converts violations of the JSON schema. The violation "no alternative matches" (in this schema: a list, or
// null) is reported only if there is no more exact violation.
func problemsOf(violations []gojsonschema.ResultError) field.ErrorList {
	const noneFits = "number_one_of"
	exact := slices.DeleteFunc(slices.Clone(violations), func(v gojsonschema.ResultError) bool { return v.Type() == noneFits })
	if len(exact) == 0 {
		exact = violations
	}
	return lists.Map(exact, problemOf)
}

func problemOf(violation gojsonschema.ResultError) *field.Error {
	at := pathOf(violation.Context())
	if property, ofProperty := violation.Details()["property"].(string); ofProperty {
		switch violation.Type() {
		case "required":
			return field.Required(at.Child(property), "")
		case "additional_property_not_allowed":
			return field.Forbidden(at.Child(short(property)), "is not known in this schema")
		}
	}
	value := any(field.OmitValueType{})
	if text, isText := violation.Value().(string); isText {
		value = short(text)
	}
	return field.Invalid(at, value, violation.Description())
}

// pathOf converts a path of the library to a Kubernetes path. It is nil for the root of the document.
func pathOf(at *gojsonschema.JsonContext) *field.Path {
	var path *field.Path
	const separator = "\x00"
	for _, step := range strings.Split(at.String(separator), separator)[1:] {
		if index, err := strconv.Atoi(step); err == nil && path != nil {
			path = path.Index(index)
		} else {
			path = path.Child(short(step))
		}
	}
	return path
}

// orderly sorts problems, and keeps the first problem of each path and type. The library returns them in any order, and
// a message that changes at each reconcile would be written at each reconcile.
func orderly(problems field.ErrorList) field.ErrorList {
	slices.SortStableFunc(problems, func(a, b *field.Error) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Error(), b.Error()))
	})
	problems = slices.CompactFunc(problems, func(a, b *field.Error) bool { return a.Field == b.Field && a.Type == b.Type })
	return problems[:min(len(problems), maxProblems)]
}

// short returns a value at a length that messages may quote.
func short(value string) string {
	return fault.Shorten(value, maxQuoted)
}
