package artifacts

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
)

// errDockerConfig must not quote the content.
var errDockerConfig = errors.New("the docker config cannot be parsed")

// dockerAuth is one entry of a docker config, as in a Secret of type kubernetes.io/dockerconfigjson.
type dockerAuth struct {
	Username      string `json:"username"`
	Password      string `json:"password"`
	Auth          string `json:"auth"`
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// keychain maps registries, or registries with a path, to credentials. The longest match wins.
type keychain map[string]authn.AuthConfig

// KeychainFromDockerConfig returns a keychain with the credentials of a docker config (`.dockerconfigjson`). It ignores
// credential helpers, because they are programs. It sends the credentials of an entry to the entry's host only.
func KeychainFromDockerConfig(content []byte) (authn.Keychain, error) {
	var parsed struct {
		Auths map[string]dockerAuth `json:"auths"`
	}
	if err := json.Unmarshal(content, &parsed); err != nil {
		return nil, errDockerConfig
	}
	k := keychain{}
	for address, entry := range parsed.Auths {
		config := authn.AuthConfig{
			Username: entry.Username, Password: entry.Password,
			IdentityToken: entry.IdentityToken, RegistryToken: entry.RegistryToken,
		}
		if entry.Auth != "" && config.Username == "" {
			decoded, err := base64.StdEncoding.DecodeString(entry.Auth)
			name, password, found := strings.Cut(string(decoded), ":")
			if err != nil || !found {
				return nil, errDockerConfig
			}
			config.Username, config.Password = name, strings.TrimRight(password, "\x00")
		}
		k[normalized(address)] = config
	}
	return k, nil
}

// DockerConfigRegistries returns the registries of a docker config (`.dockerconfigjson`) as the config writes them,
// sorted.
func DockerConfigRegistries(content []byte) ([]string, error) {
	var parsed struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	if err := json.Unmarshal(content, &parsed); err != nil {
		return nil, errDockerConfig
	}
	return slices.Sorted(maps.Keys(parsed.Auths)), nil
}

// HostOf returns the host of an entry of a docker config, in the form in which other code names registries.
func HostOf(entry string) string {
	host, _, _ := strings.Cut(withoutScheme(entry), "/")
	return strings.ToLower(normalized(host))
}

// AddressOf returns the address of the registry of a docker config's entry, with its scheme and path. It removes the
// API version that Docker writes after the host of some registries, because that is not a path.
func AddressOf(entry string) string {
	trimmed := strings.TrimRight(entry, "/")
	for _, version := range []string{"/v1", "/v2"} {
		if host, found := strings.CutSuffix(trimmed, version); found && !strings.Contains(withoutScheme(host), "/") {
			return host
		}
	}
	return entry
}

// Resolve implements authn.Keychain.
func (k keychain) Resolve(resource authn.Resource) (authn.Authenticator, error) {
	for place := resource.String(); place != ""; place = parent(place) {
		if config, ok := k[normalized(place)]; ok {
			return authn.FromConfig(config), nil
		}
	}
	return authn.Anonymous, nil
}

func parent(place string) string {
	cut := strings.LastIndex(place, "/")
	if cut < 0 {
		return ""
	}
	return place[:cut]
}

// normalized removes the scheme and the API version that docker configs traditionally add to a registry's name.
func normalized(address string) string {
	address = strings.TrimPrefix(strings.TrimPrefix(address, "https://"), "http://")
	address = strings.TrimRight(address, "/")
	address = strings.TrimSuffix(strings.TrimSuffix(address, "/v1"), "/v2")
	if address == "docker.io" {
		return "index.docker.io"
	}
	return address
}
