package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts"
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

func TestLayersMayComeFromTheRegistriesOfAllSettings(t *testing.T) {
	for name, test := range map[string]struct {
		flags *flags
		want  artifacts.Registries
	}{
		"any where none is listed": {flags: &flags{registryHost: "own.example.com", remoteTemplateRegistries: []string{"users.example.com"}}},
		"those of other settings besides": {
			flags: &flags{allowedRegistries: []string{"b.example.com", "a.example.com:5000"}, registryHost: "own.example.com/path", remoteTemplateRegistries: []string{"users.example.com"}},
			want:  artifacts.Registries{"a.example.com:5000", "b.example.com", "own.example.com", "users.example.com"},
		},
	} {
		got, err := allowedRegistries(test.flags)
		require.NoError(t, err, name)
		require.Equal(t, test.want, got, name)
	}
	_, err := allowedRegistries(&flags{allowedRegistries: []string{"https://a.example.com"}})
	require.ErrorContains(t, err, `--oci-registry-allowed: "https://a.example.com" is not the host of a registry`)
}
