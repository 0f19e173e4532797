package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheSchemeOfTheRegistrySaysWhetherItIsSpokenToWithTLS(t *testing.T) {
	for given, want := range map[string]struct {
		repository string
		plain      []string
	}{
		"":                                 {},
		"registry.example.com":             {repository: "registry.example.com/modules"},
		"https://registry.example.com/":    {repository: "registry.example.com/modules"},
		"http://localhost:5000":            {repository: "localhost:5000/modules", plain: []string{"localhost:5000"}},
		"http://registry.example.com/kyma": {repository: "registry.example.com/kyma/modules", plain: []string{"registry.example.com"}},
	} {
		f := &flags{registryHost: given, registrySubpath: "modules"}
		require.NoError(t, f.readRegistryHost(), given)
		require.Equal(t, want.plain, f.plainHTTPHosts, given)
		if given != "" {
			require.Equal(t, want.repository, f.descriptorRepository())
		}
		require.NoError(t, f.readRegistryHost(), "twice is as once")
	}
	for _, given := range []string{"ftp://registry.example.com", "http://", "https://user:secret@registry.example.com"} {
		err := (&flags{registryHost: given}).readRegistryHost()
		require.ErrorContains(t, err, "--oci-registry-host", given)
		require.NotContains(t, err.Error(), "secret")
	}
}
