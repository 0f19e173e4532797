package artifacts

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
)

// errDockerConfig never quotes the content.
var errDockerConfig = errors.New("the docker config cannot be parsed")

// dockerAuth is one entry of a docker config, as in a Secret of type kubernetes.io/dockerconfigjson.
type dockerAuth struct {
	Username      string `json:"username"`
	Password      string `json:"password"`
	Auth          string `json:"auth"`
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// keychain has credentials by registry, or by registry and path, the longest that fits first.
type keychain map[string]authn.AuthConfig

// KeychainFromDockerConfig makes a keychain of the content of a docker config (`.dockerconfigjson`). Credential
// helpers in it are ignored: they are programs. An entry's credentials go to its own host only.
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

// normalized takes off what docker configs traditionally put around a registry's name.
func normalized(address string) string {
	address = strings.TrimPrefix(strings.TrimPrefix(address, "https://"), "http://")
	address = strings.TrimRight(address, "/")
	address = strings.TrimSuffix(strings.TrimSuffix(address, "/v1"), "/v2")
	if address == "docker.io" {
		return "index.docker.io"
	}
	return address
}
