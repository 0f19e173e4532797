package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
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
		f := &flags{registryFlags: registryFlags{registryHost: given, registrySubpath: "modules"}}
		require.NoError(t, f.readRegistryHost(), given)
		require.Equal(t, want.plain, f.plainHTTPHosts, given)
		if given != "" {
			require.Equal(t, want.repository, f.descriptorRepository())
		}
		require.NoError(t, f.readRegistryHost(), "twice is as once")
	}
	for _, given := range []string{"ftp://registry.example.com", "http://", "https://user:secret@registry.example.com"} {
		err := (&flags{registryFlags: registryFlags{registryHost: given}}).readRegistryHost()
		require.ErrorContains(t, err, "must be a host", given)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestTheRegistryIsThatOfTheCredentialsOrOneOfThem(t *testing.T) {
	for name, test := range map[string]struct {
		flag, config, host string
		plain              []string
		fails              string
	}{
		"the only entry":               {config: `{"auths":{"registry.example.com":{}}}`, host: "registry.example.com"},
		"without TLS":                  {config: `{"auths":{"http://registry.example.com:5000":{}}}`, host: "registry.example.com:5000", plain: []string{"registry.example.com:5000"}},
		"with TLS and a path":          {config: `{"auths":{"https://registry.example.com/team/":{}}}`, host: "registry.example.com/team"},
		"as Docker writes it":          {config: `{"auths":{"https://index.docker.io/v1/":{}}}`, host: "index.docker.io"},
		"a path that ends like an API": {config: `{"auths":{"registry.example.com/modules/v2":{}}}`, host: "registry.example.com/modules/v2"},
		"the flag, if it is the same":  {flag: "registry.example.com/team", config: `{"auths":{"https://registry.example.com":{}}}`, host: "registry.example.com/team"},
		"the flag, of several":         {flag: "http://b.example.com", config: `{"auths":{"a.example.com":{},"b.example.com":{}}}`, host: "b.example.com", plain: []string{"b.example.com"}},
		"the flag, by another name":    {flag: "docker.io", config: `{"auths":{"https://index.docker.io/v1/":{}}}`, host: "docker.io"},
		"no entry":                     {config: `{"auths":{}}`, fails: "it has 0 entries in auths of .dockerconfigjson, and must have one"},
		"two entries":                  {config: `{"auths":{"a.example.com":{},"b.example.com":{}}}`, fails: "it has 2 entries in auths of .dockerconfigjson, and must have one"},
		"an entry without a name":      {config: `{"auths":{"":{}}}`, fails: "the only entry in auths of .dockerconfigjson names no registry"},
		"an entry with a password":     {config: `{"auths":{"https://user:hidden@registry.example.com":{}}}`, fails: "the registry in it must be a host, with http:// before it where it is spoken to without TLS, and without credentials"},
		"a contradiction":              {flag: "other.example.com", config: `{"auths":{"registry.example.com":{}}}`, fails: "it has no credentials for other.example.com, which --oci-registry-host names"},
		"no docker config":             {config: `{"auths":[]`, fails: "the docker config cannot be parsed"},
		"another kind of Secret":       {fails: "it has no key .dockerconfigjson"},
		"no Secret":                    {config: "missing", fails: `secrets "creds" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			builder := fake.NewClientBuilder()
			if test.config != "missing" {
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "creds"}, Data: map[string][]byte{}}
				if test.config != "" {
					secret.Data[corev1.DockerConfigJsonKey] = []byte(test.config)
				}
				builder.WithObjects(secret)
			}
			secrets := builder.Build()
			f := &flags{registryFlags: registryFlags{registryHost: test.flag, registrySecret: "creds", registrySubpath: "modules"}}
			require.NoError(t, f.readRegistryHost())
			err := f.takeRegistry(t.Context(), secrets)
			if test.fails != "" {
				require.ErrorContains(t, err, "--oci-registry-cred-secret kcp-system/creds: ")
				require.ErrorContains(t, err, test.fails)
				require.NotContains(t, err.Error(), "hidden")
				return
			}
			require.NoError(t, err)
			require.NoError(t, f.takeRegistry(t.Context(), secrets), "twice is as once")
			require.Equal(t, test.host, f.registryHost)
			require.Equal(t, test.plain, f.plainHTTPHosts)
			require.Equal(t, test.host+"/modules", f.settings.DescriptorRepository)
			f.allowedRegistries = []string{"allowed.example.com"}
			allowed, err := allowedRegistries(f)
			require.NoError(t, err)
			_, ok := allowed.Has(f.registryHost)
			require.True(t, ok)
		})
	}
	f := &flags{}
	require.NoError(t, f.takeRegistry(t.Context(), nil))
	require.Empty(t, f.settings.DescriptorRepository)
}

func TestLayersMayComeFromTheRegistriesOfAllSettings(t *testing.T) {
	for name, test := range map[string]struct {
		flags *flags
		want  artifacts.Registries
	}{
		"any where none is listed": {flags: &flags{registryFlags: registryFlags{registryHost: "own.example.com"}, trustFlags: trustFlags{remoteTemplateRegistries: []string{"users.example.com"}}}},
		"those of other settings besides": {
			flags: &flags{registryFlags: registryFlags{allowedRegistries: []string{"b.example.com", "a.example.com:5000"}, registryHost: "own.example.com/path"}, trustFlags: trustFlags{remoteTemplateRegistries: []string{"users.example.com"}}},
			want:  artifacts.Registries{"a.example.com:5000", "b.example.com", "own.example.com", "users.example.com"},
		},
	} {
		got, err := allowedRegistries(test.flags)
		require.NoError(t, err, name)
		require.Equal(t, test.want, got, name)
	}
	_, err := allowedRegistries(&flags{registryFlags: registryFlags{allowedRegistries: []string{"https://a.example.com"}}})
	require.ErrorContains(t, err, `--oci-registry-allowed: "https://a.example.com" is not the host of a registry`)
}
