package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/kymas"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// next returns the desired status of a Kyma. If nothing changed, it equals the current status: a time only changes
// together with the fact that it belongs to.
func next(o observation) v1beta2.KymaStatus {
	status := *o.kyma.Status.DeepCopy()
	deleting := !o.kyma.DeletionTimestamp.IsZero()

	setReachable(&status, o)
	status.RemovalHeldSince = o.heldSince()
	status.Modules = moduleStatuses(o)
	if since, out := outOfReach(status.Remote, o); out {
		markStale(status.Modules, o.manifests, since)
	}
	status.ModulesReady = modulesReady(status.Modules)
	status.Manifests = recorded(o)
	status.Planned = slices.DeleteFunc(status.Planned, func(p v1beta2.PlannedManifest) bool { return !slices.Contains(status.Manifests, p.Name) })
	setConditions(&status, o, deleting)
	setEditIgnored(&status, o, deleting)
	status.State = state(status, o.worst(), deleting)
	status.WaitsForChange = waitsForChange(o)
	said := operation(status, o, deleting)
	// A hint about the edit would not help with any other message. The condition has its own message.
	if said.hint == "" && status.State == shared.StateReady && meta.IsStatusConditionTrue(status.Conditions, string(shared.ConditionRemoteKymaDecides)) {
		said.hint = desired.EditIgnoredHint(o.view.Sync)
	}
	status.LastOperation = v1beta2.NextLastOperation(status.LastOperation, fault.Message(said.message), seconds(o.now)).WithHint(fault.Message(said.hint))
	if status.State == shared.StateReady || status.State == shared.StateWarning {
		status.ActiveChannel = o.view.Wanted.Channel
	}
	switch {
	case deleting:
	case o.in.InputsDigest != "":
		status.InputsDigest = o.in.InputsDigest
		if o.in.InputsDigest == o.view.InputsDigest {
			status.ObservedGeneration = o.kyma.Generation
		}
	case o.in.Parked:
		status.InputsDigest = o.view.InputsDigest
		status.ObservedGeneration = o.kyma.Generation
	}
	return status
}

// recorded returns the names of existing Manifests, and of those that will be created.
func recorded(o observation) []string {
	planned := o.view.Names(&v1beta2.Kyma{})
	planned = append(planned, lists.Map(lists.Pointers(o.manifests), func(each *v1beta2.Manifest) string { return each.Name })...)
	return desired.Recorded(planned, nil)
}

func state(status v1beta2.KymaStatus, worst fault.Fault, deleting bool) shared.State {
	var modules []shared.State
	modules = append(modules, lists.Map(status.Modules, func(module v1beta2.ModuleStatus) shared.State { return module.State })...)
	if !worst.IsZero() && worst.Kind != fault.Pending {
		modules = append(modules, shared.StateError)
	}
	if status.RemovalHeldSince != nil {
		modules = append(modules, shared.StateWarning) // even if no module in the status shows it
	}
	var conditions []metav1.ConditionStatus
	for _, condition := range status.Conditions {
		conditions = append(conditions, condition.Status)
	}
	return Aggregate(deleting, modules, conditions)
}

// setConditions sets the conditions that apply to this Kyma and removes the others. Times change only on a transition. On
// a Kyma under deletion only the condition of its modules changes.
func setConditions(status *v1beta2.KymaStatus, o observation, deleting bool) {
	modulesReady := o.view.Wanted.Complete && o.in.Faults[fault.PartResolve].IsZero()
	for _, module := range status.Modules {
		modulesReady = modulesReady && weight(module.State) == 0
	}
	set := func(condition shared.ConditionType, isTrue bool) {
		value := metav1.ConditionFalse
		if isTrue {
			value = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: string(condition), Status: value, Reason: shared.ReasonReady,
			Message:            shared.ConditionMessage(condition, isTrue),
			ObservedGeneration: o.kyma.Generation, LastTransitionTime: seconds(o.now),
		})
	}
	set(shared.ConditionModules, modulesReady && !deleting)
	if deleting {
		return
	}
	synced := o.in.Faults[fault.PartSync].IsZero() && desired.IsAccepted(o.kyma)
	setWhere := func(wanted bool, condition shared.ConditionType, part fault.Part) {
		if wanted {
			set(condition, synced && o.in.Faults[part].IsZero())
		} else {
			meta.RemoveStatusCondition(&status.Conditions, string(condition))
		}
	}
	switch {
	case o.view.Sync.Enabled && o.watching:
		set(shared.ConditionSKRWebhook, synced && o.agentWaitsFor() == nil)
	case !o.view.Sync.Enabled || synced && o.in.Synced && o.in.Faults[fault.PartAgent].IsZero():
		// The condition is upstream's, or from a time when there were events. The synchronization has removed the agent,
		// so nothing else would ever update the condition.
		meta.RemoveStatusCondition(&status.Conditions, string(shared.ConditionSKRWebhook))
	}
	enabled := o.view.Sync.Enabled
	setWhere(enabled, shared.ConditionCRDsSync, fault.PartDefinitions)
	setWhere(enabled && o.view.Sync.Catalog, shared.ConditionModuleCatalog, fault.PartCatalog)
	setWhere(enabled && o.pullSecret, shared.ConditionSKRImagePullSecretSync, fault.PartPullSecret)
}

// operation returns the last operation, or what the Kyma waits for, or its error (docs/contract.md#states).
func operation(status v1beta2.KymaStatus, o observation, deleting bool) operationText {
	if deleting {
		return removal(o)
	}
	switch status.State {
	case shared.StateReady:
		return operationText{shared.OperationKymaReady, noWindow(o)}
	case shared.StateError:
		if worst := o.worst(); !worst.IsZero() {
			return operationText{worst.Message, hint.Or(worst.Hint, worst.Reason)}
		}
		return ofModule(status.Modules, shared.StateError)
	case shared.StateWarning:
		if held := o.held(); !held.IsZero() && !slices.ContainsFunc(status.Modules, func(m v1beta2.ModuleStatus) bool { return m.State == shared.StateWarning }) {
			return operationText{held.Message, held.Hint}
		}
		return ofModule(status.Modules, shared.StateWarning)
	default:
		if !o.view.Wanted.Complete || o.kyma.Status.State == shared.StateUnknown && len(o.manifests) == 0 {
			return operationText{message: shared.OperationStartedProcessing}
		}
		if worst := o.worst(); worst.Kind == fault.Pending && meta.IsStatusConditionTrue(status.Conditions, string(shared.ConditionModules)) {
			return operationText{message: worst.Message}
		}
		if agent := o.agentWaitsFor(); agent != nil && meta.IsStatusConditionTrue(status.Conditions, string(shared.ConditionModules)) {
			return *agent
		}
		return operationText{message: shared.OperationWaitingForModules}
	}
}

// noWindow names the modules that wait for a maintenance window that will not come before the policy changes. The
// installed versions are ready, so nothing else in the Kyma's status shows this.
func noWindow(o observation) string {
	var names []string
	problem := ""
	for _, plan := range slices.Concat(o.view.Modules, o.view.Mandatory) {
		if plan.Window != nil && plan.Window.Problem != "" {
			names, problem = append(names, plan.Name), plan.Window.Problem
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "not updated: " + fault.List(names, ", ", maxListed) + "; " + problem
}

// purgeNote returns the time of the purge, for the end of the message.
func (o observation) purgeNote() string {
	note := ""
	switch {
	case o.in.Purging:
		note = "; it is being purged"
	case !o.purge.IsZero() && o.held().IsZero():
		note = "; it will be purged at " + o.purge.Format(time.RFC3339)
	}
	if o.purgeProblem != "" {
		note += " (" + o.purgeProblem + ")"
	}
	return note
}

// removal returns what a deletion waits for, after the fault if there is one. If the contract fixes the wording of a
// message, the rest goes into the hint.
func removal(o observation) operationText {
	worst := o.worst()
	todo := o.orPurge(worst)
	switch {
	case len(o.manifests) == 0 && kymas.Released(o.kyma):
		return operationText{shared.OtherFinalizersPresent(o.kyma.Finalizers), hint.OtherFinalizers}
	case worst.Message == shared.MessageAccessSecretNotFound:
		return operationText{worst.Message, strings.Join(slices.DeleteFunc([]string{todo, remaining(o) + o.purgeNote()},
			func(part string) bool { return part == "" }), "; ")}
	case !worst.IsZero() && len(o.manifests) > 0:
		return operationText{fault.Shorten(worst.Message, maxListed) + "; " + remaining(o) + o.purgeNote(), todo}
	case !worst.IsZero():
		return operationText{fault.Shorten(worst.Message, fault.MaxMessage-len(o.purgeNote())) + o.purgeNote(), todo}
	case len(o.manifests) == 0 && o.in.Waiting != "":
		return operationText{message: fault.Shorten(o.in.Waiting, fault.MaxMessage-len(o.purgeNote())) + o.purgeNote()}
	}
	return operationText{remaining(o) + o.purgeNote(), toDo(o)}
}

// orPurge returns what can be done about a blocked deletion. A cluster that is permanently gone never answers.
func (o observation) orPurge(worst fault.Fault) string {
	todo := hint.Or(worst.Hint, worst.Reason)
	if worst.Kind != fault.Unreachable || o.in.Purging {
		return todo
	}
	purge := fmt.Sprintf("if the cluster is permanently gone, lifecycle-manager purge %s -n %s ends the deletion now", o.kyma.Name, o.kyma.Namespace)
	if todo == "" {
		return purge
	}
	return todo + "; " + purge
}

// toDo returns the hints for the removals of modules.
func toDo(o observation) string {
	var all []string
	for i := range o.manifests {
		if m := &o.manifests[i]; waits(m) && m.Status.LastOperation.Hint != "" {
			all = append(all, moduleName(o.kyma, m)+": "+m.Status.LastOperation.Hint)
		}
	}
	slices.Sort(all)
	return fault.List(all, "; ", fault.MaxMessage)
}

// maxListed is the maximum number of bytes for the modules in a message, and for an error before them. The time of a
// purge comes last and must not be cut off.
const maxListed = 384

// remaining names the modules that have yet to be removed.
func remaining(o observation) string {
	var names []string
	names = append(names, lists.Map(lists.Pointers(o.manifests), func(each *v1beta2.Manifest) string { return awaited(o.kyma, each) })...)
	slices.Sort(names)
	if len(names) == 0 {
		return shared.OperationWaitingForRemoval
	}
	return shared.OperationWaitingForRemoval + ": " + fault.List(names, ", ", maxListed)
}

// awaited returns the name of a module under removal, and what its removal waits for.
func awaited(kyma *v1beta2.Kyma, m *v1beta2.Manifest) string {
	name := moduleName(kyma, m)
	if waits(m) {
		return name + " (" + m.Status.LastOperation.Operation + ")"
	}
	return name
}

func ofModule(modules []v1beta2.ModuleStatus, state shared.State) operationText {
	for _, module := range modules {
		if module.State == state {
			if module.Message == "" {
				return operationText{fmt.Sprintf("module %s is in state %s", module.Name, state), module.Hint}
			}
			return operationText{fmt.Sprintf("module %s: %s", module.Name, module.Message), module.Hint}
		}
	}
	return operationText{message: string(state)}
}

// modulesReady returns the number of ready modules for people, for example "3/4".
func modulesReady(modules []v1beta2.ModuleStatus) string {
	ready := 0
	for _, module := range modules {
		if module.State == shared.StateReady {
			ready++
		}
	}
	return fmt.Sprintf("%d/%d", ready, len(modules))
}
