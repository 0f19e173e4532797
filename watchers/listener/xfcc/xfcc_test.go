package xfcc

import (
	"encoding/pem"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/agenttest"
)

// encoded returns a certificate as Envoy writes it.
func encoded(certificate []byte) string {
	return strings.ReplaceAll(url.QueryEscape(string(certificate)), "+", "%20")
}

func certificate(t testing.TB, name string) string {
	t.Helper()
	issued, _ := agenttest.NewAuthority(t, "authority").Issue(name)
	return encoded(issued)
}

func TestTheNearestProxysCertificateCounts(t *testing.T) {
	agent, smuggled := certificate(t, "agent"), certificate(t, "smuggled")
	for name, header := range map[string]string{
		"of Istio's gateway":         `Hash=ab12;Cert="` + agent + `";Subject="CN=agent,O=\"x;y\"";URI=`,
		"without quotes":             `Cert=` + agent,
		"the key in lower case":      `cert="` + agent + `"`,
		"after what the client sent": `Cert="` + smuggled + `",Hash=1;Cert="` + agent + `"`,
		"before the element of a sidecar without a certificate": `Cert="` + agent + `", By=spiffe://cluster.local/ns/a/sa/b;Hash=2;Subject="";URI=spiffe://cluster.local/ns/istio-system/sa/gateway`,
		"with pluses that are not encoded":                      `Cert="` + strings.ReplaceAll(agent, "%2B", "+") + `"`,
		"with spaces in between":                                ` Hash=1 ; Cert="` + agent + `" ; Subject="" `,
	} {
		t.Run(name, func(t *testing.T) {
			read, err := Nearest(header)
			require.NoError(t, err)
			require.Equal(t, "agent", read.Subject.CommonName)
		})
	}
}

func TestAnInvalidHeaderHasNoCertificate(t *testing.T) {
	agent := certificate(t, "agent")
	for name, header := range map[string]string{
		"nothing": ``, "no key": `="` + agent + `"`, "no value": `Cert`, "a quote that does not end": `Cert="` + agent, "an empty certificate": `Cert=""`,
		"a quote that ends too early": `Cert="x"` + agent, "a quote in a value": `Cert=a"b`, "two certificates": `Cert="` + agent + `";Cert="` + agent + `"`,
		"a wrong escape": `Cert="%zz"`, "no PEM": `Cert="abc"`, "a key as PEM": `Cert="` + encoded(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte{1}})) + `"`,
		"no certificate in PEM": `Cert="` + encoded(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}})) + `"`,
		"a chain":               `Cert="` + agent + agent + `"`, "an end that is missing": `Cert="` + agent + `",`,
	} {
		t.Run(name, func(t *testing.T) {
			read, err := Nearest(header)
			require.Error(t, err)
			require.Nil(t, read)
		})
	}
	_, err := Nearest(`Hash=1;Subject="Cert=` + agent + `"`)
	require.ErrorIs(t, err, ErrNoCertificate, "the value of another key is no certificate")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		``, `Cert="` + certificate(f, "agent") + `"`, `By=a;Hash=b;Cert="%2D%2D";Subject="CN=\"a\"",Cert=x`, `,;="\"`, `a="\\";b=c`, `CERT=%00,`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		elements, err := Parse(header)
		if err != nil {
			require.Nil(t, elements)
			_, err = Nearest(header)
			require.Error(t, err)
			return
		}
		require.NotEmpty(t, elements)
		require.LessOrEqual(t, len(elements), 1+strings.Count(header, ","))
		// In the simplest notation, the header has the same meaning.
		var written []string
		for _, e := range elements {
			if e.Cert == "" {
				written = append(written, "Hash=1")
			} else {
				written = append(written, `Cert="`+url.PathEscape(e.Cert)+`"`)
			}
		}
		again, err := Parse(strings.Join(written, ","))
		require.NoError(t, err)
		require.Equal(t, elements, again)
		if read, err := Nearest(header); err == nil {
			require.NotEmpty(t, read.Raw)
		}
	})
}
