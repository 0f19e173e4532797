package clusters

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func certificateOf(t *testing.T, from, until time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func tokenOf(t *testing.T, claims jwt.RegisteredClaims) string {
	t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte("not for anybody's use"))
	require.NoError(t, err)
	return token
}

func TestValidityComesFromTheCredentials(t *testing.T) {
	t.Parallel()
	hour, day := begin.Add(time.Hour), begin.AddDate(0, 0, 1)
	hourly := tokenOf(t, jwt.RegisteredClaims{IssuedAt: jwt.NewNumericDate(begin), ExpiresAt: jwt.NewNumericDate(hour)})
	for name, test := range map[string]struct {
		config rest.Config
		want   Validity
	}{
		"a client certificate":                 {rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: certificateOf(t, begin, day)}}, Validity{"client certificate", begin, day}},
		"a token":                              {rest.Config{BearerToken: hourly}, Validity{"token", begin, hour}},
		"a token without a begin":              {rest.Config{BearerToken: tokenOf(t, jwt.RegisteredClaims{ExpiresAt: jwt.NewNumericDate(hour)})}, Validity{"token", time.Time{}, hour}},
		"both, the token expires first":        {rest.Config{BearerToken: hourly, TLSClientConfig: rest.TLSClientConfig{CertData: certificateOf(t, begin, day)}}, Validity{"token", begin, hour}},
		"both, the token expires last":         {rest.Config{BearerToken: hourly, TLSClientConfig: rest.TLSClientConfig{CertData: certificateOf(t, begin, begin.Add(time.Minute))}}, Validity{"client certificate", begin, begin.Add(time.Minute)}},
		"a token that does not expire":         {rest.Config{BearerToken: tokenOf(t, jwt.RegisteredClaims{})}, Validity{}},
		"a token that is not a JSON Web Token": {rest.Config{BearerToken: "a.b.c"}, Validity{}},
		"a password":                           {rest.Config{Username: "a", Password: "b"}, Validity{}},
	} {
		found := ValidityOf(&test.config)
		require.Equal(t, test.want.Of, found.Of, name)
		require.True(t, test.want.From.Equal(found.From), name)
		require.True(t, test.want.Until.Equal(found.Until), name)
	}
}

func TestExpiryDependsOnTheLifetime(t *testing.T) {
	t.Parallel()
	year := Validity{Of: "client certificate", From: begin, Until: begin.AddDate(1, 0, 0)}
	hour := Validity{Of: "token", From: begin, Until: begin.Add(time.Hour)}
	for name, test := range map[string]struct {
		of   Validity
		left time.Duration
		want Expiry
	}{
		"eight days of a year":       {year, 8 * 24 * time.Hour, ExpiryLater},
		"six days of a year":         {year, 6 * 24 * time.Hour, ExpirySoon},
		"no time of a year":          {year, 0, Expired},
		"a quarter of an hour":       {hour, 15 * time.Minute, ExpiryLater},
		"ten minutes of an hour":     {hour, 10 * time.Minute, ExpirySoon},
		"an hour of an unknown time": {Validity{Until: hour.Until}, time.Hour, ExpirySoon},
	} {
		require.Equal(t, test.want, test.of.At(test.of.Until.Add(-test.left)), name)
	}
	require.Equal(t, ExpiryUnknown, Validity{}.At(begin))
}

// A 401 alone does not show the remedy. An expiry in the past does.
func TestA401NamesAnExpiredCredential(t *testing.T) {
	t.Parallel()
	registry, cp := newRegistry(t, func(o *Options) { o.Clock = func() time.Time { return begin.Add(2 * time.Hour) } })
	server := newRemote(t)
	kubeconfig := func(until time.Time) []byte {
		config, err := clientcmd.Load(server.kubeconfig(t))
		require.NoError(t, err)
		config.AuthInfos["u"].Token = tokenOf(t, jwt.RegisteredClaims{ExpiresAt: jwt.NewNumericDate(until)})
		raw, err := clientcmd.Write(*config)
		require.NoError(t, err)
		return raw
	}
	server.status.Store(http.StatusUnauthorized)
	for version, test := range map[string]struct {
		until time.Time
		want  string
	}{
		"1": {begin.Add(time.Hour), "the token in the access Secret expired at 2026-01-01T01:00:00Z"},
		"2": {begin.Add(3 * time.Hour), "the cluster does not accept our credentials: the server has asked for the client to provide credentials (get configmaps)"},
	} {
		cp.set(accessSecret("ns", "a", "a", version, kubeconfig(test.until)))
		cluster, err := registry.ForKyma(t.Context(), "ns", "a")
		require.NoError(t, err)
		require.True(t, test.until.Equal(registry.Validities()[types.NamespacedName{Namespace: "ns", Name: "a"}].Until))
		found := fault.Of(Classify(listOnce(t.Context(), cluster)))
		require.Equal(t, fault.Unreachable, found.Kind)
		require.Equal(t, ReasonUnreachableUnauthorized, found.Reason)
		require.Equal(t, test.want, found.Message)
	}
}
