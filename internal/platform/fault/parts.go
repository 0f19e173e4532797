package fault

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Part names a part of the work on a Kyma that can fail while the others succeed. Its value is also its key in workflow
// histories (MarshalWith), so it never changes.
type Part string

const (
	// PartSync is the synchronization as a whole.
	PartSync Part = "sync"
	// PartInvalid is an edit of the remote Kyma that cannot be accepted.
	PartInvalid Part = "invalid"
	// PartResolve is what writes the Manifests.
	PartResolve Part = "resolve"
	// PartReport is what writes the status.
	PartReport Part = "report"
	// PartDefinitions are the CustomResourceDefinitions in the remote cluster.
	PartDefinitions Part = "definitions"
	// PartCatalog is the module catalog in the remote cluster.
	PartCatalog Part = "catalog"
	// PartPullSecret is the image pull Secret in the remote cluster.
	PartPullSecret Part = "pullSecret"
	// PartMove is the move of the remote Kyma to another place.
	PartMove Part = "move"
	// PartTemplates is the import of templates from the remote cluster.
	PartTemplates Part = "templates"
	// PartAgent is the agent in the remote cluster.
	PartAgent Part = "agent"
)

// Parts are the faults of parts; those that succeeded are not in it.
type Parts map[Part]Fault

// reportOrder is the order in which people should fix parts that failed.
func reportOrder() []Part {
	return []Part{PartSync, PartInvalid, PartResolve, PartDefinitions, PartCatalog, PartPullSecret, PartMove, PartTemplates, PartAgent}
}

// retryOrder is the order in which parts decide about the next attempt. An invalid edit is not in it: only another edit
// helps, which is noticed by itself.
func retryOrder() []Part {
	return []Part{PartSync, PartResolve, PartReport, PartDefinitions, PartCatalog, PartTemplates, PartPullSecret, PartMove, PartAgent}
}

// ToReport is the fault that people should fix first; zero where nothing failed. What is merely not done yet comes last.
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

// ToRetry is the fault that decides about the next attempt: one that can be retried before one that waits for a change;
// zero where nothing failed.
func (p Parts) ToRetry() Fault {
	var worst Fault
	for _, part := range retryOrder() {
		if f := p[part]; worst.IsZero() || worst.Kind == Rejected && !f.IsZero() {
			worst = f
		}
	}
	return worst
}

// Any tells whether the fault of any part is such.
func (p Parts) Any(such func(Fault) bool) bool {
	for _, f := range p {
		if such(f) {
			return true
		}
	}
	return false
}

// With returns a copy in which the part has this fault, or is missing where the fault is zero.
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

// MarshalWith encodes a struct, which must not have the faults itself, with the fault of each part beside its fields:
// `{"outcome": …, "catalog": {"kind": …}}`. Histories have had them so since before there were Parts.
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

// UnmarshalParts decodes what MarshalWith encoded; the rest is what else is there.
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
