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

// Validity is the period in which credentials are valid, by their own content. The zero value means unknown: passwords,
// and tokens that are not JSON Web Tokens or do not expire.
type Validity struct {
	// Of names the credential with this period: "client certificate" or "token".
	Of string
	// From is zero if it is unknown.
	From, Until time.Time
}

// Expiry says how close the end of credentials is. Its values are the values of a metric's label
// (docs/contract.md#metrics).
type Expiry string

const (
	// ExpiryUnknown: the credentials have no known end.
	ExpiryUnknown Expiry = "Unknown"
	// ExpiryLater: the credentials need no renewal yet.
	ExpiryLater Expiry = "Later"
	// ExpirySoon: the credentials should have been renewed by now; see At.
	ExpirySoon Expiry = "Soon"
	// Expired: the credentials are no longer valid.
	Expired Expiry = "Expired"
)

// Expiries returns all values.
func Expiries() []Expiry { return []Expiry{ExpiryUnknown, ExpiryLater, ExpirySoon, Expired} }

const (
	// soonest is the remaining time below which credentials should be renewed, even if they live for long.
	soonest = 7 * 24 * time.Hour
	// renewedWithin is the remaining part of their lifetime below which short-lived credentials should be renewed.
	// Rotation usually happens after a half or three quarters of the lifetime.
	renewedWithin = 0.2
)

// At returns how close the end is. Soon means less than seven days, and less than a fifth of the whole lifetime, so
// that credentials with an hourly rotation count only if their rotation is late.
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

// ValidityOf returns the validity of a configuration's credentials. If there is a client certificate and a token, the
// one that expires first counts.
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

// Leaf returns the first certificate of PEM data, or nil if there is none.
func Leaf(data []byte) *x509.Certificate {
	certificates, err := cert.ParseCertsPEM(data)
	if err != nil {
		return nil
	}
	return certificates[0]
}

// ofToken reads the token's own claims without verification, because the cluster decides.
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

// expiredError is the error of a request with expired credentials that the cluster refuses. The cluster only says that
// it refuses them.
type expiredError struct{ Validity }

func (e *expiredError) Error() string {
	return fmt.Sprintf("the %s in the access Secret expired at %s", e.Of, e.Until.UTC().Format(time.RFC3339))
}

// Validities returns the validity of the credentials of the cached remote clusters, by Kyma. It omits clusters that
// this process has not used for a while (Limits.IdleAfter).
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
