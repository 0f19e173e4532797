package clusters

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"

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

// apply masks the body of an error, without changing its length: it may be in a format that counts bytes.
func (m masks) apply(res *http.Response) {
	body := res.Body
	content, err := io.ReadAll(io.LimitReader(body, maxErrorBytes))
	_ = body.Close()
	for _, secret := range m {
		content = bytes.ReplaceAll(content, secret, bytes.Repeat([]byte{'*'}, len(secret)))
	}
	res.Body = io.NopCloser(bytes.NewReader(content))
	if err != nil {
		res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(content), failing{err}))
	}
	if res.ContentLength > int64(len(content)) {
		res.ContentLength = int64(len(content))
		res.Header.Del("Content-Length")
	}
}

// failing is the error that a body ended with.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
