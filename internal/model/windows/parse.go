package windows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	kubejson "sigs.k8s.io/json"
)

const (
	// timeOfDay is the layout of `begin` and `end` of a window with days.
	timeOfDay = "15:04:05Z07:00"
	// exampleTime and exampleDate are examples for a window with days and for one without.
	exampleTime, exampleDate = "20:00:00Z", "2026-01-31T20:00:00Z"
)

// The structure of the file. Parts stay raw, so that an error can name the place of each part.
type (
	policyFile struct {
		Rules   []json.RawMessage `json:"rules"`
		Default json.RawMessage   `json:"default"`
	}
	ruleFile struct {
		Match   json.RawMessage   `json:"match"`
		Windows []json.RawMessage `json:"windows"`
	}
	matchFile struct {
		GlobalAccountID string `json:"globalAccountID"`
		// GlobalAccountId is another spelling that existing policies use.
		GlobalAccountId string `json:"globalAccountId"` //nolint:revive // as existing policies spell it
		Plan            string `json:"plan"`
		Region          string `json:"region"`
		PlatformRegion  string `json:"platformRegion"`
	}
	windowFile struct {
		Days  []string `json:"days"`
		Begin *string  `json:"begin"`
		End   *string  `json:"end"`
	}
)

// Problem describes an error in a policy, or a part that is ignored.
type Problem struct {
	// Path is the place in the file, e.g. `rules[2].windows[0].begin`; empty for the whole file.
	Path string
	// Message says what is wrong there.
	Message string
}

// String returns the path and the message.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// InvalidError lists the errors in a policy file.
type InvalidError struct{ Problems []Problem }

// shownProblems is how many problems an error message has at most.
const shownProblems = 5

// Error names the first few problems.
func (e *InvalidError) Error() string {
	var reported []string
	for _, p := range e.Problems[:min(len(e.Problems), shownProblems)] {
		reported = append(reported, p.String())
	}
	if more := len(e.Problems) - shownProblems; more > 0 {
		reported = append(reported, fmt.Sprintf("and %d more", more))
	}
	return "invalid maintenance policy: " + strings.Join(reported, "; ")
}

// Parse reads a maintenance policy file (docs/contract.md#maintenance-policy). It accepts everything that upstream's
// parser accepts. A part that can have no effect opens no window, and Policy.Ignored names it. If the file is invalid,
// Parse returns no policy and an *InvalidError that names all places.
func Parse(raw []byte) (*Policy, error) {
	var p parser
	policy := p.policy(raw)
	if len(p.problems) > 0 {
		return nil, &InvalidError{Problems: p.problems}
	}
	policy.ignored = p.ignored
	return policy, nil
}

// parser collects errors and ignored parts.
type parser struct{ problems, ignored []Problem }

func (p *parser) wrong(path, format string, args ...any) {
	p.problems = append(p.problems, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (p *parser) ignore(path, format string, args ...any) {
	p.ignored = append(p.ignored, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// decode decodes a part of the file, and reports whether that succeeded. Field names match in any case, and if a name
// occurs twice, the last value counts. Unknown fields are ignored.
func (p *parser) decode(path string, raw []byte, into any) bool {
	strict, err := kubejson.UnmarshalStrict(raw, into)
	if isSyntax, offset := kubejson.SyntaxErrorOffset(err); isSyntax {
		line := 1 + bytes.Count(raw[:min(int(offset), len(raw))], []byte("\n"))
		p.wrong(path, "not JSON, line %d: %s", line, err)
		return false
	}
	// The strict decoder matches names only in their exact case, and does not export the type of its error.
	var mistyped *json.UnmarshalTypeError
	if err = json.Unmarshal(raw, into); errors.As(err, &mistyped) {
		p.wrong(under(path, mistyped.Field), "must be %s, not %s", kindOf(mistyped), mistyped.Value)
		return false
	}
	if err != nil {
		p.wrong(path, "%s", err)
		return false
	}
	for _, problem := range strict {
		if !isKnown(problem, into) {
			p.ignore(path, "%s", problem)
		}
	}
	return true
}

// isKnown reports whether the strict decoder rejected a field only because its name is in another case.
func isKnown(problem error, into any) bool {
	name, unknown := strings.CutPrefix(problem.Error(), "unknown field ")
	if !unknown {
		return false
	}
	return slices.ContainsFunc(reflect.VisibleFields(reflect.TypeOf(into).Elem()), func(field reflect.StructField) bool {
		return strings.EqualFold(strings.Trim(name, `"`), field.Tag.Get("json"))
	})
}

func (p *parser) policy(raw []byte) *Policy {
	var file policyFile
	if !p.decode("", raw, &file) {
		return nil
	}
	if absent(raw) {
		p.wrong("", "must be an object, not null")
		return nil
	}
	policy := &Policy{}
	for i, raw := range file.Rules {
		policy.rules = append(policy.rules, p.rule(fmt.Sprintf("rules[%d]", i), raw))
	}
	policy.fallback = p.window("default", file.Default)
	return policy
}

func (p *parser) rule(path string, raw []byte) rule {
	var file ruleFile
	if !absent(raw) && !p.decode(path, raw, &file) {
		return rule{}
	}
	r := rule{matches: p.matches(under(path, "match"), file.Match)}
	if len(file.Windows) == 0 {
		p.ignore(under(path, "windows"), "the rule has no window: the Kymas that match it have the default window")
	}
	for i, raw := range file.Windows {
		r.windows = append(r.windows, p.window(fmt.Sprintf("%s.windows[%d]", path, i), raw)...)
	}
	return r
}

// matches returns the values that a rule specifies. A rule without any value applies to no Kyma.
func (p *parser) matches(path string, raw []byte) []labelMatch {
	var file matchFile
	if !absent(raw) && !p.decode(path, raw, &file) {
		return nil
	}
	var matches []labelMatch
	given := false
	for _, m := range matchLabels(file) {
		if m.value == "" {
			continue
		}
		given = true
		pattern, err := regexp.Compile(m.value)
		if err != nil {
			p.wrong(under(path, m.name), "not a regular expression: %s", err)
			continue
		}
		matches = append(matches, labelMatch{m.label, pattern})
	}
	if !given {
		p.ignore(path, "the rule applies to no Kyma, because it has none of globalAccountID, plan, region and platformRegion")
	}
	return matches
}

// window returns the window that a part of the file describes. It returns none if the part is missing or empty, as in
// policies without a default, or if the window could never be open.
func (p *parser) window(path string, raw []byte) []Window {
	var file windowFile
	if absent(raw) || !p.decode(path, raw, &file) {
		return nil
	}
	if len(file.Days) == 0 && file.Begin == nil && file.End == nil {
		return nil
	}
	before := len(p.problems)
	begin, end := p.time(under(path, "begin"), file.Begin), p.time(under(path, "end"), file.End)
	if len(p.problems) > before {
		return nil
	}
	if len(file.Days) > 0 {
		return p.weekly(path, file.Days, begin, end)
	}
	return p.dated(begin, end)
}

// weekly returns the window of some days. Only the time of day of a date counts. A missing time counts as midnight.
func (p *parser) weekly(path string, names []string, begin, end moment) []Window {
	for _, m := range []moment{begin, end} {
		switch m.kind {
		case isMissing:
			p.ignore(m.path, "is missing and counts as 00:00:00Z; write a time of day like %s", exampleTime)
		case isDate:
			p.ignore(m.path, "only its time of day counts, because there are days; write it like %s", exampleTime)
		case isTimeOfDay:
		}
	}
	var days []time.Weekday
	for i, name := range names {
		d, known := weekday(name)
		if !known {
			p.ignore(fmt.Sprintf("%s.days[%d]", path, i), "%q is not a day; use Mon, Tue, Wed, Thu, Fri, Sat or Sun", name)
			continue
		}
		days = append(days, d)
	}
	if len(days) == 0 {
		return nil
	}
	return []Window{weekly(days, begin.Time, end.Time)}
}

// dated returns the window between two dates. A window without a beginning is open until its end.
func (p *parser) dated(begin, end moment) []Window {
	for _, m := range []moment{begin, end} {
		if m.kind == isTimeOfDay {
			p.ignore(m.path, "the window is never open, because it has no days and this is not a date; write a date and time like %s", exampleDate)
			return nil
		}
	}
	if end.kind == isMissing {
		p.ignore(end.path, "is missing, so the window is never open; write a date and time like %s", exampleDate)
		return nil
	}
	if begin.kind == isMissing {
		p.ignore(begin.path, "is missing, so the window is open until its end")
	}
	if !end.After(begin.Time) {
		end.Time = end.Add(day)
	}
	if !end.After(begin.Time) {
		p.ignore(end.path, "is a day or more before begin, so the window is never open")
		return nil
	}
	return []Window{dated(begin.Time, end.Time)}
}

// moment is the beginning or end of a window, as the file has it.
type moment struct {
	time.Time
	path string
	kind momentKind
}

type momentKind int

const (
	isMissing momentKind = iota
	isTimeOfDay
	isDate
)

func (p *parser) time(path string, value *string) moment {
	if value == nil {
		return moment{path: path}
	}
	if t, err := time.Parse(time.RFC3339, *value); err == nil {
		return moment{t, path, isDate}
	}
	t, err := time.Parse(timeOfDay, *value)
	if err != nil {
		p.wrong(path, "%q must be a time of day like %s, with days, or a date and time like %s, without days", *value, exampleTime, exampleDate)
	}
	return moment{t, path, isTimeOfDay}
}

// weekday returns a day by its English name or the first three letters of that name, in any case.
func weekday(name string) (time.Weekday, bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(name, d.String()) || strings.EqualFold(name, d.String()[:3]) {
			return d, true
		}
	}
	return 0, false
}

func under(path, field string) string {
	if path == "" || field == "" {
		return path + field
	}
	return path + "." + field
}

func absent(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// kindOf returns the expected JSON type.
func kindOf(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind().String() {
	case "slice":
		return "an array"
	case "string":
		return "a string"
	default:
		return "an object"
	}
}
