package clusters

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"

	"k8s.io/client-go/rest"
)

const (
	// minMasked is the length of the shortest credential that is masked. Shorter ones occur in ordinary words.
	minMasked = 6
	// maxErrorBytes is the greatest part of an error's body that is passed on.
	maxErrorBytes = 64 << 10
)

// masks holds the credentials of a cluster that must not appear in its errors, because errors get into logs, statuses
// and workflow histories.
type masks [][]byte

func masksOf(config *rest.Config) masks {
	var found masks
	for _, secret := range []string{
		config.BearerToken, config.Password,
		base64.StdEncoding.EncodeToString([]byte(config.Username + ":" + config.Password)),
	} {
		if len(secret) >= minMasked {
			found = append(found, []byte(secret))
		}
	}
	return found
}

// apply truncates and masks responses that client-go may turn into an error: every unsuccessful response, and a Status
// in a successful one. Unsuccessful responses are truncated even without credentials to mask, for example with a client
// certificate.
func (m masks) apply(res *http.Response) {
	switch {
	case res.StatusCode < http.StatusOK || res.StatusCode > http.StatusPartialContent:
		m.applyToError(res)
	case len(m) > 0:
		res.Body = &maskedBody{ReadCloser: res.Body, masks: m}
	}
}

// applyToError truncates and masks the body of an error. It also removes the target of a redirect: redirects are never
// followed, but errors may quote the target.
func (m masks) applyToError(res *http.Response) {
	res.Header.Del("Location")
	body := res.Body
	content, err := io.ReadAll(io.LimitReader(body, maxErrorBytes))
	_ = body.Close()
	res.Body = io.NopCloser(bytes.NewReader(m.mask(content)))
	if err != nil {
		res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(content), failing{err}))
	}
	if res.ContentLength > int64(len(content)) {
		res.ContentLength = int64(len(content))
		res.Header.Del("Content-Length")
	}
}

// mask masks content in place and keeps its length, because some formats count bytes.
func (m masks) mask(content []byte) []byte {
	for _, secret := range m {
		copy(content, bytes.ReplaceAll(content, secret, bytes.Repeat([]byte{'*'}, len(secret))))
	}
	return content
}

// in reports whether content contains any of the credentials.
func (m masks) in(content []byte) bool {
	return slices.ContainsFunc(m, func(secret []byte) bool { return bytes.Contains(content, secret) })
}

// maskedBody is the body of a successful response. A small Status is masked, because it may report a failure. Other
// content stays unchanged, because an object may legitimately contain the credentials.
type maskedBody struct {
	io.ReadCloser
	masks masks
	begin io.Reader
}

func (b *maskedBody) Read(p []byte) (int, error) {
	if b.begin == nil {
		content, err := io.ReadAll(io.LimitReader(b.ReadCloser, maxErrorBytes+1))
		if len(content) <= maxErrorBytes && b.masks.in(content) && mayBeStatus(content) {
			content = b.masks.mask(content)
		}
		b.begin = io.MultiReader(bytes.NewReader(content), b.ReadCloser)
		if err != nil {
			b.begin = io.MultiReader(bytes.NewReader(content), failing{err})
		}
	}
	return b.begin.Read(p)
}

// protobuf is the prefix of objects in protobuf.
const protobuf = "k8s\x00"

// mayBeStatus reports whether a body is a Status, or is unreadable, so that an error may quote it.
func mayBeStatus(content []byte) bool {
	const status = "Status"
	if bytes.HasPrefix(content, []byte(protobuf)) {
		return bytes.Contains(content, []byte(status))
	}
	var object struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(content, &object) != nil || object.Kind == status
}

// failing is a reader that returns the error of a body.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
