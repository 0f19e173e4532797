package windows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		examplePolicy, ``, `null`, `{}`, `[]`, `{"rules": [null], "default": null}`, `{"rules": [{"match": null, "windows": [null]}]}`,
		`{"default": {"days": ["Mon"], "begin": "01:00:00+14:00", "end": "01:00:00-12:00"}}`,
		`{"default": {"days": ["Sunday"], "begin": "23:59:59.999999999Z", "end": "00:00:00Z"}}`,
		`{"default": {"begin": "0000-01-01T00:00:00Z", "end": "9999-12-31T23:59:59Z"}}`,
		`{"default": {"begin": "9999-12-31T23:59:59Z", "end": "9999-12-31T23:59:59Z"}}`,
		`{"rules": [{"match": {"plan": "((((((a{9}){9}){9}){9}){9}){9}"}, "windows": [{"days": ["Mon"], "begin": "01:00:00Z", "end": "02:00:00Z"}]}]}`,
	} {
		f.Add([]byte(seed), int64(1_772_400_000), int64(20*time.Minute))
	}
	labels := map[string]string{"kyma-project.io/region": "eu-1", "kyma-project.io/broker-plan-name": "free"}
	f.Fuzz(func(t *testing.T, raw []byte, unix, minSize int64) {
		policy, err := Parse(raw)
		if err != nil {
			require.Nil(t, policy)
			var invalid *InvalidError
			require.ErrorAs(t, err, &invalid)
			require.NotEmpty(t, invalid.Problems)
			require.LessOrEqual(t, len(err.Error()), 100_000+10*len(raw))
			return
		}
		// Any instant between about the years 1 and 9999.
		now := time.Unix(unix%250_000_000_000, 0)
		windows, _ := policy.For(labels)
		for _, w := range windows {
			require.NotEmpty(t, w.String())
			require.Positive(t, w.around(now)[0].length())
		}
		if begin, end, found := policy.Next(labels, now, time.Duration(minSize)); found {
			require.True(t, end.After(now))
			require.True(t, end.After(begin))
		}
	})
}
