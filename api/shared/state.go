package shared

// State says how a Kyma, a module, a Manifest or a Watcher is, in one word.
// +kubebuilder:validation:Enum=Processing;Deleting;Ready;Error;"";Warning;Unmanaged
type State string

// The states. A state is never Ready by default: it is StateUnknown until
// somebody has observed it.
const (
	// StateUnknown is the state before the first reconcile.
	StateUnknown State = ""
	// StateReady means: all is installed as wanted and reports that it works.
	StateReady State = "Ready"
	// StateProcessing means: something is still to be done or waited for.
	StateProcessing State = "Processing"
	// StateError means: something failed and needs a change or a retry.
	StateError State = "Error"
	// StateWarning means: it works, but a person should read the message.
	StateWarning State = "Warning"
	// StateDeleting means: it is being removed.
	StateDeleting State = "Deleting"
	// StateUnmanaged means: the user took the module out of our hands
	// (`managed: false`); what is installed stays as it is.
	StateUnmanaged State = "Unmanaged"
)

// AllStates lists every value that the schemas accept, StateUnknown included.
func AllStates() []State {
	return []State{
		StateUnknown, StateReady, StateProcessing, StateError,
		StateWarning, StateDeleting, StateUnmanaged,
	}
}

// IsKnown reports whether s is one of AllStates. A module's own resource may
// report anything; what is not known must not reach our status.
func (s State) IsKnown() bool {
	for _, known := range AllStates() {
		if s == known {
			return true
		}
	}
	return false
}
