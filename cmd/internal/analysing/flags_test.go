package analysing_test

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/analysing"
)

func parsed(t *testing.T, line string) *analysing.Flags {
	t.Helper()
	f, set := &analysing.Flags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Register(set)
	require.NoError(t, set.Parse(strings.Fields(line)))
	return f
}

func TestWithoutAnAddressThereIsNoPrometheus(t *testing.T) {
	f := parsed(t, "")
	require.NoError(t, f.Check())
	require.False(t, f.Configured())
	prometheus, err := f.Prometheus()
	require.NoError(t, err)
	if prometheus != nil {
		t.Error("the interface must be nil")
	}
}

func TestAnAddressConfiguresAPrometheus(t *testing.T) {
	f := parsed(t, "--rollout-prometheus-url=http://prometheus:9090 --rollout-prometheus-token-file=/token")
	require.NoError(t, f.Check())
	require.True(t, f.Configured())
	prometheus, err := f.Prometheus()
	require.NoError(t, err)
	require.NotNil(t, prometheus)
}

func TestWhatCannotWorkIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"--rollout-prometheus-token-file=/token":       "--rollout-prometheus-token-file needs --rollout-prometheus-url, which is not set",
		"--rollout-prometheus-url=prometheus:9090":     "--rollout-prometheus-url: it must be a URL such as http://prometheus.monitoring:9090",
		"--rollout-prometheus-url=http://a:b@c":        "--rollout-prometheus-url: it must have no credentials, query or fragment",
		"--rollout-prometheus-url=http://%zz/password": "--rollout-prometheus-url: it cannot be read as a URL",
	} {
		require.EqualError(t, parsed(t, line).Check(), want)
	}
}
