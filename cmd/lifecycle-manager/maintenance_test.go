package main

import (
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// maintenanceOf parses a command line with an environment that has at most the policy's path.
func maintenanceOf(t *testing.T, env string, args ...string) *maintenanceFlags {
	t.Helper()
	m, set := &maintenanceFlags{}, pflag.NewFlagSet("run", pflag.ContinueOnError)
	m.register(set, func(name string) string {
		require.Equal(t, "MAINTENANCE_POLICY_PATH", name)
		return env
	})
	require.NoError(t, set.Parse(args))
	require.NoError(t, m.check())
	return m
}

func TestWhereTheMaintenancePolicyIs(t *testing.T) {
	cases := map[string]struct {
		env   string
		args  []string
		path  string
		named bool
	}{
		"nobody says":                     {"", nil, "/etc/maintenance-policy/policy.json", false},
		"the environment says":            {"/env.json", nil, "/env.json", true},
		"a flag says":                     {"", []string{"--maintenance-policy-path=/flag.json"}, "/flag.json", true},
		"a flag goes before":              {"/env.json", []string{"--maintenance-policy-path=/flag.json"}, "/flag.json", true},
		"a flag says what is the default": {"", []string{"--maintenance-policy-path=/etc/maintenance-policy/policy.json"}, "/etc/maintenance-policy/policy.json", true},
		"a flag says that there is none":  {"/env.json", []string{"--maintenance-policy-path="}, "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := maintenanceOf(t, tc.env, tc.args...)
			require.Equal(t, tc.path, m.path)
			require.Equal(t, tc.named, m.named())
			require.Equal(t, 20*time.Minute, m.minSize)
		})
	}
}

func TestAPolicyThatSomebodyNamedMustBeThere(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "policy.json")
	source, err := maintenanceOf(t, missing).source(prometheus.NewRegistry(), logr.Discard())
	require.NoError(t, err)
	_, err = source.Policy()
	require.ErrorIs(t, err, fs.ErrNotExist)

	unnamed := maintenanceOf(t, "")
	unnamed.path = missing
	source, err = unnamed.source(prometheus.NewRegistry(), logr.Discard())
	require.NoError(t, err)
	policy, err := source.Policy()
	require.NoError(t, err)
	require.Nil(t, policy)
}

func TestANegativeMinimumIsRefused(t *testing.T) {
	require.ErrorContains(t, (&maintenanceFlags{minSize: -time.Second}).check(), "--min-maintenance-window-size must not be negative")
	require.Equal(t, time.Minute, maintenanceOf(t, "", "--min-maintenance-window-size=1m").minSize)
}
