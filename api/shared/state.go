package shared

// State is the state of a Kyma, a module, a Manifest or a Watcher in one word.
// +kubebuilder:validation:Enum=Processing;Deleting;Ready;Error;"";Warning;Unmanaged
type State string

// The states. A state is never Ready by default. It is StateUnknown before the
// first observation.
const (
	// StateUnknown is the state before the first reconcile.
	StateUnknown State = ""
	// StateReady means that everything is installed as desired and reports that
	// it works.
	StateReady State = "Ready"
	// StateProcessing means that something still has to be done or waited for.
	StateProcessing State = "Processing"
	// StateError means that something failed and needs a change or a retry.
	StateError State = "Error"
	// StateWarning means that it works, but a person should read the message.
	StateWarning State = "Warning"
	// StateDeleting means that it is being removed.
	StateDeleting State = "Deleting"
	// StateUnmanaged means that the user set `managed: false`: Lifecycle Manager
	// leaves the installed objects as they are.
	StateUnmanaged State = "Unmanaged"
)

// AllStates returns every value that the schemas accept, including StateUnknown.
func AllStates() []State {
	return []State{
		StateUnknown, StateReady, StateProcessing, StateError,
		StateWarning, StateDeleting, StateUnmanaged,
	}
}

// IsKnown reports whether s is one of AllStates. A module's own resource may
// report any value, but unknown values must not reach our status.
func (s State) IsKnown() bool {
	for _, known := range AllStates() {
		if s == known {
			return true
		}
	}
	return false
}
