package record

import (
	"fmt"
)

// Limits are the most of what there may be in a phase: numbers, and never times, which differ from machine to machine. Of
// the requests to the control plane those do not count that processes make for themselves, such as for leases.
type Limits struct {
	RemoteRequests     *float64 `json:"remoteRequests,omitempty"`
	RemoteWrites       *float64 `json:"remoteWrites,omitempty"`
	ControlPlaneReads  *float64 `json:"controlPlaneReads,omitempty"`
	ControlPlaneWrites *float64 `json:"controlPlaneWrites,omitempty"`
	ControlPlaneLists  *float64 `json:"controlPlaneLists,omitempty"`
	// PerKyma are limits for the average of the phase's Kymas.
	PerKyma *LimitsPerKyma `json:"perKyma,omitempty"`
}

// LimitsPerKyma are limits for the average of the Kymas of a phase.
type LimitsPerKyma struct {
	RemoteRequests     *float64 `json:"remoteRequests,omitempty"`
	ControlPlaneReads  *float64 `json:"controlPlaneReads,omitempty"`
	ControlPlaneWrites *float64 `json:"controlPlaneWrites,omitempty"`
	// HistoryEvents are those of the phase, of the Kyma in the middle: where few are measured, a slow one would change the average.
	HistoryEvents *float64 `json:"historyEvents,omitempty"`
}

// Exceeded says what was more than its limit.
func (l *Limits) Exceeded(p Phase) []string {
	if l == nil {
		return nil
	}
	var all []string
	check := func(name string, most *float64, was float64) {
		if most != nil && was > *most {
			all = append(all, fmt.Sprintf("%s: %g, at most %g expected", name, Round(was), *most))
		}
	}
	own := p.ControlPlane.ofEntities()
	remote, writes, reads := float64(p.Remote.total()), float64(own.writes()), float64(own.reads())
	check("remoteRequests", l.RemoteRequests, remote)
	check("remoteWrites", l.RemoteWrites, float64(p.Remote.writes()))
	check("controlPlaneReads", l.ControlPlaneReads, reads)
	check("controlPlaneWrites", l.ControlPlaneWrites, writes)
	check("controlPlaneLists", l.ControlPlaneLists, float64(own.lists()))
	if each := l.PerKyma; each != nil {
		n := float64(max(1, p.Kymas))
		check("remoteRequests per Kyma", each.RemoteRequests, remote/n)
		check("controlPlaneReads per Kyma", each.ControlPlaneReads, reads/n)
		check("controlPlaneWrites per Kyma", each.ControlPlaneWrites, writes/n)
		var events int64
		for _, h := range p.Histories {
			events += h.InPhase
		}
		check("historyEvents per Kyma", each.HistoryEvents, float64(events))
	}
	return all
}
