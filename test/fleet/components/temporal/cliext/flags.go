package cliext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FlagDuration is the value of a flag for a duration. It also accepts days: 3d.
type FlagDuration time.Duration

// ParseFlagDuration reads a duration, such as 90s or 3d.
func ParseFlagDuration(text string) (time.Duration, error) {
	days, found := strings.CutSuffix(text, "d")
	if !found {
		return time.ParseDuration(text)
	}
	number, err := strconv.ParseFloat(days, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of days", days)
	}
	return time.Duration(number * float64(24*time.Hour)), nil
}

// MustParseFlagDuration is like ParseFlagDuration, and panics if the text is not a duration.
func MustParseFlagDuration(text string) FlagDuration {
	duration, err := ParseFlagDuration(text)
	if err != nil {
		panic(err)
	}
	return FlagDuration(duration)
}

// Duration returns the value.
func (d FlagDuration) Duration() time.Duration { return time.Duration(d) }

func (d FlagDuration) String() string { return d.Duration().String() }

// Set implements pflag.Value.
func (d *FlagDuration) Set(text string) error {
	duration, err := ParseFlagDuration(text)
	*d = FlagDuration(duration)
	return err
}

// Type implements pflag.Value.
func (d *FlagDuration) Type() string { return "duration" }

// FlagTimestamp is the value of a flag for a point in time.
type FlagTimestamp time.Time

// Time returns the value.
func (t FlagTimestamp) Time() time.Time { return time.Time(t) }

func (t FlagTimestamp) String() string {
	if t.Time().IsZero() {
		return ""
	}
	return t.Time().Format(time.RFC3339)
}

// Set implements pflag.Value.
func (t *FlagTimestamp) Set(text string) error {
	at, err := time.Parse(time.RFC3339, text)
	*t = FlagTimestamp(at)
	return err
}

// Type implements pflag.Value.
func (t *FlagTimestamp) Type() string { return "timestamp" }

// FlagStringEnum is the value of a flag that accepts some texts only.
type FlagStringEnum struct {
	Allowed []string
	Value   string
	// ChangedFromDefault reports whether the flag was set.
	ChangedFromDefault bool
}

// NewFlagStringEnum returns a flag that accepts these texts.
func NewFlagStringEnum(allowed []string, value string) FlagStringEnum {
	return FlagStringEnum{Allowed: allowed, Value: value}
}

func (s *FlagStringEnum) String() string { return s.Value }

// Set implements pflag.Value.
func (s *FlagStringEnum) Set(text string) (err error) {
	s.Value, err = oneOf(s.Allowed, text)
	s.ChangedFromDefault = err == nil
	return err
}

// Type implements pflag.Value.
func (s *FlagStringEnum) Type() string { return "string" }

// FlagStringEnumArray is the value of a flag that can be repeated, and accepts some texts only.
type FlagStringEnumArray struct {
	Allowed []string
	Values  []string
}

// NewFlagStringEnumArray returns a flag that accepts these texts.
func NewFlagStringEnumArray(allowed, values []string) FlagStringEnumArray {
	return FlagStringEnumArray{Allowed: allowed, Values: values}
}

func (s *FlagStringEnumArray) String() string { return strings.Join(s.Values, ",") }

// Set implements pflag.Value.
func (s *FlagStringEnumArray) Set(text string) error {
	value, err := oneOf(s.Allowed, text)
	if err == nil {
		s.Values = append(s.Values, value)
	}
	return err
}

// Type implements pflag.Value.
func (s *FlagStringEnumArray) Type() string { return "string[]" }

// oneOf returns the allowed text that is equal to text, without regard to upper and lower case.
func oneOf(allowed []string, text string) (string, error) {
	i := slices.IndexFunc(allowed, func(each string) bool { return strings.EqualFold(each, text) })
	if i < 0 {
		return "", fmt.Errorf("%q is not one of %s", text, strings.Join(allowed, ", "))
	}
	return allowed[i], nil
}
