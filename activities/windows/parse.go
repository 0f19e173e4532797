package windows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	kubejson "sigs.k8s.io/json"
)

// timeOfDay is the layout of `begin` and `end` of a window with days.
const timeOfDay = "15:04:05Z07:00"

// The file as it is written; parts stay raw so that an error can name the place of each.
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
		// GlobalAccountId is another spelling that policies in use have.
		GlobalAccountId string `json:"globalAccountId"` //nolint:revive // as it is spelled there
		Plan            string `json:"plan"`
		Region          string `json:"region"`
		PlatformRegion  string `json:"platformRegion"`
	}
	windowFile struct {
		Days  []string `json:"days"`
		Begin string   `json:"begin"`
		End   string   `json:"end"`
	}
)

// Problem is something wrong with a policy.
type Problem struct {
	// Path is the place in the file, e.g. `rules[2].windows[0].begin`; empty for the file as a whole.
	Path string
	// Message says what is wrong there.
	Message string
}

// String is path and message.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// InvalidError says what is wrong with a policy file.
type InvalidError struct{ Problems []Problem }

// shownProblems is how many problems are reported at once.
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

// Parse reads a maintenance policy file (docs/contract.md#maintenance-policy). It is strict: what it does not know or
// understand is an *InvalidError that names all places, and no policy.
func Parse(raw []byte) (*Policy, error) {
	var p parser
	policy := p.policy(raw)
	if len(p.problems) > 0 {
		return nil, &InvalidError{Problems: p.problems}
	}
	return policy, nil
}

// parser collects what is wrong.
type parser struct{ problems []Problem }

func (p *parser) wrong(path, format string, args ...any) {
	p.problems = append(p.problems, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// decode fills what a part of the file says, and tells whether that could be done.
func (p *parser) decode(path string, raw []byte, into any) bool {
	unknown, err := kubejson.UnmarshalStrict(raw, into)
	for _, problem := range unknown {
		p.wrong(path, "%s", problem)
	}
	if err == nil {
		return len(unknown) == 0
	}
	if isSyntax, offset := kubejson.SyntaxErrorOffset(err); isSyntax {
		line := 1 + bytes.Count(raw[:min(int(offset), len(raw))], []byte("\n"))
		p.wrong(path, "not JSON, line %d: %s", line, err)
		return false
	}
	// The strict decoder keeps the type of its error to itself; the usual one says the field.
	var mistyped *json.UnmarshalTypeError
	if errors.As(json.Unmarshal(raw, into), &mistyped) {
		p.wrong(under(path, mistyped.Field), "must be %s, not %s", kindOf(mistyped), mistyped.Value)
		return false
	}
	p.wrong(path, "%s", err)
	return false
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
	if !absent(file.Default) {
		policy.fallback = []Window{p.window("default", file.Default)}
	}
	return policy
}

func (p *parser) rule(path string, raw []byte) rule {
	var file ruleFile
	if !p.decode(path, raw, &file) {
		return rule{}
	}
	r := rule{matches: p.matches(under(path, "match"), file.Match)}
	if len(file.Windows) == 0 {
		p.wrong(under(path, "windows"), "a rule needs at least one window")
	}
	for i, raw := range file.Windows {
		r.windows = append(r.windows, p.window(fmt.Sprintf("%s.windows[%d]", path, i), raw))
	}
	return r
}

// matches are the values of a rule that are given. A rule without any would never apply, which nobody means.
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
			p.wrong(under(path, m.name), "no regular expression: %s", err)
			continue
		}
		matches = append(matches, labelMatch{m.label, pattern})
	}
	if !given {
		p.wrong(path, "a rule needs at least one of globalAccountID, plan, region and platformRegion; the default window is for all others")
	}
	return matches
}

func (p *parser) window(path string, raw []byte) Window {
	var file windowFile
	if !p.decode(path, raw, &file) {
		return Window{}
	}
	layout, example := time.RFC3339, "a date and time like 2026-01-31T20:00:00Z, as there are no days"
	if len(file.Days) > 0 {
		layout, example = timeOfDay, "a time of day like 20:00:00Z, as there are days"
	}
	before := len(p.problems)
	begin := p.time(under(path, "begin"), layout, example, file.Begin)
	end := p.time(under(path, "end"), layout, example, file.End)
	var days []time.Weekday
	for i, name := range file.Days {
		d, known := weekday(name)
		if !known {
			p.wrong(fmt.Sprintf("%s.days[%d]", path, i), "%q is no day; days are Mon, Tue, Wed, Thu, Fri, Sat and Sun", name)
		}
		days = append(days, d)
	}
	if len(p.problems) > before {
		return Window{}
	}
	if len(days) > 0 {
		return weekly(days, begin, end)
	}
	if !end.After(begin) {
		end = end.Add(day)
	}
	if !end.After(begin) {
		p.wrong(under(path, "end"), "is a day or more before begin")
	}
	return dated(begin, end)
}

func (p *parser) time(path, layout, example, value string) time.Time {
	if value == "" {
		p.wrong(path, "is missing; must be %s", example)
		return time.Time{}
	}
	t, err := time.Parse(layout, value)
	if err != nil {
		p.wrong(path, "%q must be %s", value, example)
	}
	return t
}

// weekday knows the days by their English names and the first three letters of these, in any case.
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

// kindOf says in the words of JSON what was wanted.
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
