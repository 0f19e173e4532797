package memfleet

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

// tokens gives each cluster a token of its own, which is worked out of the cluster's name and not remembered.
type tokens struct{ secret []byte }

func newTokens(secret []byte) (tokens, error) {
	if len(secret) > 0 {
		return tokens{secret}, nil
	}
	const enough = 32
	secret = make([]byte, enough)
	if _, err := rand.Read(secret); err != nil {
		return tokens{}, fmt.Errorf("draw a secret: %w", err)
	}
	return tokens{secret}, nil
}

func (t tokens) of(name string) string {
	mac := hmac.New(sha256.New, t.secret)
	// A hash.Hash never returns an error from Write.
	_, _ = mac.Write([]byte(name))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// allows reports whether a request has the token of a cluster.
func (t tokens) allows(req *http.Request, name string) bool {
	given, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	return ok && hmac.Equal([]byte(given), []byte(t.of(name)))
}

// Token is what lets a client into a cluster.
func (f *Fleet) Token(number int) string { return f.tokens.of(Name(number)) }
