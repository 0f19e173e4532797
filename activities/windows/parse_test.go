package windows

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const examplePolicy = `{
  "rules": [
    {"match": {"plan": "trial|free"},
     "windows": [{"days": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], "begin": "01:00:00Z", "end": "01:00:00Z"}]},
    {"match": {"region": "europe|eu-", "platformRegion": "cf-eu"},
     "windows": [{"begin": "2026-03-07T20:00:00Z", "end": "2026-03-08T00:00:00Z"},
                 {"days": ["Sat"], "begin": "22:00:00Z", "end": "02:00:00Z"}]},
    {"match": {"globalAccountID": "^account-7$"},
     "windows": [{"days": ["Sun"], "begin": "06:00:00+02:00", "end": "10:00:00+02:00"}]}
  ],
  "default": {"days": ["Sat", "Sun"], "begin": "20:00:00Z", "end": "00:00:00Z"}
}`

func mustParse(t *testing.T, raw string) *Policy {
	t.Helper()
	policy, err := Parse([]byte(raw))
	require.NoError(t, err)
	return policy
}

// windowOf parses one window as it is written in a policy.
func windowOf(t *testing.T, raw string) Window {
	t.Helper()
	windows, matched := mustParse(t, `{"default": `+raw+`}`).For(nil)
	require.True(t, matched)
	require.Len(t, windows, 1)
	return windows[0]
}

func TestWindowsAreReadAsUTC(t *testing.T) {
	cases := map[string]struct{ raw, want string }{
		"days in the week's order":                  {`{"days": ["Sun", "Mon"], "begin": "20:00:00Z", "end": "22:30:15Z"}`, "Mon,Sun 20:00:00Z to 22:30:15Z"},
		"full names and any case":                   {`{"days": ["monday", "SATURDAY", "wEd"], "begin": "20:00:00Z", "end": "21:00:00Z"}`, "Mon,Wed,Sat 20:00:00Z to 21:00:00Z"},
		"a day named twice counts once":             {`{"days": ["Mon", "Monday"], "begin": "20:00:00Z", "end": "21:00:00Z"}`, "Mon 20:00:00Z to 21:00:00Z"},
		"an end before begin is the next day":       {`{"days": ["Sat"], "begin": "22:00:00Z", "end": "02:00:00Z"}`, "Sat 22:00:00Z to 02:00:00Z"},
		"an offset that leads to the day before":    {`{"days": ["Mon"], "begin": "01:00:00+02:00", "end": "03:00:00+02:00"}`, "Sun 23:00:00Z to 01:00:00Z"},
		"an offset that leads to the next day":      {`{"days": ["Sun"], "begin": "23:00:00-05:00", "end": "23:30:00-05:00"}`, "Mon 04:00:00Z to 04:30:00Z"},
		"two offsets":                               {`{"days": ["Sat"], "begin": "20:00:00+02:00", "end": "20:00:00Z"}`, "Sat 18:00:00Z to 20:00:00Z"},
		"dates":                                     {`{"begin": "2026-03-07T20:00:00+01:00", "end": "2026-03-08T00:00:00Z"}`, "2026-03-07T19:00:00Z to 2026-03-08T00:00:00Z"},
		"dates with no days, said in so many words": {`{"days": [], "begin": "2026-03-07T20:00:00Z", "end": "2026-03-09T00:00:00Z"}`, "2026-03-07T20:00:00Z to 2026-03-09T00:00:00Z"},
		"an end at begin's instant is a day later":  {`{"begin": "2026-03-07T20:00:00Z", "end": "2026-03-07T20:00:00Z"}`, "2026-03-07T20:00:00Z to 2026-03-08T20:00:00Z"},
		"an end before begin on one date":           {`{"begin": "2026-03-07T20:00:00Z", "end": "2026-03-07T02:00:00Z"}`, "2026-03-07T20:00:00Z to 2026-03-08T02:00:00Z"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, windowOf(t, tc.raw).String())
		})
	}
}

func TestPoliciesThatAreRefusedNameThePlace(t *testing.T) {
	inWindow := func(window string) string {
		return `{"rules": [{"match": {"plan": "a"}, "windows": [` + window + `]}]}`
	}
	cases := map[string]struct{ raw, want string }{
		"nothing at all":               {``, `not JSON, line 1: unexpected end of JSON input`},
		"no JSON":                      {"{\n\"rules\": [\n oops", `not JSON, line 3: invalid character 'o'`},
		"more than one object":         {`{} {}`, `not JSON, line 1: invalid character '{' after top-level value`},
		"null":                         {`null`, `must be an object, not null`},
		"an array":                     {`[]`, `must be an object, not array`},
		"an unknown field":             {`{"rule": []}`, `unknown field "rule"`},
		"a field twice":                {`{"rules": [], "rules": []}`, `duplicate field "rules"`},
		"a field in another case":      {`{"Rules": []}`, `unknown field "Rules"`},
		"rules that are no list":       {`{"rules": {}}`, `rules: must be an array, not object`},
		"a rule that is none":          {`{"rules": ["x"]}`, `rules[0]: must be an object, not string`},
		"an unknown field of a rule":   {`{"rules": [{"matches": {}}]}`, `rules[0]: unknown field "matches"`},
		"an unknown field of a match":  {`{"rules": [{"match": {"shoot": "a"}, "windows": []}]}`, `rules[0].match: unknown field "shoot"`},
		"a rule without match":         {`{"rules": [{"windows": [{"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}]}]}`, `rules[0].match: a rule needs at least one of`},
		"a match with nothing in it":   {`{"rules": [{"match": {"plan": ""}, "windows": [{"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}]}]}`, `rules[0].match: a rule needs at least one of`},
		"a rule without windows":       {`{"rules": [{"match": {"plan": "a"}}]}`, `rules[0].windows: a rule needs at least one window`},
		"a bad regular expression":     {`{"rules": [{"match": {"platformRegion": "a("}, "windows": [{"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}]}]}`, "rules[0].match.platformRegion: no regular expression: error parsing regexp: missing closing ): `a(`"},
		"a number for an expression":   {`{"rules": [{"match": {"plan": 1}, "windows": []}]}`, `rules[0].match.plan: must be a string, not number`},
		"an unknown day":               {inWindow(`{"days": ["Mon", "Mo"], "begin": "01:00:00Z", "end": "02:00:00Z"}`), `rules[0].windows[0].days[1]: "Mo" is no day`},
		"days that are no list":        {inWindow(`{"days": "Mon", "begin": "01:00:00Z", "end": "02:00:00Z"}`), `rules[0].windows[0].days: must be an array, not string`},
		"a day that is no word":        {inWindow(`{"days": [1], "begin": "01:00:00Z", "end": "02:00:00Z"}`), `rules[0].windows[0].days: must be a string, not number`},
		"an unknown field of a window": {inWindow(`{"days": ["Mon"], "timeBegin": "01:00:00Z", "end": "02:00:00Z"}`), `rules[0].windows[0]: unknown field "timeBegin"`},
		"no begin":                     {inWindow(`{"days": ["Mon"], "end": "02:00:00Z"}`), `rules[0].windows[0].begin: is missing; must be a time of day`},
		"no end":                       {inWindow(`{"begin": "2026-03-07T20:00:00Z"}`), `rules[0].windows[0].end: is missing; must be a date and time`},
		"a time without an offset":     {inWindow(`{"days": ["Mon"], "begin": "01:00:00", "end": "02:00:00Z"}`), `rules[0].windows[0].begin: "01:00:00" must be a time of day`},
		"a time that does not exist":   {inWindow(`{"days": ["Mon"], "begin": "24:00:00Z", "end": "02:00:00Z"}`), `rules[0].windows[0].begin: "24:00:00Z" must be`},
		"a date that does not exist":   {inWindow(`{"begin": "2026-02-30T20:00:00Z", "end": "2026-03-07T20:00:00Z"}`), `rules[0].windows[0].begin: "2026-02-30T20:00:00Z" must be`},
		"days with dates":              {inWindow(`{"days": ["Mon"], "begin": "2026-03-07T20:00:00Z", "end": "02:00:00Z"}`), `rules[0].windows[0].begin: "2026-03-07T20:00:00Z" must be a time of day like 20:00:00Z, as there are days`},
		"no days with times of day":    {inWindow(`{"begin": "2026-03-07T20:00:00Z", "end": "02:00:00Z"}`), `rules[0].windows[0].end: "02:00:00Z" must be a date and time like 2026-01-31T20:00:00Z, as there are no days`},
		"an end long before begin":     {inWindow(`{"begin": "2026-12-20T04:00:00Z", "end": "2026-12-13T08:00:00Z"}`), `rules[0].windows[0].end: is a day or more before begin`},
		"the second window of the third rule": {`{"rules": [` +
			strings.Repeat(`{"match": {"plan": "a"}, "windows": [{"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}]},`, 2) +
			`{"match": {"plan": "a"}, "windows": [{"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}, {"days": ["Mon"], "begin": "x", "end": "02:00:00Z"}]}]}`,
			`rules[2].windows[1].begin: "x" must be`},
		"the default":  {`{"default": {"days": ["Mon"], "begin": "01:00:00Z", "end": "noon"}}`, `default.end: "noon" must be a time of day`},
		"two defaults": {`{"default": [{"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}]}`, `default: must be an object, not array`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			policy, err := Parse([]byte(tc.raw))
			require.Nil(t, policy)
			var invalid *InvalidError
			require.ErrorAs(t, err, &invalid)
			require.True(t, strings.HasPrefix(err.Error(), "invalid maintenance policy: "+tc.want), err.Error())
		})
	}
}

func TestAllProblemsAreCountedAndTheFirstAreTold(t *testing.T) {
	bad := `{"days": ["Mo"], "begin": "x", "end": "y"}`
	_, err := Parse([]byte(`{"rules": [{"match": {"plan": "("}, "windows": [` + bad + `,` + bad + `]}], "default": ` + bad + `}`))
	var invalid *InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Len(t, invalid.Problems, 10)
	require.Equal(t, "rules[0].match.plan", invalid.Problems[0].Path)
	require.Equal(t, "default.days[0]", invalid.Problems[9].Path)
	require.Contains(t, err.Error(), "rules[0].windows[0].days[0]: ")
	require.NotContains(t, err.Error(), "default")
	require.True(t, strings.HasSuffix(err.Error(), "; and 5 more"), err.Error())
}
