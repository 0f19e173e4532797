package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// This test is in its own package because it reads a file that Go cannot embed. Go therefore runs it again in each
// clone, and the tests next to fields.json take longer.
func TestFieldsFileHasTheVersionOfGoMod(t *testing.T) {
	content, err := os.ReadFile("../fields.json")
	require.NoError(t, err)
	var file struct {
		Version string `json:"version"`
	}
	require.NoError(t, json.Unmarshal(content, &file))
	require.NotEmpty(t, file.Version)
	requirements, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	require.Contains(t, string(requirements), "\tk8s.io/api "+file.Version+"\n",
		"fields.json is of another version of k8s.io/api than go.mod: run `make generate-fields`")
}
