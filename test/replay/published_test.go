package replay

import (
	"encoding/base64"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// unpublished is what no history says, in plain text or in a payload: histories are published with the code.
var unpublished = map[string]*regexp.Regexp{
	"a key or certificate":        regexp.MustCompile(`-{5}BEGIN|LS0tLS1CRUdJT`),
	"a token":                     regexp.MustCompile(`(?i)\beyJ[\w-]+\.[\w-]+\.|bearer [\w-]`),
	"a credential of a test":      regexp.MustCompile(regexp.QuoteMeta(harness.Planted)),
	"a kubeconfig":                regexp.MustCompile(`current-context|client-(key|certificate)(-data)?\b|"kubeconfig"`),
	"the body of an object":       regexp.MustCompile(`"apiVersion"|apiVersion:`),
	"a folder of this machine":    regexp.MustCompile(`(^|[\s"'=:(,])/(tmp|home|root|work|var|Users|private|build|builds|opt|mnt)/`),
	"an address beyond loopback":  regexp.MustCompile(`\b(10|172\.(1[6-9]|2\d|3[01])|192\.168)(\.\d{1,3}){2,3}\b`),
	"a process and where it runs": regexp.MustCompile(`"identity": *"[^"]*"|"name": *"[^":]*:[0-9a-f]{8}-[0-9a-f-]+"`),
}

// process is who did something: a process of some number on no machine in particular, and its build, or the server itself;
// and the queue of such a process. Earlier recorders left the name of a virtual machine in the latter.
var process = regexp.MustCompile(`^"(identity": *"(\d+@recorder@[\w.+-]*|history-service|)|name": *"(recorder|vm):[0-9a-f-]+)"$`)

// payloads are what workflows, activities and signals were given and have answered.
var payloads = regexp.MustCompile(`"data": *"([^"]*)"`)

// findings are what a history says that must not be published.
func findings(t *testing.T, content string) []string {
	t.Helper()
	text := content
	for _, payload := range payloads.FindAllStringSubmatch(content, -1) {
		decoded, err := base64.StdEncoding.DecodeString(payload[1])
		require.NoError(t, err)
		text += "\n" + string(decoded)
	}
	var found []string
	for what, pattern := range unpublished {
		for _, match := range pattern.FindAllString(text, -1) {
			if !process.MatchString(match) {
				found = append(found, what+": "+match)
			}
		}
	}
	return found
}

func TestHistoriesSayNothingOfTheMachineThatRecordedThemAndNoSecret(t *testing.T) {
	for _, file := range recorded(t, "histories") {
		content, err := histories.ReadFile(file)
		require.NoError(t, err)
		require.Empty(t, findings(t, string(content)), file)
	}
}

func TestWhatMustNotBePublishedIsFound(t *testing.T) {
	payload := func(text string) string {
		return `"data": "` + base64.StdEncoding.EncodeToString([]byte(text)) + `"`
	}
	certificate := base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----"))
	for _, secret := range []string{
		"-----BEGIN PRIVATE KEY-----", certificate, "Authorization: Bearer abc", "eyJhbGciOiJSUzI1NiJ9.eyJzdWIi.x", harness.Planted + "-token",
		`{"current-context":"c"}`, "client-key-data: abc", "apiVersion: v1", "open /tmp/x/kubeconfig.yaml: no such file", `{"path":"/home/me/x"}`,
		"dial tcp 10.0.0.7:6443: connection refused", "https://192.168.1.2",
	} {
		require.NotEmpty(t, findings(t, payload(secret)), secret)
		require.NotEmpty(t, findings(t, secret), secret)
	}
	require.NotEmpty(t, findings(t, `"identity": "1@machine@0.1.0"`))
	require.NotEmpty(t, findings(t, `"name": "machine:94a1d5c4-3db7-4364-813d-d88e7a38d5cc"`))
	require.Empty(t, findings(t, `"identity": "1@recorder@0.1.0", "name": "recorder:94a1d5c4-3db7-4364-813d-d88e7a38d5cc", `+payload(`{"message":"dial tcp 127.0.0.1:6443: connection refused","next":"waiting for kyma-system/tmp"}`)))
}
