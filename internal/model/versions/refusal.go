package versions

import (
	"fmt"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Reasons for which a module entry gets no Manifest, or keeps the one it has. They are used in Events and
// metrics, so they are few and fixed.
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

// Refusal says why a module entry does not get what it asks for. A refused entry never loses the Manifest
// that it has, unless Remove is set.
type Refusal struct {
	Reason string
	// Message is for the status: it says what is wrong. What docs/contract.md#messages lists is that, word for word.
	Message string
	// Hint says what can be done about it in this case; empty where what goes for the reason says it all.
	Hint string
	// State is what the module is shown as: Error, or Warning where what is installed goes on working.
	State shared.State
	// Remove is set where the module is uninstalled, because it is no longer allowed to this Kyma
	// (docs/modules.md#who-may-have-a-module).
	Remove bool
	// Transient is set where trying again may help; Err is then the cause.
	Transient bool
	Err       error
	// Elsewhere names what would help and may change where nobody watches, such as in a registry: another reconcile is due
	// after elsewhereCheck.
	Elsewhere string
}

// IsRetryable tells whether what failed may succeed when it is tried again soon.
func IsRetryable(err error) bool {
	f := fault.Of(err)
	return f.Kind != fault.Rejected && !f.SlowRetry
}

// Refuse is a refusal that makes the module an error. Its message is bounded like that of a fault.
func Refuse(reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fault.Message(fmt.Sprintf(format, args...)), State: shared.StateError}
}

// WithHint adds what can be done about a refusal.
func (r *Refusal) WithHint(format string, args ...any) *Refusal {
	r.Hint = fault.Message(fmt.Sprintf(format, args...))
	return r
}

// Warn is a refusal that makes the module a warning.
func Warn(reason, format string, args ...any) *Refusal {
	r := Refuse(reason, format, args...)
	r.State = shared.StateWarning
	return r
}
