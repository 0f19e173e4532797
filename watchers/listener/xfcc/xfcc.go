// Package xfcc reads the header X-Forwarded-Client-Cert, in which Envoy, and so Istio, says which client certificate it
// was shown.
//
// The header has one element per proxy on the way, separated by commas, of which each proxy appends its own or, with
// SANITIZE_SET, replaces all by its own. An element has pairs of key and value, separated by semicolons; a value with one
// of these characters is in double quotes. Whoever reads the header must know that the connection is from a proxy that it
// trusts: everybody else can write into it what they like.
package xfcc

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// keyCert is the key of the certificate: PEM, URL-encoded. Keys are the same in any case.
const keyCert = "cert"

// ErrNoCertificate is that of a header in which no element has a certificate.
var ErrNoCertificate = errors.New("no element has a certificate")

var (
	errKey       = errors.New("a pair has no key")
	errQuote     = errors.New("a quoted value does not end, or goes on after its end")
	errTwice     = errors.New("an element has two certificates")
	errNotOne    = errors.New("it is not exactly one certificate in PEM")
	errEmptyCert = errors.New("a certificate is empty")
)

// Element is what one proxy says.
type Element struct {
	// Cert is the certificate that it was shown, in PEM; empty where it does not say.
	Cert string
}

// Nearest returns the certificate of the last element that has one: that of the nearest proxy which tells certificates.
// What comes before it may be whatever the client sent. What comes after it is of proxies that pass the header on without
// telling certificates, such as a sidecar of ours.
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

// Parse reads a header, in which several lines are joined by commas.
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
			// A plus is one, as in base64, and no space.
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

// pair reads one pair, and returns the separator behind it, zero at the end, and what follows.
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

// quoted reads a value up to the quote at its end. A quote in it follows a backslash.
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
