// Package xfcc parses the header X-Forwarded-Client-Cert. In this header Envoy, and so Istio, reports the client
// certificate of a connection.
//
// The header has one element per proxy on the way, separated by commas. Each proxy appends its own element or, with
// SANITIZE_SET, replaces all elements with its own. An element has key-value pairs, separated by semicolons. A value
// with one of these characters is in double quotes.
//
// The reader must know that the connection comes from a trusted proxy, because everybody else can write anything into
// the header.
package xfcc

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// keyCert is the key of the certificate: PEM, URL-encoded. Keys are case-insensitive.
const keyCert = "cert"

// ErrNoCertificate is returned for a header in which no element has a certificate.
var ErrNoCertificate = errors.New("no element has a certificate")

var (
	errKey       = errors.New("a pair has no key")
	errQuote     = errors.New("a quoted value does not end, or continues after its end")
	errTwice     = errors.New("an element has two certificates")
	errNotOne    = errors.New("the value is not exactly one certificate in PEM")
	errEmptyCert = errors.New("a certificate is empty")
)

// Element is the element of one proxy.
type Element struct {
	// Cert is the client certificate in PEM; empty if the element has none.
	Cert string
}

// Nearest returns the certificate of the last element that has one, which is from the nearest proxy that reports
// certificates. Earlier elements may come from the client. Later elements come from proxies that pass the header on
// without reporting certificates, such as our own sidecar.
func Nearest(header string) (*x509.Certificate, error) {
	elements, err := Parse(header)
	if err != nil {
		return nil, err
	}
	for i := len(elements) - 1; i >= 0; i-- {
		if elements[i].Cert != "" {
			return certificateOf(elements[i].Cert)
		}
	}
	return nil, ErrNoCertificate
}

func certificateOf(text string) (*x509.Certificate, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" || strings.TrimSpace(string(rest)) != "" {
		return nil, errNotOne
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	return certificate, nil
}

// Parse parses a header. Several header lines must be joined by commas.
func Parse(header string) ([]Element, error) {
	var all []Element
	for rest, more := header, true; more; {
		element := Element{}
		var separator byte = ';'
		for separator == ';' {
			var key, value string
			var err error
			if key, value, separator, rest, err = pair(rest); err != nil {
				return nil, err
			}
			if !strings.EqualFold(key, keyCert) {
				continue
			}
			if element.Cert != "" {
				return nil, errTwice
			}
			// A plus stands for itself, as in base64, and not for a space.
			if element.Cert, err = url.PathUnescape(value); err != nil {
				return nil, fmt.Errorf("read the certificate: %w", err)
			}
			if element.Cert == "" {
				return nil, errEmptyCert
			}
		}
		all = append(all, element)
		more = separator == ','
	}
	return all, nil
}

// pair parses one pair. It returns the separator behind the pair, or zero at the end, and the rest of the text.
func pair(text string) (key, value string, separator byte, rest string, err error) {
	key, text, found := strings.Cut(text, "=")
	if key = strings.TrimSpace(key); !found || key == "" || strings.ContainsAny(key, `,;"`) {
		return "", "", 0, "", errKey
	}
	if strings.HasPrefix(text, `"`) {
		if value, text, err = quoted(text[1:]); err != nil {
			return "", "", 0, "", err
		}
		text = strings.TrimLeft(text, " \t")
		if text != "" && text[0] != ',' && text[0] != ';' {
			return "", "", 0, "", errQuote
		}
	} else {
		end := strings.IndexAny(text, ",;")
		if end < 0 {
			end = len(text)
		}
		value, text = strings.TrimRight(text[:end], " \t"), text[end:]
		if strings.Contains(value, `"`) {
			return "", "", 0, "", errQuote
		}
	}
	if text == "" {
		return key, value, 0, "", nil
	}
	return key, value, text[0], text[1:], nil
}

// quoted parses a value up to the closing quote. A backslash escapes a quote.
func quoted(text string) (value, rest string, err error) {
	var read strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			return read.String(), text[i+1:], nil
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '"':
			i++
		}
		read.WriteByte(text[i])
	}
	return "", "", errQuote
}
