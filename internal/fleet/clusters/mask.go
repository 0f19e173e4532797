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
	// minMasked is the shortest credential that is masked: shorter ones are found in ordinary words.
	minMasked = 6
	// maxErrorBytes is how much of the body of an error is passed on.
	maxErrorBytes = 64 << 10
)

// masks are the credentials that a cluster was given and that must not come back in its errors, for those end up
// in logs, statuses and workflow histories.
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

// apply cuts and masks what client-go may make an error of: the body of any answer that is no success, and a Status that
// comes with a success. There is something to cut also where there is nothing to mask, as with a client certificate.
func (m masks) apply(res *http.Response) {
	switch {
	case res.StatusCode < http.StatusOK || res.StatusCode > http.StatusPartialContent:
		m.applyToError(res)
	case len(m) > 0:
		res.Body = &maskedBody{ReadCloser: res.Body, masks: m}
	}
}

// applyToError cuts and masks the body of an error, and takes out where a redirection leads, which is never followed but may be
// quoted.
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

// mask masks content in place, without changing its length: it may be in a format that counts bytes.
func (m masks) mask(content []byte) []byte {
	for _, secret := range m {
		copy(content, bytes.ReplaceAll(content, secret, bytes.Repeat([]byte{'*'}, len(secret))))
	}
	return content
}

// in tells whether content has any of the credentials.
func (m masks) in(content []byte) bool {
	return slices.ContainsFunc(m, func(secret []byte) bool { return bytes.Contains(content, secret) })
}

// maskedBody is the body of a success. If it is a small Status it is masked, for a Status may say that the request
// failed; anything else is passed on as it is: it may be an object that holds the credentials rightly.
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

// protobuf is what objects in protobuf begin with.
const protobuf = "k8s\x00"

// mayBeStatus tells whether a body is a Status, or cannot be read, so that an error may quote it.
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

// failing is the error that a body ended with.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
