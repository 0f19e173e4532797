package windows

import (
	"strings"
	"testing"
	"time"

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
		"a day listed twice counts once":            {`{"days": ["Mon", "Monday"], "begin": "20:00:00Z", "end": "21:00:00Z"}`, "Mon 20:00:00Z to 21:00:00Z"},
		"an end before begin is the next day":       {`{"days": ["Sat"], "begin": "22:00:00Z", "end": "02:00:00Z"}`, "Sat 22:00:00Z to 02:00:00Z"},
		"an offset that leads to the day before":    {`{"days": ["Mon"], "begin": "01:00:00+02:00", "end": "03:00:00+02:00"}`, "Sun 23:00:00Z to 01:00:00Z"},
		"an offset that leads to the next day":      {`{"days": ["Sun"], "begin": "23:00:00-05:00", "end": "23:30:00-05:00"}`, "Mon 04:00:00Z to 04:30:00Z"},
		"two offsets":                               {`{"days": ["Sat"], "begin": "20:00:00+02:00", "end": "20:00:00Z"}`, "Sat 18:00:00Z to 20:00:00Z"},
		"dates":                                     {`{"begin": "2026-03-07T20:00:00+01:00", "end": "2026-03-08T00:00:00Z"}`, "2026-03-07T19:00:00Z to 2026-03-08T00:00:00Z"},
		"dates with an explicit empty list of days": {`{"days": [], "begin": "2026-03-07T20:00:00Z", "end": "2026-03-09T00:00:00Z"}`, "2026-03-07T20:00:00Z to 2026-03-09T00:00:00Z"},
		"an end at begin's instant is a day later":  {`{"begin": "2026-03-07T20:00:00Z", "end": "2026-03-07T20:00:00Z"}`, "2026-03-07T20:00:00Z to 2026-03-08T20:00:00Z"},
		"an end before begin on one date":           {`{"begin": "2026-03-07T20:00:00Z", "end": "2026-03-07T02:00:00Z"}`, "2026-03-07T20:00:00Z to 2026-03-08T02:00:00Z"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, windowOf(t, tc.raw).String())
		})
	}
}

func TestErrorsOfInvalidPoliciesNameThePlace(t *testing.T) {
	inWindow := func(window string) string {
		return `{"rules": [{"match": {"plan": "a"}, "windows": [` + window + `]}]}`
	}
	cases := map[string]struct{ raw, want string }{
		"nothing at all":             {``, `not JSON, line 1: unexpected end of JSON input`},
		"no JSON":                    {"{\n\"rules\": [\n oops", `not JSON, line 3: invalid character 'o'`},
		"more than one object":       {`{} {}`, `not JSON, line 1: invalid character '{' after top-level value`},
		"null":                       {`null`, `must be an object, not null`},
		"an array":                   {`[]`, `must be an object, not array`},
		"rules that are not a list":  {`{"rules": {}}`, `rules: must be an array, not object`},
		"a rule that is a string":    {`{"rules": ["x"]}`, `rules[0]: must be an object, not string`},
		"a bad regular expression":   {`{"rules": [{"match": {"platformRegion": "a("}, "windows": [{"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}]}]}`, "rules[0].match.platformRegion: not a regular expression: error parsing regexp: missing closing ): `a(`"},
		"a number for an expression": {`{"rules": [{"match": {"plan": 1}, "windows": []}]}`, `rules[0].match.plan: must be a string, not number`},
		"days that are not a list":   {inWindow(`{"days": "Mon", "begin": "01:00:00Z", "end": "02:00:00Z"}`), `rules[0].windows[0].days: must be an array, not string`},
		"a day that is a number":     {inWindow(`{"days": [1], "begin": "01:00:00Z", "end": "02:00:00Z"}`), `rules[0].windows[0].days: must be a string, not number`},
		"a time without an offset":   {inWindow(`{"days": ["Mon"], "begin": "01:00:00", "end": "02:00:00Z"}`), `rules[0].windows[0].begin: "01:00:00" must be a time of day`},
		"a time that does not exist": {inWindow(`{"days": ["Mon"], "begin": "24:00:00Z", "end": "02:00:00Z"}`), `rules[0].windows[0].begin: "24:00:00Z" must be`},
		"a date that does not exist": {inWindow(`{"begin": "2026-02-30T20:00:00Z", "end": "2026-03-07T20:00:00Z"}`), `rules[0].windows[0].begin: "2026-02-30T20:00:00Z" must be`},
		"the second window of the third rule": {`{"rules": [` +
			strings.Repeat(`{"match": {"plan": "a"}, "windows": [{"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}]},`, 2) +
			`{"match": {"plan": "a"}, "windows": [{"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}, {"days": ["Mon"], "begin": "x", "end": "02:00:00Z"}]}]}`,
			`rules[2].windows[1].begin: "x" must be`},
		"an empty time":                {inWindow(`{"days": ["Mon"], "begin": "", "end": "02:00:00Z"}`), `rules[0].windows[0].begin: "" must be a time of day`},
		"a wrong type in another case": {`{"Rules": {}}`, `rules: must be an array, not object`},
		"the default":                  {`{"default": {"days": ["Mon"], "begin": "01:00:00Z", "end": "noon"}}`, `default.end: "noon" must be a time of day`},
		"two defaults":                 {`{"default": [{"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}]}`, `default: must be an object, not array`},
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

func TestAllProblemsAreCountedAndTheFirstAreNamed(t *testing.T) {
	bad := `{"days": ["Mon"], "begin": "x", "end": "y"}`
	_, err := Parse([]byte(`{"rules": [{"match": {"plan": "("}, "windows": [` + bad + `,` + bad + `]}], "default": ` + bad + `}`))
	var invalid *InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Len(t, invalid.Problems, 7)
	require.Equal(t, "rules[0].match.plan", invalid.Problems[0].Path)
	require.Equal(t, "default.end", invalid.Problems[6].Path)
	require.Contains(t, err.Error(), "rules[0].windows[0].begin: ")
	require.NotContains(t, err.Error(), "default")
	require.True(t, strings.HasSuffix(err.Error(), "; and 2 more"), err.Error())
}

// upstreamsGenerated is a policy as the script in upstream's repository generates it.
const upstreamsGenerated = `{
  "rules": [
    {"match": {"region": "asia"}, "windows": [{"begin": "2026-03-07T20:00:00Z", "end": "2026-03-07T22:00:00Z"}]},
    {"match": {"region": "europe"}, "windows": [{"begin": "2026-03-08T20:00:00Z", "end": "2026-03-08T22:00:00Z"}]}
  ],
  "default": {}
}`

func TestPoliciesThatUpstreamAcceptsAreValid(t *testing.T) {
	inWindow := func(window string) string {
		return `{"rules": [{"match": {"plan": "a"}, "windows": [` + window + `]}]}`
	}
	const mondays = `{"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}`
	const onMondays = "Mon 01:00:00Z to 02:00:00Z"
	cases := map[string]struct {
		raw     string
		want    []string // the windows of a Kyma with plan a
		ignored []string
	}{
		"an empty default":               {raw: `{"rules": [], "default": {}}`},
		"no rules":                       {raw: `{"default": ` + mondays + `}`, want: []string{onMondays}},
		"an empty default after rules":   {raw: `{"rules": [{"match": {"plan": "a"}, "windows": [` + mondays + `]}], "default": {}}`, want: []string{onMondays}},
		"nulls":                          {raw: `{"rules": [null], "default": null}`, ignored: []string{"rules[0].match", "rules[0].windows"}},
		"a rule without match":           {raw: `{"rules": [{"windows": [` + mondays + `]}]}`, ignored: []string{"rules[0].match"}},
		"an empty match":                 {raw: `{"rules": [{"match": {}, "windows": [` + mondays + `]}]}`, ignored: []string{"rules[0].match"}},
		"a match with an empty value":    {raw: `{"rules": [{"match": {"plan": ""}, "windows": [` + mondays + `]}]}`, ignored: []string{"rules[0].match"}},
		"no windows":                     {raw: `{"rules": [{"match": {"plan": "a"}}]}`, ignored: []string{"rules[0].windows"}},
		"an empty list of windows":       {raw: `{"rules": [{"match": {"plan": "a"}, "windows": []}]}`, ignored: []string{"rules[0].windows"}},
		"an empty window":                {raw: inWindow(`{}`)},
		"an empty window beside another": {raw: inWindow(`{}, ` + mondays), want: []string{onMondays}},
		"an unknown day":                 {raw: inWindow(`{"days": ["Mo", "Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}`), want: []string{onMondays}, ignored: []string{"rules[0].windows[0].days[0]"}},
		"nothing but unknown days":       {raw: inWindow(`{"days": ["Mo"], "begin": "01:00:00Z", "end": "02:00:00Z"}`), ignored: []string{"rules[0].windows[0].days[0]"}},
		"days without times":             {raw: inWindow(`{"days": ["Sat"]}`), want: []string{"Sat 00:00:00Z to 00:00:00Z"}, ignored: []string{"rules[0].windows[0].begin", "rules[0].windows[0].end"}},
		"days with names of other times": {
			raw:  inWindow(`{"days": ["Sat"], "timeBegin": "20:00:00Z", "timeEnd": "00:00:00Z"}`),
			want: []string{"Sat 00:00:00Z to 00:00:00Z"}, ignored: []string{"rules[0].windows[0]", "rules[0].windows[0]", "rules[0].windows[0].begin", "rules[0].windows[0].end"},
		},
		"days with dates":                        {raw: inWindow(`{"days": ["Mon"], "begin": "2026-03-07T01:00:00Z", "end": "02:00:00Z"}`), want: []string{onMondays}, ignored: []string{"rules[0].windows[0].begin"}},
		"times of day without days":              {raw: inWindow(`{"begin": "01:00:00Z", "end": "02:00:00Z"}`), ignored: []string{"rules[0].windows[0].begin"}},
		"a date without an end":                  {raw: inWindow(`{"begin": "2026-03-07T20:00:00Z"}`), ignored: []string{"rules[0].windows[0].end"}},
		"a date without a beginning":             {raw: inWindow(`{"end": "2026-03-07T20:00:00Z"}`), want: []string{"0001-01-01T00:00:00Z to 2026-03-07T20:00:00Z"}, ignored: []string{"rules[0].windows[0].begin"}},
		"a date that ends long before it begins": {raw: inWindow(`{"begin": "2026-12-20T04:00:00Z", "end": "2026-12-13T08:00:00Z"}`), ignored: []string{"rules[0].windows[0].end"}},
		"fields in another case":                 {raw: `{"Rules": [{"Match": {"PLAN": "a"}, "Windows": [{"Days": ["Mon"], "Begin": "01:00:00Z", "END": "02:00:00Z"}]}]}`, want: []string{onMondays}},
		"unknown fields":                         {raw: `{"comment": 1, "rules": [{"name": "x", "match": {"plan": "a", "shoot": "b"}, "windows": [` + mondays + `]}]}`, want: []string{onMondays}, ignored: []string{"", "rules[0]", "rules[0].match"}},
		"a field twice":                          {raw: `{"default": {"days": ["Sun"], "begin": "01:00:00Z", "end": "02:00:00Z"}, "default": ` + mondays + `}`, want: []string{onMondays}, ignored: []string{""}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			policy := mustParse(t, tc.raw)
			var got, ignored []string
			windows, _ := policy.For(map[string]string{"kyma-project.io/broker-plan-name": "a"})
			for _, w := range windows {
				got = append(got, w.String())
			}
			for _, part := range policy.Ignored() {
				require.NotEmpty(t, part.Message)
				ignored = append(ignored, part.Path)
			}
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.ignored, ignored)
		})
	}
}

func TestAGeneratedPolicyGivesWindowsOnlyToMatchingKymas(t *testing.T) {
	policy := mustParse(t, upstreamsGenerated)
	require.Empty(t, policy.Ignored())
	now := at(t, "2026-03-07T20:30:00Z")
	begin, _, found := policy.Next(map[string]string{"kyma-project.io/region": "asia"}, now, 20*time.Minute)
	require.True(t, found)
	require.Equal(t, at(t, "2026-03-07T20:00:00Z"), begin, "the window is open")
	begin, _, found = policy.Next(map[string]string{"kyma-project.io/region": "europe"}, now, 20*time.Minute)
	require.True(t, found)
	require.Equal(t, at(t, "2026-03-08T20:00:00Z"), begin)
	_, _, found = policy.Next(map[string]string{"kyma-project.io/region": "us"}, now, 20*time.Minute)
	require.False(t, found, "an empty default is not a window")
}

func TestARuleWithoutWindowsHasTheDefaultWindow(t *testing.T) {
	policy := mustParse(t, `{"rules": [{"match": {"plan": "a"}, "windows": []}], "default": {"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}}`)
	begin, _, found := policy.Next(map[string]string{"kyma-project.io/broker-plan-name": "a"}, at(t, "2026-03-07T00:00:00Z"), 0)
	require.True(t, found)
	require.Equal(t, at(t, "2026-03-09T01:00:00Z"), begin)
}
