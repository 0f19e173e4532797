package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/agenttest"
	"github.com/kyma-project/lifecycle-manager/watchers/listener/credentials"
)

const (
	manager  = "lifecycle-manager"
	path     = "/v2/lifecycle-manager/event"
	kymaEdit = `{"watched":{"Namespace":"kyma-system","Name":"default"},"watchedGvk":{"group":"operator.kyma-project.io","version":"v1beta2","kind":"Kyma"}}`
)

// given provides credentials that a test changes.
type given struct {
	now atomic.Pointer[credentials.Material]
}

func (g *given) Current() (credentials.Material, bool) {
	if m := g.now.Load(); m != nil {
		return *m, true
	}
	return credentials.Material{}, false
}

// show lets the listener serve a certificate of an authority, and trust these authorities.
func (g *given) show(version string, by *agenttest.Authority, trusted ...*agenttest.Authority) {
	pool := trusted[0].Pool()
	for _, each := range trusted[1:] {
		pool.AppendCertsFromPEM(each.PEM)
	}
	g.now.Store(&credentials.Material{Certificate: by.Pair("listener"), Authorities: pool, Version: version})
}

// sent is one kick.
type sent struct {
	to   string
	kick kick.Kick
}

// recorder records kicks in place of Temporal.
type recorder struct {
	mu   sync.Mutex
	sent []sent
	// fails is how many kicks fail before one is accepted, by Kyma or for all.
	fails   map[string]int
	perKyma map[string]int
	// hold, if set, blocks each kick until the channel is closed.
	hold chan struct{}
}

var errDown = errors.New("nobody answers")

func (r *recorder) take(ctx context.Context, name, to string, k kick.Kick) error {
	if r.hold != nil {
		select {
		case <-r.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails[name] > 0 {
		r.fails[name]--
		return errDown
	}
	r.sent = append(r.sent, sent{to, k})
	if r.perKyma == nil {
		r.perKyma = map[string]int{}
	}
	r.perKyma[name]++
	return nil
}

func (r *recorder) Kyma(ctx context.Context, ref kick.Ref, k kick.Kick) error {
	return r.take(ctx, ref.Name, kick.KymaWorkflowID(ref), k)
}

func (r *recorder) Manifest(ctx context.Context, _, ref kick.Ref, k kick.Kick) error {
	return r.take(ctx, ref.Name, manifestID(ref), k)
}

func (r *recorder) all() []sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]sent{}, r.sent...)
}

func (r *recorder) of(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.perKyma[name]
}

// fixture is a listener on the loopback interface.
type fixture struct {
	*Listener
	t           testing.TB
	authority   *agenttest.Authority
	credentials *given
	kicks       *recorder
	registry    *prometheus.Registry
	// stop ends the listener, and returns the result of Start.
	stop  func() error
	lines func() string
}

func start(t testing.TB, change func(*Options, *limits), objects ...client.Object) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	known := fleettest.NewCache(t, scheme, objects...)
	require.NoError(t, fleet.RegisterRuntimeIDs(t.Context(), known))
	known.Hold(t, &v1beta2.Kyma{}, &v1beta2.Manifest{})
	known.Run(t)
	f := &fixture{t: t, authority: agenttest.NewAuthority(t, "authority"), credentials: &given{}, kicks: &recorder{}, registry: prometheus.NewRegistry()}
	f.credentials.show("1", f.authority, f.authority)
	var log logr.Logger
	log, f.lines = lines()
	o := Options{
		Address: "127.0.0.1:0", Routing: desired.RoutingDirect, Manager: manager, Credentials: f.credentials,
		Kymas: known, Manifests: known, Ours: desired.Settings{}.Ours, Kicks: f.kicks, Registry: f.registry, Log: log,
	}
	l := defaultLimits(DefaultKicksPerSecond)
	if change != nil {
		change(&o, &l)
	}
	var err error
	f.Listener, err = newListener(o, l)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Start(ctx) }()
	require.Eventually(t, func() bool { return f.Addr() != nil }, 10*time.Second, time.Millisecond)
	f.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { require.NoError(t, f.stop()) })
	return f
}

func lines() (logr.Logger, func() string) {
	var mu sync.Mutex
	var all strings.Builder
	log := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		all.WriteString(args + "\n")
	}, funcr.Options{})
	return log, func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}

// counted returns how many requests had a result.
func (f *fixture) counted(result string) int {
	return int(testutil.ToFloat64(f.metrics.Received.WithLabelValues(result)))
}

// transport returns a transport for an agent with these certificates, with HTTP/2 unless plain.
func (f *fixture) transport(plain bool, certificates ...tls.Certificate) *http.Transport {
	t := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: f.authority.Pool(), Certificates: certificates, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: !plain,
	}
	f.t.Cleanup(t.CloseIdleConnections)
	return t
}

// agent returns a client with a certificate of this common name.
func (f *fixture) agent(commonName string) *http.Client {
	return &http.Client{Transport: f.transport(false, f.authority.Pair(commonName))}
}

func (f *fixture) url() string { return "https://" + f.Addr().String() + path }

// post sends a body, and returns the answer.
func post(t testing.TB, by *http.Client, to string, body io.Reader, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, to, body)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := by.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(text)
}

// kicked waits for a number of kicks, and returns them by workflow.
func (f *fixture) kicked(number int) map[string]kick.Kick {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return len(f.kicks.all()) >= number }, 30*time.Second, time.Millisecond)
	woken := map[string]kick.Kick{}
	for _, each := range f.kicks.all() {
		woken[each.to] = each.kick
	}
	require.Len(f.t, f.kicks.all(), number)
	return woken
}

func kyma(name, runtimeID string) *v1beta2.Kyma {
	return &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kcp-system", Name: name, UID: types.UID(name + "-uid"), Labels: map[string]string{shared.LabelRuntimeID: runtimeID},
	}}
}

func manifest(name, kyma string, change func(*v1beta2.Manifest)) *v1beta2.Manifest {
	m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kcp-system", Name: name, UID: types.UID(name + "-uid"), Labels: map[string]string{shared.LabelKymaName: kyma},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "operator.kyma-project.io/v1beta2", Kind: shared.KindKyma, Name: kyma, UID: types.UID(kyma + "-uid"), Controller: new(true)}},
	}, Spec: v1beta2.ManifestSpec{Remote: true, Version: "1.0.0"}}
	if change != nil {
		change(m)
	}
	return m
}

func eventOf(group, kind, namespace, name string) string {
	return fmt.Sprintf(`{"watched":{"Namespace":%q,"Name":%q},"watchedGvk":{"group":%q,"version":"v1","kind":%q}}`, namespace, name, group, kind)
}

// header returns the header that Istio's gateway writes for a certificate.
func header(certificate []byte) string {
	return `Hash=00;Cert="` + strings.ReplaceAll(url.QueryEscape(string(certificate)), "+", "%20") + `";Subject="CN=x";URI=`
}

// manifestID is the key for a Manifest in these tests' records of kicks.
func manifestID(r kick.Ref) string {
	return "manifest/" + r.Namespace + "/" + r.Name + "/" + string(r.UID)
}
