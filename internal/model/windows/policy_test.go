package windows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheWindowsOfAKyma(t *testing.T) {
	policy := mustParse(t, examplePolicy)
	daily := []string{"Mon,Tue,Wed,Thu,Fri,Sat,Sun 01:00:00Z to 01:00:00Z"}
	europe := []string{"2026-03-07T20:00:00Z to 2026-03-08T00:00:00Z", "Sat 22:00:00Z to 02:00:00Z"}
	account := []string{"Sun 04:00:00Z to 08:00:00Z"}
	fallback := []string{"Sat,Sun 20:00:00Z to 00:00:00Z"}
	cases := map[string]struct {
		labels map[string]string
		want   []string
	}{
		"by plan":                            {map[string]string{"kyma-project.io/broker-plan-name": "trial"}, daily},
		"by another plan of the expression":  {map[string]string{"kyma-project.io/broker-plan-name": "free"}, daily},
		"an expression matches anywhere":     {map[string]string{"kyma-project.io/broker-plan-name": "azure-free-tier"}, daily},
		"by region":                          {map[string]string{"kyma-project.io/region": "eu-central-1"}, europe},
		"by platform region alone":           {map[string]string{"kyma-project.io/platform-region": "cf-eu10"}, europe},
		"one matching value is enough":       {map[string]string{"kyma-project.io/region": "us-east-1", "kyma-project.io/platform-region": "cf-eu10"}, europe},
		"by global account":                  {map[string]string{"kyma-project.io/global-account-id": "account-7"}, account},
		"an anchored expression is exact":    {map[string]string{"kyma-project.io/global-account-id": "account-77"}, fallback},
		"the first rule wins":                {map[string]string{"kyma-project.io/global-account-id": "account-7", "kyma-project.io/region": "eu-1", "kyma-project.io/broker-plan-name": "free"}, daily},
		"a value matches only its own label": {map[string]string{"kyma-project.io/region": "trial"}, fallback},
		"no rule matches":                    {map[string]string{"kyma-project.io/region": "us-east-1"}, fallback},
		"no labels":                          {nil, fallback},
		"other labels do not count":          {map[string]string{"plan": "trial", "region": "eu-1"}, fallback},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			windows, matched := policy.For(tc.labels)
			require.True(t, matched)
			var got []string
			for _, w := range windows {
				got = append(got, w.String())
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestALabelThatIsMissingOrEmptyMatchesNothing(t *testing.T) {
	policy := mustParse(t, `{"rules": [{"match": {"plan": ".*"}, "windows": [{"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}]}]}`)
	for name, labels := range map[string]map[string]string{"missing": nil, "empty": {"kyma-project.io/broker-plan-name": ""}} {
		windows, matched := policy.For(labels)
		require.False(t, matched, name)
		require.Empty(t, windows, name)
	}
	_, matched := policy.For(map[string]string{"kyma-project.io/broker-plan-name": "any"})
	require.True(t, matched)
}

func TestAnEmptyPolicyGivesNoWindow(t *testing.T) {
	for name, policy := range map[string]*Policy{
		"no policy": nil, "an empty one": mustParse(t, `{}`), "an empty one with nulls": mustParse(t, `{"rules": null, "default": null}`),
	} {
		windows, matched := policy.For(map[string]string{"kyma-project.io/region": "eu-1"})
		require.False(t, matched, name)
		require.Empty(t, windows, name)
		_, _, found := policy.Next(nil, time.Now(), 0)
		require.False(t, found, name)
	}
}

func TestTheDefaultTakesOverWhenARulesDatesHavePassed(t *testing.T) {
	const dated = `{"rules": [{"match": {"region": "eu"}, "windows": [{"begin": "2026-03-07T20:00:00Z", "end": "2026-03-08T00:00:00Z"}]}]`
	withDefault := mustParse(t, dated+`, "default": {"days": ["Sat"], "begin": "10:00:00Z", "end": "12:00:00Z"}}`)
	without := mustParse(t, dated+`}`)
	europe := map[string]string{"kyma-project.io/region": "eu"}

	begin, _, found := withDefault.Next(europe, at(t, "2026-03-07T00:00:00Z"), 0)
	require.True(t, found)
	require.Equal(t, at(t, "2026-03-07T20:00:00Z"), begin, "the rule's date, although the default window begins sooner")

	begin, _, found = withDefault.Next(europe, at(t, "2026-03-08T00:00:00Z"), 0)
	require.True(t, found)
	require.Equal(t, at(t, "2026-03-14T10:00:00Z"), begin)

	_, _, found = without.Next(europe, at(t, "2026-03-08T00:00:00Z"), 0)
	require.False(t, found)
}

func TestBothSpellingsOfTheGlobalAccountAreRead(t *testing.T) {
	for _, field := range []string{"globalAccountID", "globalAccountId"} {
		policy := mustParse(t, `{"rules": [{"match": {"`+field+`": "^a$"}, "windows": [{"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}]}]}`)
		_, matched := policy.For(map[string]string{"kyma-project.io/global-account-id": "a"})
		require.True(t, matched, field)
	}
}
