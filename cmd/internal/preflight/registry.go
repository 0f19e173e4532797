package preflight

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

// AskRegistry sends a request to the registry at an address, which may end with a path. secret is the Secret of the
// credentials; empty without credentials. Nothing is pulled.
func AskRegistry(ctx context.Context, address string, options artifacts.Options, secret string) RegistryFacts {
	host, _, _ := strings.Cut(address, "/")
	facts := RegistryFacts{Host: host, Credentials: secret}
	err := askRegistry(ctx, host, options)
	var answer *transport.Error
	if errors.As(err, &answer) {
		facts.Refused = answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden
	}
	facts.Err = err
	return facts
}

func askRegistry(ctx context.Context, host string, options artifacts.Options) error {
	var how []name.Option
	if slices.Contains(options.PlainHTTPHosts, host) {
		how = append(how, name.Insecure)
	}
	registry, err := name.NewRegistry(host, how...)
	if err != nil {
		return fmt.Errorf("parse the host of the registry: %w", err)
	}
	credentials := authn.Anonymous
	if options.Keychain != nil {
		if credentials, err = options.Keychain.Resolve(registry); err != nil {
			return fmt.Errorf("read the credentials for the registry: %w", err)
		}
	}
	plain, isPlain := http.DefaultTransport.(*http.Transport)
	if !isPlain {
		return errors.New("the default transport has another type")
	}
	plain = plain.Clone()
	defer plain.CloseIdleConnections()
	plain.TLSClientConfig = &tls.Config{RootCAs: options.RootCAs, MinVersion: tls.VersionTLS12}
	// This request fetches a token. A password is only sent with the next request.
	authorized, err := transport.NewWithContext(ctx, registry, credentials, artifacts.TLSOnly(plain, options.PlainHTTPHosts), nil)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, registry.Scheme()+"://"+registry.RegistryStr()+"/v2/", http.NoBody)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: authorized}).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	return transport.CheckError(response, http.StatusOK)
}
