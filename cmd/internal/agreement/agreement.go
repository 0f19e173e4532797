// Package agreement keeps the processes of one instance to the same settings.
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
	// policyReachesAll is how long the maintenance policy of an active process may differ: each node renews its mounted
	// file in its own time.
	policyReachesAll = 2 * time.Minute
)

const (
	// SettingPolicy is the setting that identifies the content of the maintenance policy.
	SettingPolicy = "maintenance-policy"
	// Purpose is the value of the label purpose on the record of an instance.
	Purpose = "instance-settings"
)

// Agreement keeps the processes of one instance to the same settings. What is done is the instance's to decide and no
// process's: the leader writes its settings into a record in the control plane, and whoever has others does no work
// and says so. When settings are changed on purpose, the next leader writes the new ones: processes with the old ones
// end then, and wait when they are started again, until they are replaced.
type Agreement struct {
	client client.Client
	key    types.NamespacedName
	// own are the settings of this process.
	own func() map[string]string
	// elected is closed once this process leads; nil where it never does.
	elected <-chan struct{}
	log     logr.Logger
	now     func() time.Time
	agrees  prometheus.Gauge

	// reached is closed once the settings were the same.
	reached chan struct{}
	// written is the record as this process wrote it last, stale since when only the policy differs.
	written map[string]string
	stale   time.Time

	mu      sync.Mutex
	problem error
	fault   persistent.Fault
}

var (
	errNotCompared = errors.New("the settings of this process were not compared with the instance's yet")
	errNoRecord    = errors.New("nobody has led this instance yet: its settings are not recorded")
)

// New compares the settings that own returns with the record under a key. Elected is closed once this process leads, nil
// where it never does.
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

// Start compares until ctx is done. It ends with an error when the settings of an active process are no longer the
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

// Reached is closed once the settings were the same.
func (a *Agreement) Reached() <-chan struct{} { return a.reached }

// NeedLeaderElection is false: every process compares.
func (a *Agreement) NeedLeaderElection() bool { return false }

// Check implements healthz.Checker. A process that may lead is ready also while it waits: with other settings than the
// present leader's it may be the one that is to replace it, which it can only after that has gone.
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

// Compare compares once. An error means that this process must end.
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

// lead keeps the record to the settings of this process.
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

// write records the settings, and when it did. Also a leader whose settings are those on record does so once, which tells
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

// say keeps a problem for the probe, and logs what is new. A problem that passes by itself is an error only if it lasts: a
// leader records its settings within seconds.
func (a *Agreement) say(problem error, passes bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.agrees.Set(0)
	if a.atWork() {
		a.agrees.Set(1)
	}
	a.fault.Log(a.log, a.now(), problem, passes, "settings", logkey.AtWork, a.atWork())
	if problem == nil && a.problem != nil {
		a.log.Info("the settings of this process are the instance's")
	}
	a.problem = problem
}

// Differing are the names of settings that are not the same.
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

// disagreement says which settings are not the same.
func disagreement(record, own map[string]string) error {
	names := Differing(record, own)
	said := make([]string, 0, len(names))
	for _, name := range names {
		said = append(said, fmt.Sprintf("%s is %s here and %s there", name, shown(own, name), shown(record, name)))
	}
	return fmt.Errorf("this process has other settings than its instance, and does no work: %s", strings.Join(said, "; "))
}

// shown is a setting as a message has it.
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

// Gate starts a runnable when the settings agree.
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

// NeedLeaderElection is false: workers scale out, whoever leads.
func (o Gate) NeedLeaderElection() bool { return false }
