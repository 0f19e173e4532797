// Package tree shows Kymas and their modules as a tree for people.
package tree

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// firstModulesWithin is how soon after a Kyma its first Manifests are there, even if a new cluster is slow to
// answer. A module with a younger Manifest was asked for later, and its time counts from then.
const firstModulesWithin = 30 * time.Second

// Kyma is what the tree shows of one Kyma.
type Kyma struct {
	Name, Channel, ModulesReady, Operation string
	State                                  shared.State
	Age                                    time.Duration
	// ReadyAfter is how long it took from the Kyma's creation to its present Ready; 0 while it is not Ready.
	ReadyAfter time.Duration
	Modules    []Module
}

// Module is what the tree shows of one module.
type Module struct {
	Name, Version, Channel, Message string
	State                           shared.State
	// Objects is "ready/total" of the module's objects; empty while unknown.
	Objects string
	// ReadyAfter is how long it took from the Kyma's creation to the module's present Ready.
	ReadyAfter time.Duration
}

// Of works out what to show of a Kyma and its Manifests at the given moment.
func Of(kyma *v1beta2.Kyma, manifests []v1beta2.Manifest, now time.Time) Kyma {
	created := kyma.CreationTimestamp.Time
	view := Kyma{
		Name: kyma.Namespace + "/" + kyma.Name, Channel: kyma.Status.ActiveChannel, ModulesReady: kyma.Status.ModulesReady,
		State: kyma.Status.State, Age: now.Sub(created),
		ReadyAfter: readyAfter(created, kyma.Status.State, kyma.Status.Conditions, shared.ConditionModules),
	}
	if view.Channel == "" {
		view.Channel = kyma.Spec.EffectiveChannel()
	}
	if kyma.Status.LastOperation != nil {
		view.Operation = kyma.Status.LastOperation.Operation
	}
	byName := make(map[string]*v1beta2.Manifest, len(manifests))
	for i := range manifests {
		byName[manifests[i].Name] = &manifests[i]
	}
	for i := range kyma.Status.Modules {
		view.Modules = append(view.Modules, moduleOf(created, &kyma.Status.Modules[i], byName))
	}
	for i := range kyma.Status.Modules {
		if reference := kyma.Status.Modules[i].Manifest; reference != nil {
			m := byName[reference.Metadata.Name]
			if m == nil || m.Generation > 1 || m.CreationTimestamp.Sub(created) > firstModulesWithin {
				// Ready again, after a later change: the time since the Kyma's creation would say nothing.
				view.ReadyAfter = 0
			}
		}
	}
	return view
}

func moduleOf(created time.Time, m *v1beta2.ModuleStatus, manifests map[string]*v1beta2.Manifest) Module {
	view := Module{Name: m.Name, Version: m.Version, Channel: m.Channel, State: m.State, Message: m.Message}
	if m.Manifest == nil {
		return view
	}
	manifest, exists := manifests[m.Manifest.Metadata.Name]
	if !exists {
		return view
	}
	if counts := manifest.Status.Counts; counts != nil && counts.Total > 0 {
		view.Objects = fmt.Sprintf("%d/%d", counts.Ready, counts.Total)
	}
	if view.Message == "" && m.State != shared.StateReady && manifest.Status.State == m.State && manifest.Status.LastOperation != nil {
		view.Message = manifest.Status.LastOperation.Operation
	}
	if manifest.Generation > 1 {
		// After an upgrade the time of the first installation is not known any more.
		return view
	}
	if manifest.CreationTimestamp.Sub(created) > firstModulesWithin {
		// The module was asked for later than the Kyma.
		created = manifest.CreationTimestamp.Time
	}
	view.ReadyAfter = readyAfter(created, m.State, manifest.Status.Conditions, shared.ConditionInstallation)
	return view
}

// readyAfter is the time from creation to the transition of the condition that says that all is ready.
func readyAfter(created time.Time, state shared.State, conditions []metav1.Condition, kind shared.ConditionType) time.Duration {
	condition := meta.FindStatusCondition(conditions, string(kind))
	if state != shared.StateReady || condition == nil || condition.Status != metav1.ConditionTrue {
		return 0
	}
	return max(condition.LastTransitionTime.Sub(created), time.Second)
}

// Ready tells whether the Kyma and all its modules are Ready.
func (k Kyma) Ready() bool {
	return k.State == shared.StateReady && !slices.ContainsFunc(k.Modules, func(m Module) bool { return m.State != shared.StateReady })
}

// Render draws the tree.
func Render(out io.Writer, kymas []Kyma) error {
	var text strings.Builder
	for _, k := range kymas {
		fmt.Fprintf(&text, "%s  %s  channel %s%s%s\n", k.Name, stateOf(k.State), k.Channel, ready(k), took(k.ReadyAfter, k.Age))
		if k.Operation != "" && k.State != shared.StateReady {
			fmt.Fprintf(&text, "│  %s\n", k.Operation)
		}
		for i, m := range k.Modules {
			branch := "├─"
			if i == len(k.Modules)-1 {
				branch = "└─"
			}
			after := ""
			if m.ReadyAfter > 0 {
				after = "after " + duration.HumanDuration(m.ReadyAfter)
			}
			objects := ""
			if m.Objects != "" {
				objects = m.Objects + " objects"
			}
			cells := []string{branch + " " + m.Name, m.Version, stateOf(m.State), after, objects, firstLine(m.Message)}
			text.WriteString(strings.TrimRight(strings.Join(cells, "\t"), "\t") + "\n")
		}
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	if _, err := table.Write([]byte(text.String())); err != nil {
		return err
	}
	return table.Flush()
}

func stateOf(s shared.State) string {
	if s == shared.StateUnknown {
		return "(no state yet)"
	}
	return string(s)
}

func ready(k Kyma) string {
	if k.ModulesReady == "" {
		return ""
	}
	return "  modules " + k.ModulesReady
}

func took(readyAfter, age time.Duration) string {
	if readyAfter > 0 {
		return "  ready after " + duration.HumanDuration(readyAfter)
	}
	return "  age " + duration.HumanDuration(age)
}

// firstLine keeps a message on its row; the status has the whole.
func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	const most = 100
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
