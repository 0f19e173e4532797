package main

import (
	"encoding/json"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheVersionIsAFlagAndACommand(t *testing.T) {
	_, asFlag, _ := call(t, "--version")
	_, asCommand, _ := call(t, "version")
	require.Equal(t, asCommand, asFlag)
	require.Equal(t, "lifecycle-manager "+version+" (commit unknown, build id "+version+", "+runtime.Version()+")\n", asFlag)

	_, asJSON, _ := call(t, "version", "-o", "json")
	var said map[string]any
	require.NoError(t, json.Unmarshal([]byte(asJSON), &said))
	require.Equal(t, version, said["version"])
	require.Equal(t, "unknown", said["commit"])
	require.Equal(t, runtime.GOOS+"/"+runtime.GOARCH, said["platform"])
	code, _, problems := call(t, "version", "-o", "xml")
	require.Equal(t, exitUsage, code, problems)
}

func TestTheBuildIDDistinguishesCommitsOfOneVersion(t *testing.T) {
	require.Equal(t, "0.0.0-dev", buildID("0.0.0-dev", "unknown"))
	require.Equal(t, "1.2.3-0123456789ab", buildID("1.2.3", "0123456789abcdef0123456789abcdef01234567"))
	require.Equal(t, "1.2.3-0123456789ab-dirty", buildID("1.2.3", "0123456789abcdef0123456789abcdef01234567-dirty"))
	require.Equal(t, "1.2.3-abc", buildID("1.2.3", "abc"))
}

func TestTemporalIsToldWhichBuildAProcessIs(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Regexp(t, `^\d+@`+host+`@0\.0\.0-dev$`, identity())
}
