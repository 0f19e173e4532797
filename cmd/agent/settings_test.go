package main

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func parsed(t *testing.T, environment map[string]string, args ...string) (*settings, error) {
	t.Helper()
	return parse(args, func(name string) (string, bool) {
		value, set := environment[name]
		return value, set
	}, io.Discard)
}

func TestEachFlagIsReadFromTheEnvironmentToo(t *testing.T) {
	s, err := parsed(t, map[string]string{"KCP_ADDR": "listener.example.com:443", "KCP_CONTRACT": "v1", "WEBHOOK_PORT": "1", "PROBE_PORT": "2", "QUEUE_SIZE": "3", "STOP_TIMEOUT": "4s"},
		"--probe-port", "5")
	require.NoError(t, err)
	require.Equal(t, "listener.example.com:443", s.listener)
	require.Equal(t, "v1", s.contract)
	require.Equal(t, 1, s.port)
	require.Equal(t, 5, s.probePort, "a flag overrides the environment")
	require.Equal(t, 2112, s.metricsPort)
	require.Equal(t, 3, s.queueSize)
	require.Equal(t, 4*time.Second, s.stopAfter)
	require.Equal(t, "/app/etc/ssl/tls.crt", s.files.Certificate)
	require.Equal(t, "/app/etc/ssl/tls.key", s.files.Key)
	require.Equal(t, "/app/etc/ssl/ca.crt", s.files.Authorities)
}

func TestInvalidSettingsAreRefused(t *testing.T) {
	for wanted, args := range map[string][]string{
		"is missing":                 {},
		"must be host:port":          {"--listener-address", "listener"},
		"must end with a port":       {"--listener-address", "listener:https"},
		"must be v1 or v2":           {"--listener-address", "a:1", "--contract", "v3"},
		"between 1 and 65535":        {"--listener-address", "a:1", "--metrics-port", "0"},
		"must be above zero":         {"--listener-address", "a:1", "--report-timeout", "0s"},
		"between 1 and 100000":       {"--listener-address", "a:1", "--queue-size", "0"},
		"unknown name":               {"--listener-address", "a:1", "--log-level", "loud"},
		"unknown flag":               {"--no-such-flag"},
		"unexpected argument":        {"--listener-address", "a:1", "b"},
		"environment variable QUEUE": nil,
	} {
		environment := map[string]string{}
		if args == nil {
			environment["QUEUE_SIZE"] = "many"
		}
		_, err := parsed(t, environment, args...)
		require.ErrorContains(t, err, wanted)
	}
	_, err := parsed(t, nil, "--help")
	require.ErrorIs(t, err, errHelp)
}
