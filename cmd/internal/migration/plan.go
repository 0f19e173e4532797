package migration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/events/agents"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/modules/adoption"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

var errNotReadable = errors.New("not everything could be read")

// plan prints what would change.
func (m *migration) plan(ctx context.Context, out io.Writer, names []string) error {
	if err := m.upstreamRuns(ctx, time.Now()); errors.Is(err, errUpstreamRuns) {
		if _, err := fmt.Fprintf(out, "%v\n", err); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	kymas, err := m.kymas(ctx, names)
	if err != nil {
		return err
	}
	var failed error
	counts := &tally{changed: map[shared.StateRule]int{}}
	for i := range kymas {
		text, err := m.planOf(ctx, &kymas[i], counts)
		failed = errors.Join(failed, err)
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(out, counts.String()); err != nil {
		return err
	}
	return failed
}

// planOf describes what would change for one Kyma, and counts the modules with another state. It returns an error,
// which the text mentions too, if a cluster could not be read.
func (m *migration) planOf(ctx context.Context, kyma *v1beta2.Kyma, counts *tally) (string, error) {
	known, err := fleet.Live(m.controlPlane).LiveManifests(ctx, kyma)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Kyma %s/%s: %s\n", kyma.Namespace, kyma.Name, progressOf(kyma, known.Own))
	var failed error
	notReadable := fmt.Errorf("plan Kyma %s/%s: %w", kyma.Namespace, kyma.Name, errNotReadable)
	all, err := m.prospectsOf(ctx, kyma, known)
	if err != nil {
		failed = notReadable
		fmt.Fprintf(&b, "  no module gets another version until this is fixed: %s\n", fault.Of(err).Message)
	}
	for i := range known.Own {
		manifest := &known.Own[i]
		if desired.IsAgent(manifest) {
			continue
		}
		p, err := m.planManifest(ctx, manifest)
		if err != nil {
			failed = notReadable
			p.text = "nothing changes until this module can be read: " + fault.Of(err).Message
		} else if err := p.add(all.of(manifest)); err != nil {
			failed = notReadable
		}
		counts.add(p.outlook, manifest.Status.State)
		fmt.Fprintf(&b, "  %s %s (%s): %s%s\n", manifest.ModuleName(), manifest.Spec.Version, manifest.Status.State, p.text, p.outlook.changes(manifest.Status.State))
	}
	for _, p := range all.others {
		fresh := modulePlan{}
		if err := fresh.add(*p); err != nil {
			failed = notReadable
		}
		fmt.Fprintf(&b, "  %s: %s%s\n", p.name, fresh.text, fresh.outlook.changes(shared.StateReady))
	}
	switch {
	case !isAgentLeft(kyma, known.Own):
	case m.catalog.settings.Watching.Enabled():
		b.WriteString("  upstream's agent: becomes ours in its place, with another certificate\n")
	default:
		b.WriteString("  upstream's agent: removed from the remote cluster with its webhook, and its certificate from istio-system\n")
	}
	return b.String(), failed
}

// progressOf describes how far the takeover of a Kyma is.
func progressOf(kyma *v1beta2.Kyma, all []v1beta2.Manifest) string {
	switch {
	case !isUpstreams(kyma, all):
		return "taken over"
	case kyma.IsSkipReconciliation():
		return "upstream's, and held"
	default:
		return "upstream's, taken over at its first reconcile"
	}
}

// isUpstreams reports whether anything of a Kyma has not been taken over yet.
func isUpstreams(kyma *v1beta2.Kyma, all []v1beta2.Manifest) bool {
	for i := range all {
		if awaits(&all[i]) {
			return true
		}
	}
	return isAgentLeft(kyma, all)
}

// isAgentLeft reports whether upstream's agent may be in the cluster. If events are enabled, the condition that
// upstream wrote stays, and reports the state of our own agent.
func isAgentLeft(kyma *v1beta2.Kyma, all []v1beta2.Manifest) bool {
	return agents.IsLeft(kyma) && !slices.ContainsFunc(all, func(m v1beta2.Manifest) bool { return desired.IsAgent(&m) })
}

// awaits reports whether a Manifest has not been taken over completely.
func awaits(m *v1beta2.Manifest) bool {
	return manifests.IsUpstreams(m) || m.DeletionTimestamp.IsZero() && (planning.IsUpstreams(m) || inventory.NeverApplied(m.Status.Inventory))
}

// modulePlan describes what would change for one module.
type modulePlan struct {
	text    string
	outlook outlook
}

// add adds what the first plan will do with the module. It returns an error if that could not be determined completely.
func (p *modulePlan) add(of prospect) error {
	p.text += of.text
	if of.moves {
		p.outlook = nil
	}
	switch of.fault.Kind {
	case "":
		return nil
	case fault.Rejected:
		p.outlook = everywhere(readiness.Observed{State: shared.StateError, Message: of.fault.Message})
		return nil
	default:
		p.text += "; its objects cannot be read: " + of.fault.Message
		return errNotReadable
	}
}

func (m *migration) planManifest(ctx context.Context, manifest *v1beta2.Manifest) (modulePlan, error) {
	switch {
	case !awaits(manifest):
		return modulePlan{text: "taken over"}, nil
	case !manifests.IsUpstreams(manifest):
		return modulePlan{text: fmt.Sprintf("%d objects are recorded, and the next plan applies them", len(manifest.Status.Inventory))}, nil
	}
	cluster, err := m.clusters.Reach(ctx, manifest.Namespace, manifest.KymaName())
	if err != nil {
		return modulePlan{}, err
	}
	found, err := adoption.Read(ctx, cluster, manifest, m.flags.syncNamespace)
	if err != nil {
		return modulePlan{}, err
	}
	text := fmt.Sprintf("%d objects stay as they are and get our mark", len(found.Entries))
	switch {
	case manifest.IsUnmanaged():
		text = fmt.Sprintf("%d objects stay and lose the marks, because the module is not managed", len(found.Entries))
	case !manifest.DeletionTimestamp.IsZero():
		text = fmt.Sprintf("its removal continues with %d objects", len(found.Entries))
	case found.Unfinished:
		text = fmt.Sprintf("upgrade to %s continues, with %d objects found; objects that only the old version has are removed", manifest.Spec.Version, len(found.Entries))
	}
	switch cr := found.DefaultCR; {
	case found.DefaultCRGone():
		text += fmt.Sprintf("; %s %s was deleted by its user, and stays deleted", cr.Kind, cr.Name)
	case cr != nil:
		text += fmt.Sprintf("; default custom resource %s %s", cr.Kind, cr.Name)
	}
	states, err := m.outlookOf(ctx, cluster, manifest, found)
	return modulePlan{text: text, outlook: states}, err
}
