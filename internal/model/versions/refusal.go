package versions

import (
	"fmt"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Reasons why a module entry gets no Manifest, or keeps the one it has. Events and metrics use them, so they are few
// and fixed.
const (
	ReasonNotFound            = "ModuleNotFound"
	ReasonNoVersionForChannel = "NoVersionForChannel"
	ReasonTemplateNotFound    = "ModuleTemplateNotFound"
	ReasonAmbiguous           = "ModuleAmbiguous"
	ReasonOtherController     = "OtherController"
	ReasonMandatory           = "ModuleMandatory"
	ReasonNotAllowed          = "ModuleNotAllowed"
	ReasonDowngrade           = "DowngradeRefused"
	ReasonDuplicateComponent  = "DuplicateComponent"
	ReasonComponentChanged    = "ComponentChanged"
	ReasonTargetChanged       = "TargetChanged"
	ReasonSyncDisabled        = "SyncDisabled"
	ReasonSharedVersion       = "SharedModuleVersion"
	ReasonInvalidDescriptor   = "InvalidDescriptor"
	ReasonSignature           = "SignatureRefused"
	ReasonUnsupportedLayer    = "UnsupportedLayer"
	ReasonInvalidDefaultCR    = "InvalidDefaultCR"
	ReasonDescriptorMissing   = "DescriptorUnavailable"
	ReasonNameCollision       = "ManifestNameCollision"
	ReasonKymaName            = "KymaNameTooLong"
	ReasonTooManyModules      = "TooManyModules"
)

// Refusal says why a module entry does not get what it asks for. A refused entry keeps its Manifest, unless Remove is
// set.
type Refusal struct {
	Reason string
	// Message is for the status: it says what is wrong. Messages in docs/contract.md#messages must match it word for
	// word.
	Message string
	// Hint says what to do in this case. It is empty if the general hint for the reason is enough.
	Hint string
	// State is the state of the module: Error, or Warning if the installed version continues to work.
	State shared.State
	// Remove is set if the module must be uninstalled because this Kyma may no longer have it
	// (docs/modules.md#who-may-have-a-module).
	Remove bool
	// Transient is set if a retry may help; Err is then the cause.
	Transient bool
	Err       error
	// Elsewhere names what must change and is not watched, for example an artifact in a registry. If it is set, the
	// next reconcile is due after elsewhereCheck.
	Elsewhere string
}

// IsRetryable reports whether a failed operation may succeed if it is retried soon.
func IsRetryable(err error) bool {
	f := fault.Of(err)
	return f.Kind != fault.Rejected && !f.SlowRetry
}

// Refuse returns a refusal that puts the module into state Error. Its message is limited like the message of a fault.
func Refuse(reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fault.Message(fmt.Sprintf(format, args...)), State: shared.StateError}
}

// WithHint sets the hint of a refusal.
func (r *Refusal) WithHint(format string, args ...any) *Refusal {
	r.Hint = fault.Message(fmt.Sprintf(format, args...))
	return r
}

// Warn returns a refusal that puts the module into state Warning.
func Warn(reason, format string, args ...any) *Refusal {
	r := Refuse(reason, format, args...)
	r.State = shared.StateWarning
	return r
}
