package clusters

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

// Validity is for how long credentials are valid, by what they say of themselves. The zero value says nothing: passwords,
// and tokens that are no JSON Web Tokens or have no end.
type Validity struct {
	// Of is what is valid for so long: "client certificate" or "token".
	Of string
	// From is zero where it is not said.
	From, Until time.Time
}

// Expiry is how near the end of credentials is. Its values are those of a metric's label (docs/contract.md#metrics).
type Expiry string

const (
	// ExpiryUnknown: they do not say for how long they are valid.
	ExpiryUnknown Expiry = "Unknown"
	// ExpiryLater: they are not to be renewed yet.
	ExpiryLater Expiry = "Later"
	// ExpirySoon: they should have been renewed by now; see At.
	ExpirySoon Expiry = "Soon"
	// Expired: they are no longer valid.
	Expired Expiry = "Expired"
)

// Expiries are all that there are.
func Expiries() []Expiry { return []Expiry{ExpiryUnknown, ExpiryLater, ExpirySoon, Expired} }

const (
	// soonest is the time before their end from which on credentials are to be renewed, however long they are valid.
	soonest = 7 * 24 * time.Hour
	// renewedWithin is the part of their lifetime that is left at the least when those are renewed that live for hours:
	// who rotates them does it after a half or three quarters of it.
	renewedWithin = 0.2
)

// At says how near the end is: Soon is less than seven days before it, and less than a fifth of the whole lifetime, so
// that credentials that are rotated every hour count only where their rotation is late.
func (v Validity) At(now time.Time) Expiry {
	left := v.Until.Sub(now)
	switch {
	case v.Until.IsZero():
		return ExpiryUnknown
	case left <= 0:
		return Expired
	case left < soonest && (v.From.IsZero() || left < time.Duration(renewedWithin*float64(v.Until.Sub(v.From)))):
		return ExpirySoon
	}
	return ExpiryLater
}

// ValidityOf is for how long the credentials of a configuration are valid: of a client certificate and a token, that
// which ends first.
func ValidityOf(config *rest.Config) Validity {
	certificate, token := ofCertificate(config.CertData), ofToken(config.BearerToken)
	if certificate.Until.IsZero() || !token.Until.IsZero() && token.Until.Before(certificate.Until) {
		return token
	}
	return certificate
}

func ofCertificate(data []byte) Validity {
	certificate := Leaf(data)
	if certificate == nil {
		return Validity{}
	}
	return Validity{Of: "client certificate", From: certificate.NotBefore, Until: certificate.NotAfter}
}

// Leaf is the first certificate of PEM data, nil where there is none.
func Leaf(data []byte) *x509.Certificate {
	certificates, err := cert.ParseCertsPEM(data)
	if err != nil {
		return nil
	}
	return certificates[0]
}

// ofToken reads what a token says of itself, which is not verified: the cluster decides.
func ofToken(token string) Validity {
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil || claims.ExpiresAt == nil {
		return Validity{}
	}
	v := Validity{Of: "token", Until: claims.ExpiresAt.Time}
	if claims.IssuedAt != nil {
		v.From = claims.IssuedAt.Time
	}
	return v
}

// expiredError is the answer to a request with credentials that the cluster refuses and that are no longer valid. The
// cluster says only that it refuses them.
type expiredError struct{ Validity }

func (e *expiredError) Error() string {
	return fmt.Sprintf("the %s in the access Secret expired at %s", e.Of, e.Until.UTC().Format(time.RFC3339))
}

// Validities are for how long the credentials are valid with which remote clusters are accessed at present, by the
// Kyma. Clusters that this process has not used for a while are not among them (Limits.IdleAfter).
func (r *Registry) Validities() map[types.NamespacedName]Validity {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[types.NamespacedName]Validity, r.cache.Len())
	for _, key := range r.cache.Keys() {
		if e, ok := r.cache.Peek(key); ok {
			all[key] = e.cluster.Validity
		}
	}
	return all
}
