package bundle

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.temporal.io/sdk/contrib/envconfig"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	redacted = "REDACTED"
	// minSecret is the shortest secret that is searched for. Shorter ones occur in ordinary words.
	minSecret = 6
	// minUnknown is the shortest part of a text of unknown form that counts as a secret.
	minUnknown = 16
)

// redactor removes secrets from texts: known secrets, and texts that have the form of a secret.
type redactor struct {
	known *strings.Replacer
	forms []form
}

// newRedactor returns a redactor for these secrets, in plain text and in base64.
func newRedactor(secrets []string) *redactor {
	written := map[string]bool{}
	for _, secret := range secrets {
		secret = strings.TrimSpace(secret)
		if len(secret) < minSecret {
			continue
		}
		raw := []byte(secret)
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw), quoted(secret)} {
			written[form] = true
		}
	}
	all := make([]string, 0, len(written))
	for form := range written {
		all = append(all, form)
	}
	// The longest come first, because one secret may begin with another.
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(all))
	for _, form := range all {
		pairs = append(pairs, form, redacted)
	}
	return &redactor{known: strings.NewReplacer(pairs...), forms: forms()}
}

// quoted returns a text as it appears in a JSON string.
func quoted(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return strings.Trim(string(encoded), `"`)
}

// secretsOf returns the secrets in a kubeconfig or a registry configuration. Of any other content it returns all longer
// texts, because it is unknown which are secret.
func secretsOf(content []byte) []string {
	if config, err := clientcmd.Load(content); err == nil && len(config.AuthInfos) > 0 {
		var found []string
		for _, user := range config.AuthInfos {
			found = append(found, user.Token, user.Password, string(user.ClientKeyData), base64.StdEncoding.EncodeToString(user.ClientKeyData),
				base64.StdEncoding.EncodeToString([]byte(user.Username+":"+user.Password)))
			if user.AuthProvider != nil {
				for _, value := range user.AuthProvider.Config {
					found = append(found, value)
				}
			}
			if user.Exec != nil {
				found = append(found, user.Exec.Args...)
				for _, variable := range user.Exec.Env {
					found = append(found, variable.Value)
				}
			}
		}
		for _, cluster := range config.Clusters {
			_, password, _ := strings.Cut(userInfo(cluster.ProxyURL), ":")
			found = append(found, password)
		}
		return found
	}
	var registries struct {
		Auths map[string]struct{ Password, Auth, IdentityToken, RegistryToken string }
	}
	if err := json.Unmarshal(content, &registries); err == nil && len(registries.Auths) > 0 {
		var found []string
		for _, each := range registries.Auths {
			found = append(found, each.Password, each.Auth, each.IdentityToken, each.RegistryToken)
			// In the output of `docker login`, only this field has the password.
			if decoded, err := base64.StdEncoding.DecodeString(each.Auth); err == nil {
				_, password, _ := strings.Cut(string(decoded), ":")
				found = append(found, string(decoded), password)
			}
		}
		return found
	}
	whole := strings.TrimSpace(string(content))
	if len(whole) < minUnknown {
		return []string{whole}
	}
	found := []string{whole}
	for _, part := range strings.FieldsFunc(whole, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'{}[],:", r) }) {
		if len(part) >= minUnknown {
			found = append(found, part)
		}
	}
	return found
}

func userInfo(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	info, _, found := strings.Cut(rest, "@")
	if !found {
		return ""
	}
	return info
}

// form is a pattern of secrets, with its replacement.
type form struct {
	pattern *regexp.Regexp
	by      string
}

// forms returns the patterns of secrets that are not known in advance.
func forms() []form {
	const name = `(?:[\w.-]*(?:password|passwd|passphrase|token|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|client[_-]?secret|client-key-data|authorization)[\w.-]*|auth)`
	return []form{
		{regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), redacted},
		{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?`), redacted},
		{regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`), "${1} " + redacted},
		{regexp.MustCompile(`(://)[^/\s:@"]*:[^/\s@"]+@`), "${1}" + redacted + "@"},
		// In JSON, and in JSON within a text.
		{regexp.MustCompile(`(?i)(\b` + name + `\\*"\s*:\s*\\*")[^"\\]*(?:\\[^"][^"\\]*)*(\\*")`), "${1}" + redacted + "${2}"},
		// In YAML, in arguments and in prose.
		{regexp.MustCompile(`(?i)(\b` + name + `\s*[:=]\s*)[^\s,;{}\[\]"\\]+`), "${1}" + redacted},
		// Long base64 texts: kubeconfigs, keys and certificates. Digests are shorter.
		{regexp.MustCompile(`[A-Za-z0-9+/]{100,}={0,2}`), redacted},
	}
}

// text removes secrets from a text.
func (r *redactor) text(content string) string {
	content = r.known.Replace(content)
	for _, each := range r.forms {
		content = each.pattern.ReplaceAllString(content, each.by)
	}
	return content
}

// keys classifies names: secret matches the names of fields with a secret, place those with the name or location of
// one, and harmless the environment variables without secrets.
type keys struct{ secret, place, harmless *regexp.Regexp }

func newKeys() keys {
	return keys{
		secret:   regexp.MustCompile(`(?i)(password|passwd|passphrase|token|secret|api[_-]?key|access[_-]?key|private[_-]?key|client-key-data|credential|authorization|dockerconfigjson|kubeconfig)`),
		place:    regexp.MustCompile(`(?i)(name|ref|refs|namespace|path|dir|file|seconds|expiration)$`),
		harmless: regexp.MustCompile(`^(TEMPORAL_ADDRESS|TEMPORAL_NAMESPACE|TEMPORAL_PROFILE|GOMEMLIMIT|GOMAXPROCS|GODEBUG|NO_COLOR|POD_\w+|MAINTENANCE_POLICY_PATH)$`),
	}
}

// object redacts the fields of an object in place: values under a key that names a secret, environment variables that
// are not known to be harmless, the configuration of modules, and copies of the object in annotations. Texts in the
// object must still go through text.
func (k keys) object(content map[string]any) {
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		}
	}
	if spec, ok := content["spec"].(map[string]any); ok {
		for _, configured := range []string{"data", "resource"} {
			if custom, ok := spec[configured].(map[string]any); ok {
				withoutContent(custom)
			}
		}
	}
	k.fields(content)
}

func (k keys) fields(value any) {
	switch value := value.(type) {
	case map[string]any:
		if name, ok := value["name"].(string); ok {
			if _, isText := value["value"].(string); isText && !k.harmless.MatchString(name) {
				value["value"] = redacted
			}
		}
		for key, each := range value {
			if _, isText := each.(string); isText && k.secret.MatchString(key) && !k.place.MatchString(key) {
				value[key] = redacted
				continue
			}
			k.fields(each)
		}
	case []any:
		for _, each := range value {
			k.fields(each)
		}
	}
}

// withoutContent reduces a custom resource to its identity. Only the module's authors know what its other fields and
// annotations contain.
func withoutContent(custom map[string]any) {
	rest := maps.Clone(custom)
	delete(rest, "apiVersion")
	delete(rest, "kind")
	if metadata, ok := rest["metadata"].(map[string]any); ok {
		delete(rest, "metadata")
		about := maps.Clone(metadata)
		for _, which := range []string{"name", "namespace", "labels"} {
			delete(about, which)
		}
		withoutTexts(about)
		maps.Copy(metadata, about)
	}
	withoutTexts(rest)
	maps.Copy(custom, rest)
}

// withoutTexts replaces all texts in a value with their length.
func withoutTexts(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, each := range value {
			if text, ok := each.(string); ok {
				value[key] = fmt.Sprintf("%s (%d characters)", redacted, len(text))
				continue
			}
			withoutTexts(each)
		}
	case []any:
		for i, each := range value {
			if text, ok := each.(string); ok {
				value[i] = fmt.Sprintf("%s (%d characters)", redacted, len(text))
				continue
			}
			withoutTexts(each)
		}
	}
}

// secretsIn returns the secrets that a process with this environment uses for Temporal: those in the environment and in
// the files that it names. If one file cannot be read, the other secrets are still returned.
func secretsIn(environment []string) ([]string, error) {
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{EnvLookup: variables(environment)})
	if err != nil {
		return nil, fmt.Errorf("read the Temporal configuration: %w", err)
	}
	found := append([]string{profile.APIKey}, slices.Collect(maps.Values(profile.GRPCMeta))...)
	if profile.Codec != nil {
		found = append(found, profile.Codec.Auth)
	}
	if profile.TLS == nil {
		return found, nil
	}
	key := profile.TLS.ClientKeyData
	if path := profile.TLS.ClientKeyPath; path != "" {
		if key, err = os.ReadFile(path); err != nil {
			err = fmt.Errorf("read the key for Temporal: %w", err)
		}
	}
	return append(found, secretsOf(key)...), err
}

// variables is an environment in the form that the SDK reads.
type variables []string

// Environ implements envconfig.EnvLookup.
func (v variables) Environ() []string { return v }

// LookupEnv implements envconfig.EnvLookup.
func (v variables) LookupEnv(name string) (string, bool) {
	for _, variable := range v {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value, true
		}
	}
	return "", false
}
