package fault

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPartsAreEncodedBesideTheOtherFields(t *testing.T) {
	type rest struct {
		Outcome string `json:"outcome,omitempty"`
	}
	parts := Parts{}.With(PartCatalog, Fault{Kind: Transient, Reason: "Busy", Message: "later"}).With(PartMove, Fault{})
	for want, given := range map[string]struct {
		parts Parts
		rest  rest
	}{
		`{"outcome":"Synced"}`: {nil, rest{"Synced"}},
		`{}`:                   {Parts{}, rest{}},
		`{"outcome":"Synced","catalog":{"kind":"Transient","reason":"Busy","message":"later"}}`: {parts, rest{"Synced"}},
		`{"catalog":{"kind":"Transient","reason":"Busy","message":"later"}}`:                    {parts, rest{}},
	} {
		encoded, err := given.parts.MarshalWith(given.rest)
		require.NoError(t, err)
		require.Equal(t, want, string(encoded))
		var read rest
		found, err := UnmarshalParts(encoded, &read)
		require.NoError(t, err)
		require.Equal(t, given.rest, read)
		require.Len(t, found, len(given.parts))
		for part, f := range given.parts {
			require.Equal(t, f, found[part])
		}
	}
}

func TestAZeroFaultInAHistoryCountsAsNoFault(t *testing.T) {
	var rest struct{}
	parts, err := UnmarshalParts([]byte(`{"catalog":{"kind":"","reason":"","message":""},"other":1}`), &rest)
	require.NoError(t, err)
	require.Empty(t, parts)
	_, err = UnmarshalParts([]byte(`{"catalog":"x"}`), &rest)
	require.ErrorContains(t, err, "catalog")
}

func TestTheOrderOfPartsDecides(t *testing.T) {
	rejected := func(reason string) Fault { return Fault{Kind: Rejected, Reason: reason} }
	transient := func(reason string) Fault { return Fault{Kind: Transient, Reason: reason} }
	for name, test := range map[string]struct {
		parts      Parts
		fix, retry string
	}{
		"nothing failed":                      {nil, "", ""},
		"the whole sync comes first":          {Parts{PartSync: transient("a"), PartCatalog: transient("b")}, "a", "a"},
		"a retryable fault decides":           {Parts{PartSync: rejected("a"), PartCatalog: transient("b")}, "a", "b"},
		"without one, the last part decides":  {Parts{PartSync: rejected("a"), PartMove: rejected("b"), PartTemplates: rejected("c")}, "a", "b"},
		"an invalid edit is not retried":      {Parts{PartInvalid: rejected("a")}, "a", ""},
		"people cannot fix the report":        {Parts{PartReport: transient("a")}, "", "a"},
		"templates are retried before a move": {Parts{PartMove: transient("a"), PartTemplates: transient("b")}, "a", "b"},
		"pending comes last":                  {Parts{PartCatalog: {Kind: Pending, Reason: "a"}, PartTemplates: transient("b")}, "b", "a"},
		"but is reported":                     {Parts{PartCatalog: {Kind: Pending, Reason: "a"}}, "a", "a"},
	} {
		require.Equal(t, test.fix, test.parts.ToReport().Reason, name)
		require.Equal(t, test.retry, test.parts.ToRetry().Reason, name)
	}
}

func TestWithLeavesTheOriginalUnchanged(t *testing.T) {
	before := Parts{PartSync: {Kind: Transient}}
	after := before.With(PartSync, Fault{}).With(PartMove, Fault{Kind: Rejected})
	require.Equal(t, Parts{PartSync: {Kind: Transient}}, before)
	require.Equal(t, Parts{PartMove: {Kind: Rejected}}, after)
	require.True(t, after.Any(func(f Fault) bool { return f.Kind == Rejected }))
	require.False(t, before.Any(func(f Fault) bool { return f.Kind == Rejected }))
	encoded, err := json.Marshal(after)
	require.NoError(t, err)
	require.JSONEq(t, `{"move":{"kind":"Rejected","reason":"","message":""}}`, string(encoded))
}
