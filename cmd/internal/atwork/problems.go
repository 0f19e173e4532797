package atwork

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/tree"
	"github.com/kyma-project/lifecycle-manager/internal/platform/visibility"
)

// problemsEvery is how often a watch checks whether the instances work.
const problemsEvery = 3 * time.Second

// Problems finds out whether the instances of Lifecycle Manager work. It reads the control plane. If no process leads
// an instance, it also asks Temporal about the instance's workers.
type Problems struct {
	reader client.Reader
	// now returns the time to compare leader statuses with. It is the API server's time, because this machine's clock
	// may be wrong.
	now func() time.Time
	// unpolled returns why no worker works for an instance; empty if workers poll. known is false if that cannot be
	// found out.
	unpolled func(ctx context.Context, instance string) (problem string, known bool)

	asked time.Time
	last  map[string]tree.Problem
	// held holds, by instance, the workflows that make no progress until somebody intervenes.
	held map[string][]visibility.HeldWorkflow
	// of holds the instances of the last call of Of.
	of []string
	// recorded holds the instances that have a record.
	recorded map[string]bool
	// unread is why some records may be missing.
	unread error
	// blind is why it is unknown whether one of the instances in the last call of Of works.
	blind error
}

// NewProblems returns the Problems of a control plane. now returns the time of its API server.
func NewProblems(reader client.Reader, now func() time.Time) *Problems {
	return &Problems{reader: reader, now: now, unpolled: pollers{controlPlane: reader}.unpolled}
}

const nobodyLeads = "no process of Lifecycle Manager leads in this control plane"

// Of returns the problems of these instances, or of all instances if none is named. Instances that report no status, as
// in earlier releases, and those that the caller may not read have no problem.
func (p *Problems) Of(ctx context.Context, instances []string) ([]tree.Problem, error) {
	if p.asked.IsZero() || time.Since(p.asked) >= problemsEvery {
		if err := p.read(ctx); err != nil {
			return nil, err
		}
		p.asked = time.Now()
	}
	if len(instances) == 0 {
		instances = slices.Collect(maps.Keys(p.recorded))
	}
	if len(instances) == 0 {
		instances = []string{shared.ManagedByLifecycleManager}
	}
	p.blind, p.of = nil, slices.Compact(slices.Sorted(slices.Values(instances)))
	var found []tree.Problem
	for _, instance := range p.of {
		problem, ok := p.last[instance]
		switch {
		case ok:
			found = append(found, problem)
		case p.recorded[instance]:
		case p.unread != nil:
			p.blind = p.unread
		default:
			// A leader records the settings within seconds, so no process leads this instance.
			problem.Instance, problem.Message = instance, nobodyLeads+p.ofWorkers(ctx, instance, "")
			p.last[instance] = problem // until the next read, because a watch calls more often than Temporal need be asked
			found = append(found, problem)
		}
	}
	return found, nil
}

// Held returns the workflows that make no progress until somebody intervenes, of the working instances in the last call
// of Of.
func (p *Problems) Held() []visibility.HeldWorkflow {
	var all []visibility.HeldWorkflow
	for _, instance := range p.of {
		all = append(all, p.held[instance]...)
	}
	return all
}

// Unknown returns why it is unknown whether one of the instances in the last call of Of works; nil if it is known of
// all.
func (p *Problems) Unknown() error { return p.blind }

func (p *Problems) read(ctx context.Context) error {
	records, unread, err := agreement.Records(ctx, p.reader)
	if err != nil {
		return err
	}
	// An instance that moved to another namespace has two records. The newer one counts.
	newest, beside := map[string]leaderStatus{}, map[string]string{}
	for i := range records {
		record := &records[i]
		var read leaderStatus
		if json.Unmarshal([]byte(record.Annotations[shared.AnnotationLeaderStatus]), &read) != nil || read.At.IsZero() {
			read = leaderStatus{Instance: agreement.InstanceOf(record)}
		}
		if before, known := newest[read.Instance]; !known || before.At.Before(read.At) {
			newest[read.Instance], beside[read.Instance] = read, record.Namespace
		}
	}
	p.last, p.held, p.recorded, p.unread = map[string]tree.Problem{}, map[string][]visibility.HeldWorkflow{}, map[string]bool{}, unread
	for instance, last := range newest {
		p.recorded[instance] = true
		if problem, ok := p.problemOf(ctx, last, beside[instance]); ok {
			p.last[instance] = problem
		} else {
			p.held[instance] = last.Held
		}
	}
	return nil
}

// problemOf returns the problem of an instance, from the last status of its leader. namespace is the namespace of its
// record.
func (p *Problems) problemOf(ctx context.Context, last leaderStatus, namespace string) (tree.Problem, bool) {
	problem := tree.Problem{Instance: last.Instance, Since: last.Since, Message: last.Problem}
	if p.now().Sub(last.At) < leaderStatusMissed {
		return problem, problem.Message != ""
	}
	var lease coordinationv1.Lease
	err := p.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: agreement.LeaseName(last.Instance)}, &lease)
	switch {
	case err == nil && agreement.IsHeld(&lease, p.now(), leaderStatusMissed):
		// An earlier release leads, without a leader status.
		return problem, problem.Message != ""
	case err != nil && last.At.IsZero():
		// An earlier release without leader election leaves no trace of whether it runs.
		return problem, false
	}
	problem.Since, problem.Message = last.At, nobodyLeads+p.ofWorkers(ctx, last.Instance, last.Problem)
	if renewed := lease.Spec.RenewTime; last.At.IsZero() && renewed != nil {
		problem.Since = renewed.Time
	}
	return problem, true
}

// ofWorkers continues the message that no process leads an instance, with Temporal's answer about its workers or else
// with the last leader's report.
func (p *Problems) ofWorkers(ctx context.Context, instance, last string) string {
	if p.unpolled != nil {
		if problem, known := p.unpolled(ctx, instance); known && problem != "" {
			return ", and " + problem
		} else if known {
			return ""
		}
	}
	if last == "" {
		return ""
	}
	return ", and the last leader reported: " + last
}
