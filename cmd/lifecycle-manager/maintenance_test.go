package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
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

func TestACommandPlansWithThePolicyOfTheInstance(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"rules":[],"default":{"begin":"01:00:00+00:00","end":"03:00:00+00:00","days":["Sat"]}}`), 0o600))
	given := maintenanceOf(t, "", "--maintenance-policy-path="+file)
	source, err := given.asRecorded(nil)
	require.NoError(t, err)
	digest := source.Digest()
	require.NotEmpty(t, digest)
	record := func(digest string) *corev1.ConfigMap {
		record := recordedBy(t, "kcp-system")
		record.Data[agreement.SettingPolicy] = digest
		return record
	}
	for name, test := range map[string]struct {
		flags    *maintenanceFlags
		recorded string
		digest   string
	}{
		"a policy that is given counts":              {given, "another", digest},
		"and so if the instance has none":            {given, "", digest},
		"neither has one":                            {maintenanceOf(t, ""), "", ""},
		"a file at the default path, as in the pods": {&maintenanceFlags{path: file, named: func() bool { return false }}, digest, digest},
		"a file that the instance does not have":     {&maintenanceFlags{path: file, named: func() bool { return false }}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			source, err := test.flags.asRecorded(record(test.recorded))
			require.NoError(t, err)
			require.Equal(t, test.digest, source.Digest())
		})
	}
	_, err = maintenanceOf(t, "").asRecorded(record(digest))
	require.ErrorContains(t, err, "--maintenance-policy-path is missing: the instance has a maintenance policy")
	_, err = maintenanceOf(t, "").asRecorded(nil)
	require.NoError(t, err, "nobody knows whether it has one")
}
