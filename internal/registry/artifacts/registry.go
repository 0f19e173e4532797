package artifacts

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

const userAgent = "lifecycle-manager"

// registry sends requests to OCI registries.
type registry struct {
	plain    []string
	keychain authn.Keychain
	next     http.RoundTripper
	limits   Limits
	hosts    hosts
	clock    func() time.Time
}

func newRegistry(o Options) *registry {
	next := o.Transport
	if next == nil {
		next = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   8,
			IdleConnTimeout:       90 * time.Second,
			TLSHandshakeTimeout:   5 * time.Second,
			TLSClientConfig:       &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
			ResponseHeaderTimeout: 20 * time.Second,
		}
	}
	named := transport.NewUserAgent(TLSOnly(next, o.PlainHTTPHosts), userAgent)
	return &registry{
		plain: o.PlainHTTPHosts, keychain: o.Keychain, limits: o.Limits, clock: o.Clock,
		hosts: hosts{limit: o.PullsPerHost, slots: map[string]chan struct{}{}},
		next:  &retrying{next: named, first: o.Pause, clock: o.Clock},
	}
}

// TLSOnly returns a transport that sends requests with next, and refuses plain HTTP except to the hosts in plain.
func TLSOnly(next http.RoundTripper, plain []string) http.RoundTripper {
	return &tlsOnly{next: next, plain: plain}
}

// tlsOnly refuses plain HTTP to every unlisted host, whatever the source of the request: the library, which uses plain
// HTTP for loopback and private addresses, or a redirect.
type tlsOnly struct {
	next  http.RoundTripper
	plain []string
}

func (t *tlsOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !slices.Contains(t.plain, req.URL.Host) {
		return nil, fmt.Errorf("plain HTTP to registry %s is not allowed", req.URL.Host)
	}
	return t.next.RoundTrip(req)
}

const (
	// maxReads is the number of attempts to fetch a layer if the connection breaks during the transfer.
	maxReads = 3
	// maxMismatches is the number of attempts if the content does not match the digest.
	maxMismatches = 2
)

// blob fetches the content of a digest, and verifies it during the transfer. path selects blobs or manifests.
func (r *registry) blob(ctx context.Context, l Layer, path, accept, sum string) ([]byte, error) {
	repository, err := r.repository(l.Repository + "/" + l.Name)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		content, broken, err := r.blobOnce(ctx, repository, l, path, accept, sum)
		last := maxReads
		if fault.Of(err).Reason == ReasonDigestMismatch {
			last = maxMismatches
		}
		if err == nil || !broken || try >= last || ctx.Err() != nil {
			return content, err
		}
	}
}

// blobOnce also reports whether the connection broke during the transfer, or the content did not match.
func (r *registry) blobOnce(ctx context.Context, repository name.Repository, l Layer, path, accept, sum string) (_ []byte, broken bool, _ error) {
	response, err := r.open(ctx, repository, path+l.Digest, accept, l.String(), ReasonLayerNotFound)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := readVerified(response.Body, sum, r.limits.LayerBytes, l.String())
	return content, err != nil && fault.Of(err).Kind == fault.Transient, err
}

// readVerified reads at most limit bytes and requires them to have the given sum.
func readVerified(body io.Reader, sum string, limit int64, what string) ([]byte, error) {
	hash := sha256.New()
	content, err := io.ReadAll(io.TeeReader(io.LimitReader(body, limit+1), hash))
	if err != nil {
		return nil, classify(err, what, "")
	}
	if int64(len(content)) > limit {
		return nil, fault.New(fault.Rejected, render.ReasonLayerTooLarge, "%s is larger than %d bytes", what, limit)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		return nil, slowRetry(ReasonDigestMismatch, "%s: the registry sent other content, with digest sha256:%s", what, got)
	}
	return content, nil
}

// repository parses "host[:port]/path". It ignores a scheme, because the input must not decide which hosts may do
// without TLS.
func (r *registry) repository(reference string) (name.Repository, error) {
	reference = strings.TrimPrefix(strings.TrimPrefix(reference, "https://"), "http://")
	options := []name.Option{name.StrictValidation}
	host, _, _ := strings.Cut(reference, "/")
	if slices.Contains(r.plain, host) {
		options = append(options, name.Insecure)
	}
	repository, err := name.NewRepository(reference, options...)
	if err != nil {
		return name.Repository{}, fault.New(fault.Rejected, ReasonInvalidReference, "%q is not a repository in a registry: %w", reference, err)
	}
	return repository, nil
}

// open sends a request to a repository. The caller must close the body.
func (r *registry) open(ctx context.Context, repository name.Repository, path, accept, what, missing string) (*http.Response, error) {
	leave, err := r.hosts.enter(ctx, repository.RegistryStr())
	if err != nil {
		return nil, classify(err, what, missing)
	}
	response, err := r.request(ctx, repository, path, accept, what, missing)
	if err != nil {
		leave()
		return nil, err
	}
	response.Body = &slotBody{ReadCloser: response.Body, release: leave}
	return response, nil
}

func (r *registry) request(ctx context.Context, repository name.Repository, path, accept, what, missing string) (*http.Response, error) {
	client, err := r.client(ctx, repository)
	if err != nil {
		return nil, r.classify(nil, err, what, missing)
	}
	address := fmt.Sprintf("%s://%s/v2/%s/%s", repository.Scheme(), repository.RegistryStr(), repository.RepositoryStr(), path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fault.New(fault.Rejected, ReasonInvalidReference, "%s cannot be addressed", what)
	}
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, r.classify(nil, err, what, missing)
	}
	if err := transport.CheckError(response, http.StatusOK); err != nil {
		_ = response.Body.Close()
		return nil, r.classify(response, err, what, missing)
	}
	return response, nil
}

// classify converts the error of a request into a fault with a time for the retry. It also makes the keychain read
// refused credentials again.
func (r *registry) classify(response *http.Response, err error, what, missing string) error {
	classified := classify(err, what, missing)
	var known *fault.Error
	if !errors.As(classified, &known) {
		return classified
	}
	if rotating, ok := r.keychain.(interface{ Refused() }); ok && known.Reason == ReasonRegistryUnauthorized {
		rotating.Refused()
	}
	if known.Kind == fault.Transient {
		known.RetryAfter = retryAfter(response, r.clock())
	}
	return classified
}

// client returns an HTTP client that authenticates in the way that the registry asks for.
func (r *registry) client(ctx context.Context, repository name.Repository) (*http.Client, error) {
	credentials, err := authn.Resolve(ctx, r.keychain, repository)
	if err != nil {
		return nil, fmt.Errorf("find credentials for %s: %w", repository.RegistryStr(), err)
	}
	authenticated, err := transport.NewWithContext(ctx, repository.Registry, credentials, r.next, []string{repository.Scope(transport.PullScope)})
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: authenticated}, nil
}
