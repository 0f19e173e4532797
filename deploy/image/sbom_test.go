package main

import (
	"runtime/debug"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"
)

func TestSBOMListsLinkedModules(t *testing.T) {
	document := document(minimal, v1.Platform{OS: "linux", Architecture: "amd64"}, minimalRelease, &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Deps: []*debug.Module{
			{Path: "ocm.software/ocm", Version: "v0.40.0", Replace: &debug.Module{Path: "github.com/open-component-model/ocm", Version: "v0.48.0"}},
			{Path: "example.com/ours", Version: "v0.0.0", Replace: &debug.Module{Path: "../..", Version: "(devel)"}},
			{Path: "example.com/big", Version: "v68.0.0+incompatible"},
		},
	}, "abc")
	require.Subset(t, namesOf(document), []string{
		"github.com/kyma-project/lifecycle-manager 1.2.3", "stdlib 1.26.8",
		"github.com/open-component-model/ocm v0.48.0", "example.com/ours 1.2.3", "example.com/big v68.0.0+incompatible",
	})
	var locators []string
	for _, p := range document.Packages {
		locators = append(locators, p.PackageExternalReferences[0].Locator)
	}
	require.Contains(t, locators, "pkg:golang/example.com/big@v68.0.0%2Bincompatible")
	require.Equal(t, "2026-01-02T03:04:05Z", document.CreationInfo.Created)
}
