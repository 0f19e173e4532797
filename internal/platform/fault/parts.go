package fault

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Part names a part of the work on a Kyma that can fail while others succeed. Its value is also its key in workflow
// histories (MarshalWith), so it must never change.
type Part string

const (
	// PartSync is the synchronization as a whole.
	PartSync Part = "sync"
	// PartInvalid is an edit of the remote Kyma that we cannot accept.
	PartInvalid Part = "invalid"
	// PartResolve writes the Manifests.
	PartResolve Part = "resolve"
	// PartReport writes the status.
	PartReport Part = "report"
	// PartDefinitions writes the CustomResourceDefinitions in the remote cluster.
	PartDefinitions Part = "definitions"
	// PartCatalog writes the module catalog in the remote cluster.
	PartCatalog Part = "catalog"
	// PartPullSecret writes the image pull Secret in the remote cluster.
	PartPullSecret Part = "pullSecret"
	// PartMove moves the remote Kyma to another place.
	PartMove Part = "move"
	// PartTemplates imports templates from the remote cluster.
	PartTemplates Part = "templates"
	// PartAgent installs the agent in the remote cluster.
	PartAgent Part = "agent"
)

// Parts holds the fault of each part that failed.
type Parts map[Part]Fault

// reportOrder returns the parts in the order in which people should fix them.
func reportOrder() []Part {
	return []Part{PartSync, PartInvalid, PartResolve, PartDefinitions, PartCatalog, PartPullSecret, PartMove, PartTemplates, PartAgent}
}

// retryOrder returns the parts in the order in which they decide about the next attempt. PartInvalid is absent: only
// another edit helps, and an edit triggers an attempt anyway.
func retryOrder() []Part {
	return []Part{PartSync, PartResolve, PartReport, PartDefinitions, PartCatalog, PartTemplates, PartPullSecret, PartMove, PartAgent}
}

// ToReport returns the fault that people should fix first, or a zero Fault if nothing failed. Pending faults come last.
func (p Parts) ToReport() Fault {
	var pending Fault
	for _, part := range reportOrder() {
		switch f := p[part]; {
		case f.IsZero():
		case f.Kind != Pending:
			return f
		case pending.IsZero():
			pending = f
		}
	}
	return pending
}

// ToRetry returns the fault that decides about the next attempt, or a zero Fault if nothing failed. A fault that a
// retry may fix takes precedence over one that waits for a change.
func (p Parts) ToRetry() Fault {
	var worst Fault
	for _, part := range retryOrder() {
		if f := p[part]; worst.IsZero() || worst.Kind == Rejected && !f.IsZero() {
			worst = f
		}
	}
	return worst
}

// Any reports whether the condition holds for the fault of any part.
func (p Parts) Any(such func(Fault) bool) bool {
	for _, f := range p {
		if such(f) {
			return true
		}
	}
	return false
}

// With returns a copy in which the part has this fault. A zero fault removes the part.
func (p Parts) With(part Part, f Fault) Parts {
	all := maps.Clone(p)
	if f.IsZero() {
		delete(all, part)
		return all
	}
	if all == nil {
		all = Parts{}
	}
	all[part] = f
	return all
}

// MarshalWith encodes a struct and adds the fault of each part beside its fields: `{"outcome": …, "catalog": {"kind":
// …}}`. The struct must not contain the faults itself. Histories have used this form since before the type Parts
// existed.
func (p Parts) MarshalWith(rest any) ([]byte, error) {
	encoded, err := json.Marshal(rest)
	if err != nil || len(p) == 0 {
		return encoded, err
	}
	parts, err := json.Marshal(map[Part]Fault(p))
	if err != nil {
		return nil, err
	}
	if string(encoded) == "{}" {
		return parts, nil
	}
	return append(append(encoded[:len(encoded)-1], ','), parts[1:]...), nil
}

// UnmarshalParts decodes the output of MarshalWith: it returns the faults, and decodes the other fields into rest.
func UnmarshalParts(encoded []byte, rest any) (Parts, error) {
	if err := json.Unmarshal(encoded, rest); err != nil {
		return nil, err
	}
	var fields map[Part]json.RawMessage
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, err
	}
	var all Parts
	for _, part := range append(reportOrder(), PartReport) {
		field, there := fields[part]
		if !there {
			continue
		}
		var f Fault
		if err := json.Unmarshal(field, &f); err != nil {
			return nil, fmt.Errorf("decode the fault of %s: %w", part, err)
		}
		all = all.With(part, f)
	}
	return all, nil
}
