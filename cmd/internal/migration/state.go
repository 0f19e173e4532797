package migration

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/adoption"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

// flagStateRule is the flag of run, plan and hold that selects where modules' states come from.
const flagStateRule = "module-state-from"

// patience is longer than any workload is pending, because a plan does not read pods.
const patience = 1000 * time.Hour

var (
	errWhoseState  = errors.New("set --" + flagStateRule + " to choose where modules' states come from")
	errNobodyLeads = errors.New("no process of Lifecycle Manager leads yet: start it, and run this command again when it is ready")
	errOtherRule   = errors.New("the running instance has another value of --module-state-from than hold was given")
)

// outlook is the state that a module will have under each rule.
type outlook map[shared.StateRule]readiness.Observed

// outlookOf determines a module's state after its takeover. It returns nil if the takeover changes more than the rule,
// or if the default custom resource does not exist yet. The state is then unknown.
func (m *migration) outlookOf(ctx context.Context, cluster *clusters.Cluster, manifest *v1beta2.Manifest, found adoption.Found) (outlook, error) {
	if manifest.IsUnmanaged() || !manifest.DeletionTimestamp.IsZero() || found.Unfinished {
		return nil, nil //nolint:nilnil // it is common that there is none
	}
	adopted := manifest.DeepCopy()
	adopted.Status.Inventory, adopted.Status.DefaultCR = found.Entries, found.DefaultCR
	if err := m.noteStateChecks(ctx, adopted); err != nil {
		return nil, err
	}
	all := outlook{}
	for _, rule := range shared.StateRules() {
		observed, err := readiness.Observe(ctx, cluster, adopted, readiness.Options{
			Rule: rule, RemoteNamespace: m.flags.syncNamespace, Patience: patience, Clock: time.Now,
		})
		if err != nil {
			return nil, fmt.Errorf("read the state of module %s: %w", manifest.ModuleName(), err)
		}
		if observed.DefaultCRWanted {
			return nil, nil //nolint:nilnil // as above
		}
		all[rule] = observed
	}
	return all, nil
}

// noteStateChecks sets the checks of the ModuleTemplate on a Manifest, like the next plan will. Upstream does not set
// them.
func (m *migration) noteStateChecks(ctx context.Context, manifest *v1beta2.Manifest) error {
	if m.templates == nil {
		m.templates = &v1beta2.ModuleTemplateList{}
		if err := m.controlPlane.List(ctx, m.templates, client.InNamespace(m.flags.namespace)); err != nil {
			return fmt.Errorf("list the ModuleTemplates of namespace %s: %w", m.flags.namespace, err)
		}
	}
	for i := range m.templates.Items {
		template := &m.templates.Items[i]
		spec := &template.Spec
		isIts := spec.Version == manifest.Spec.Version || spec.Version == "" && spec.Channel == manifest.Labels[shared.LabelChannel]
		if desired.ModuleNameOf(template) != manifest.ModuleName() || !isIts || len(spec.CustomStateCheck) == 0 {
			continue
		}
		encoded, err := json.Marshal(spec.CustomStateCheck)
		if err != nil {
			return fmt.Errorf("encode the state checks of ModuleTemplate %s: %w", template.Name, err)
		}
		metav1.SetMetaDataAnnotation(&manifest.ObjectMeta, desired.AnnotationCustomStateCheck, string(encoded))
	}
	return nil
}

// everywhere returns the outlook of a module with the same state under each rule.
func everywhere(o readiness.Observed) outlook {
	all := outlook{}
	for _, rule := range shared.StateRules() {
		all[rule] = o
	}
	return all
}

// changes describes under which rules a module changes its state; "" if under none.
func (o outlook) changes(now shared.State) string {
	var text strings.Builder
	if after, other := o[shared.StateFromCustomResource], o[shared.StateFromWorkloads]; o != nil && after.SameAs(other) {
		if after.State == now {
			return ""
		}
		return fmt.Sprintf("; becomes %s: %s", after.State, after.Message)
	}
	for _, rule := range shared.StateRules() {
		if after, known := o[rule]; known && after.State != now {
			fmt.Fprintf(&text, "; becomes %s with --%s=%s: %s", after.State, flagStateRule, rule, after.Message)
		}
	}
	return text.String()
}

// disagrees reports whether the rules give a module different states.
func (o outlook) disagrees() bool {
	return o != nil && o[shared.StateFromCustomResource].State != o[shared.StateFromWorkloads].State
}

// tally counts the modules that change their state under each rule.
type tally struct {
	modules int
	changed map[shared.StateRule]int
}

func (t *tally) add(o outlook, now shared.State) {
	if o == nil {
		return
	}
	t.modules++
	for rule, after := range o {
		if after.State != now {
			t.changed[rule]++
		}
	}
}

func (t *tally) String() string {
	if t.modules == 0 {
		return ""
	}
	var text strings.Builder
	for _, rule := range shared.StateRules() {
		fmt.Fprintf(&text, "With --%s=%s, %d of %d modules change their state.\n", flagStateRule, rule, t.changed[rule], t.modules)
	}
	return text.String()
}

// mustAgree returns an error that names the modules of these Kymas with different states under the rules, and those
// that cannot be read.
func (m *migration) mustAgree(ctx context.Context, kymas []held) error {
	var differ []string
	for _, k := range kymas {
		for i := range k.manifests {
			manifest := &k.manifests[i]
			p, err := m.planManifest(ctx, manifest)
			if err != nil {
				return fmt.Errorf("%w: module %s of Kyma %s cannot be read: %w", errWhoseState, manifest.ModuleName(), k.kyma.Name, err)
			}
			if p.outlook.disagrees() {
				differ = append(differ, fmt.Sprintf("  %s of Kyma %s (%s)%s", manifest.ModuleName(), k.kyma.Name, manifest.Status.State, p.outlook.changes(manifest.Status.State)))
			}
		}
	}
	if len(differ) == 0 {
		return nil
	}
	const most = 10
	if more := len(differ) - most; more > 0 {
		differ = append(differ[:most], fmt.Sprintf("  and %d more: see lifecycle-manager migrate plan", more))
	}
	return fmt.Errorf("%w: the rules give these modules different states\n%s", errWhoseState, strings.Join(differ, "\n"))
}

// mustFollow returns an error unless the running instance follows the rule that hold was given for a Kyma.
func (m *migration) mustFollow(ctx context.Context, kyma *v1beta2.Kyma) error {
	wanted := shared.StateRule(kyma.Annotations[annotationHeld])
	if !slices.Contains(shared.StateRules(), wanted) {
		return nil // hold was given none, because the rules do not differ
	}
	records := &corev1.ConfigMapList{}
	if err := m.controlPlane.List(ctx, records, client.MatchingLabels{shared.LabelPurpose: agreement.Purpose}); err != nil {
		return fmt.Errorf("read the settings of the running instance: %w", err)
	}
	instance := agreement.InstanceFor(kyma.Labels)
	led := false
	for i := range records.Items {
		record := &records.Items[i]
		if agreement.InstanceOf(record) != instance {
			continue
		}
		// An instance that moved to another namespace has left a record in the former one.
		if current, err := m.isOfLeader(ctx, record); err != nil {
			return err
		} else if !current {
			continue
		}
		led = true
		if has := cmp.Or(record.Data[flagStateRule], string(shared.StateFromCustomResource)); has != string(wanted) {
			return fmt.Errorf("%w: Kyma %s/%s was held for --%s=%s, but ConfigMap %s/%s has %s. Restart Lifecycle Manager with the former value, or hold the Kyma again with the latter",
				errOtherRule, kyma.Namespace, kyma.Name, flagStateRule, wanted, record.Namespace, record.Name, has)
		}
	}
	if !led {
		return errNobodyLeads
	}
	return nil
}

// isOfLeader reports whether a record has the settings of the leading process. Without a Lease there is no leader
// election, and the record belongs to the only process.
func (m *migration) isOfLeader(ctx context.Context, record *corev1.ConfigMap) (bool, error) {
	lease := &coordinationv1.Lease{}
	err := m.controlPlane.Get(ctx, client.ObjectKey{Namespace: record.Namespace, Name: agreement.LeaseName(agreement.InstanceOf(record))}, lease)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the Lease of the running instance: %w", err)
	}
	return agreement.IsOfLeader(record, lease, time.Now()), nil
}
