package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestAMessageIsOneLineOfBoundedLength(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                     "",
		"as  it is ":           "as  it is ",
		"ein Gebäude, ein Maß": "ein Gebäude, ein Maß",
		"first\nsecond":        "first; second",
		"first:\r\n\r\n - second\n - third.\nfourth": "first: - second; - third. fourth",
		"tab\there, \x1b[31mred":                     "tab here,  [31mred",
		"in\xff\xfevalid":                            "in\uFFFDvalid",
		"turned \u202eround":                         "turned  round",
		"line\u2028separator":                        "line separator",
	} {
		require.Equal(t, want, fault.Message(text))
	}
	for name, text := range map[string]string{
		"ASCII":           strings.Repeat("x", 20<<20),
		"wide characters": strings.Repeat("界", 1<<20),
		"lines":           strings.Repeat("\n", 5000) + strings.Repeat("x\n", 5000),
		"invalid":         strings.Repeat("\xff ", 5000),
	} {
		short := fault.Message(text)
		require.LessOrEqual(t, len(short), fault.MaxMessage, name)
		require.True(t, utf8.ValidString(short), name)
		require.NotContains(t, short, "\n", name)
		require.True(t, strings.HasSuffix(short, "…"), name)
	}
	require.Equal(t, "grö…", fault.Shorten("größer", 7))
	require.Equal(t, "größer", fault.Shorten("größer", len("größer")))
}

func TestEveryFaultIsBoundedAndValidText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 10<<20) + "\xff\n"
	bounded := func(message string) {
		t.Helper()
		require.LessOrEqual(t, len(message), fault.MaxMessage)
		require.True(t, utf8.ValidString(message))
	}
	for _, err := range []error{
		errors.New(long),
		fault.New(fault.Rejected, "Reason", "the cluster says: %s", long),
		fmt.Errorf("%s: %w", long, fault.New(fault.Rejected, "Reason", "short")),
		&fault.Error{Kind: fault.Pending, Reason: "Reason", Message: long},
	} {
		bounded(fault.Of(err).Message)
		bounded(fault.OfPersistent(err).Message)
		var app *temporal.ApplicationError
		require.ErrorAs(t, fault.ToTemporal(err), &app)
		bounded(app.Message())
		bounded(fault.FromTemporal(fault.ToTemporal(err)).Message)
	}
	bounded(fault.New(fault.Rejected, "Reason", "the cluster says: %s", long).Error())
	bounded(fault.FromTemporal(temporal.NewApplicationError(long, "Foreign")).Message)
	bounded(fault.FromTemporal(errors.New(long)).Message)
}

func TestAListNamesTheElementsThatFitAndCountsTheRest(t *testing.T) {
	t.Parallel()
	many := strings.Split(strings.Repeat("module,", 10_000), ",")[:10_000]
	for name, test := range map[string]struct {
		all   []string
		limit int
		want  string
	}{
		"nothing":                     {nil, 10, ""},
		"all fit exactly":             {[]string{"a", "b", "c"}, 7, "a, b, c"},
		"one too many":                {[]string{"alpha", "beta", "gamma"}, 17, "alpha and 2 more"},
		"thousands":                   {many, 40, "module, module, module and 9997 more"},
		"a single long element":       {[]string{strings.Repeat("ü", 100)}, 10, "üüü…"},
		"a long first element":        {[]string{strings.Repeat("x", 100), "b"}, 20, "xxxxxx… and 1 more"},
		"a long later element":        {[]string{"a", strings.Repeat("x", 100)}, 20, "a and 1 more"},
		"as long as the limit allows": {[]string{"a", "bc"}, 5, "a, bc"},
	} {
		require.Equal(t, test.want, fault.List(test.all, ", ", test.limit), name)
		require.LessOrEqual(t, len(test.want), test.limit, name)
	}
}
