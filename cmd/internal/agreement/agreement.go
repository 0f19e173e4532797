// Package agreement makes sure that all processes of an instance work with the same settings. Type Agreement has the
// details.
package agreement

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
	"github.com/kyma-project/lifecycle-manager/internal/platform/persistent"
)

const (
	// agreeEvery is how often a process compares its settings with the instance's.
	agreeEvery = 5 * time.Second
	// policyReachesAll is how long the maintenance policy of an active process may differ, because each node refreshes
	// its mounted file at its own time.
	policyReachesAll = 2 * time.Minute
)

const (
	// SettingPolicy is the setting that identifies the content of the maintenance policy.
	SettingPolicy = "maintenance-policy"
	// Purpose is the value of the label purpose on the record of an instance.
	Purpose = "instance-settings"
)

// Agreement makes sure that all processes of an instance work with the same settings. The leader writes its settings to
// a record in the control plane. A process with other settings does no work and reports the difference. After an
// intended change, the next leader writes the new settings. Processes with the old settings then end. When they are
// started again, they wait until they are replaced.
type Agreement struct {
	client client.Client
	key    types.NamespacedName
	// own returns the settings of this process.
	own func() map[string]string
	// elected is closed once this process leads; nil if it never does.
	elected <-chan struct{}
	log     logr.Logger
	now     func() time.Time
	agrees  prometheus.Gauge

	// reached is closed once the settings are the same.
	reached chan struct{}
	// written is the record as this process last wrote it. stale is since when only the policy differs.
	written map[string]string
	stale   time.Time

	mu      sync.Mutex
	problem error
	fault   persistent.Fault
}

var (
	errNotCompared = errors.New("the settings of this process have not been compared with those of its instance yet")
	errNoRecord    = errors.New("no process has led this instance yet, so its settings are not recorded")
)

// New returns an Agreement that compares the settings that own returns with the record. elected must be closed once
// this process leads, and nil if it never does.
func New(c client.Client, key types.NamespacedName, own func() map[string]string, elected <-chan struct{}, registry prometheus.Registerer, log logr.Logger) (*Agreement, error) {
	agrees, err := metrics.NewSettingsAgree(registry)
	if err != nil {
		return nil, err
	}
	return &Agreement{
		client: c, key: key, own: own, elected: elected, log: log, now: time.Now, reached: make(chan struct{}), problem: errNotCompared,
		agrees: agrees,
	}, nil
}

// Start compares until ctx is done. It returns an error when the settings of an active process no longer match the
// instance's. It implements manager.Runnable.
func (a *Agreement) Start(ctx context.Context) error {
	elected := a.elected
	for {
		if err := a.Compare(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-elected:
			elected = nil
		case <-time.After(agreeEvery):
		}
	}
}

// Reached returns a channel that is closed once the settings are the same.
func (a *Agreement) Reached() <-chan struct{} { return a.reached }

// NeedLeaderElection returns false, because every process compares.
func (a *Agreement) NeedLeaderElection() bool { return false }

// Check implements healthz.Checker. A process that may lead is ready even while it waits. It may have newer settings
// and replace the present leader, which it can only do after that leader has ended.
func (a *Agreement) Check(*http.Request) error {
	if a.elected != nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.problem
}

func (a *Agreement) leads() bool {
	select {
	case <-a.elected:
		return true
	default:
		return false
	}
}

// Compare compares the settings once. On an error, this process must end.
func (a *Agreement) Compare(ctx context.Context) error {
	own := a.own()
	record := &corev1.ConfigMap{}
	err := a.client.Get(ctx, a.key, record)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		if a.leads() {
			a.agree() // the leader's settings are the instance's, recorded or not
		}
		a.say(fmt.Errorf("read the settings of this instance in ConfigMap %s: %w", a.key, err), false)
		return nil
	}
	if a.leads() {
		return a.lead(ctx, record, missing, own)
	}
	if missing {
		a.say(errNoRecord, true)
		return nil
	}
	return a.follow(record.Data, own)
}

// lead keeps the record equal to the settings of this process.
func (a *Agreement) lead(ctx context.Context, record *corev1.ConfigMap, missing bool, own map[string]string) error {
	if a.written != nil && !missing && !maps.Equal(record.Data, a.written) {
		return fmt.Errorf("another process has taken over this instance: %w", disagreement(record.Data, own))
	}
	var failed error
	if missing || a.written == nil || !maps.Equal(a.written, own) {
		failed = a.write(ctx, record, missing, own)
	}
	a.agree()
	a.say(failed, false)
	return nil
}

// write records the settings and the time. A leader whose settings are already recorded does so once too, to confirm
// that they are its own (IsOfLeader).
func (a *Agreement) write(ctx context.Context, record *corev1.ConfigMap, missing bool, own map[string]string) error {
	before := record.Data
	record.Data = own
	if missing {
		record.ObjectMeta = metav1.ObjectMeta{
			Namespace: a.key.Namespace, Name: a.key.Name,
			Labels: map[string]string{shared.LabelPurpose: Purpose},
		}
	}
	metav1.SetMetaDataAnnotation(&record.ObjectMeta, shared.AnnotationSettingsConfirmed, a.now().UTC().Format(time.RFC3339Nano))
	var err error
	if missing {
		err = a.client.Create(ctx, record, client.FieldOwner(shared.FieldManagerLifecycleManager))
	} else {
		err = a.client.Update(ctx, record, client.FieldOwner(shared.FieldManagerLifecycleManager))
	}
	if err != nil {
		return fmt.Errorf("record the settings of this instance in ConfigMap %s: %w", a.key, err)
	}
	if !missing && !maps.Equal(before, own) {
		a.log.Info("the settings of this instance changed", logkey.Changes, disagreement(before, own).Error())
	}
	a.written = own
	return nil
}

// follow compares the settings of a process that does not lead.
func (a *Agreement) follow(record, own map[string]string) error {
	different := Differing(record, own)
	if len(different) == 0 {
		a.stale = time.Time{}
		a.agree()
		a.say(nil, false)
		return nil
	}
	disagrees := disagreement(record, own)
	if !a.atWork() {
		a.say(disagrees, true)
		return nil
	}
	if slices.Equal(different, []string{SettingPolicy}) {
		if a.stale.IsZero() {
			a.stale = a.now()
		}
		if a.now().Sub(a.stale) < policyReachesAll {
			return nil
		}
	}
	return disagrees
}

// agree lets this process work.
func (a *Agreement) agree() {
	if !a.atWork() {
		close(a.reached)
	}
}

func (a *Agreement) atWork() bool {
	select {
	case <-a.reached:
		return true
	default:
		return false
	}
}

// say stores a problem for the readiness probe, and logs it if it is new. A problem that usually resolves itself is
// logged as an error only if it lasts, because a leader records its settings within seconds.
func (a *Agreement) say(problem error, passes bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.agrees.Set(0)
	if a.atWork() {
		a.agrees.Set(1)
	}
	a.fault.Log(a.log, a.now(), problem, passes, "settings", logkey.AtWork, a.atWork())
	if problem == nil && a.problem != nil {
		a.log.Info("the settings of this process match those of its instance")
	}
	a.problem = problem
}

// Differing returns the names of the settings that differ.
func Differing(record, own map[string]string) []string {
	var names []string
	for name, value := range own {
		if there, known := record[name]; !known || there != value {
			names = append(names, name)
		}
	}
	for name := range record {
		if _, known := own[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// disagreement returns an error that lists the settings that differ.
func disagreement(record, own map[string]string) error {
	names := Differing(record, own)
	said := make([]string, 0, len(names))
	for _, name := range names {
		said = append(said, fmt.Sprintf("%s is %s here and %s there", name, shown(own, name), shown(record, name)))
	}
	return fmt.Errorf("the settings of this process differ from those of its instance, so it does no work: %s", strings.Join(said, "; "))
}

// shown returns a setting for a message.
func shown(settings map[string]string, name string) string {
	value, known := settings[name]
	const most = 80
	switch {
	case !known:
		return "unknown"
	case len(value) > most:
		value = strings.ToValidUTF8(value[:most], "") + "…"
	}
	return fmt.Sprintf("%q", value)
}

// Gate starts a Runnable once the settings agree.
type Gate struct {
	manager.Runnable
	Reached <-chan struct{}
}

// Start implements manager.Runnable.
func (o Gate) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-o.Reached:
		return o.Runnable.Start(ctx)
	}
}

// NeedLeaderElection returns false, because workers run in every process.
func (o Gate) NeedLeaderElection() bool { return false }
