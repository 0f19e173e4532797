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

// problemsEvery is how often a watch asks whether the instances work.
const problemsEvery = 3 * time.Second

// Problems finds out whether the instances of Lifecycle Manager work: from the control plane, and about workers of an
// instance that nobody leads from Temporal too.
type Problems struct {
	reader client.Reader
	// now is the time that leader statuses are compared with: the API server's, since this machine's may be wrong.
	now func() time.Time
	// unpolled returns why no worker does anything for an instance, empty if workers poll. known is false if that cannot be found out.
	unpolled func(ctx context.Context, instance string) (problem string, known bool)

	asked time.Time
	last  map[string]tree.Problem
	// held are the workflows of each instance that make no progress until somebody helps.
	held map[string][]visibility.HeldWorkflow
	// of are the instances that were asked for last.
	of []string
	// recorded are the instances that have a record.
	recorded map[string]bool
	// unread is why some records may be missing among these.
	unread error
	// blind is why nobody knows whether one of the instances works that were asked for.
	blind error
}

// NewProblems returns what asks a control plane. Now is the time of its API server.
func NewProblems(reader client.Reader, now func() time.Time) *Problems {
	return &Problems{reader: reader, now: now, unpolled: pollers{controlPlane: reader}.unpolled}
}

const nobodyLeads = "no process of Lifecycle Manager leads in this control plane"

// Of returns the problems of the instances with these names, without names those of all. An instance that says nothing of
// itself, as earlier releases do, has none, and neither has one that the caller may not read about.
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
			// Whoever leads records the settings within seconds.
			problem.Instance, problem.Message = instance, nobodyLeads+p.ofWorkers(ctx, instance, "")
			p.last[instance] = problem // until the next read: a watch asks more often than Temporal need be asked
			found = append(found, problem)
		}
	}
	return found, nil
}

// Held returns the workflows that make no progress until somebody helps, of those instances that Of was asked about last and
// that work.
func (p *Problems) Held() []visibility.HeldWorkflow {
	var all []visibility.HeldWorkflow
	for _, instance := range p.of {
		all = append(all, p.held[instance]...)
	}
	return all
}

// Unknown is why nobody knows whether one of the instances works that Of was asked about last; nil if it is known of all.
func (p *Problems) Unknown() error { return p.blind }

func (p *Problems) read(ctx context.Context) error {
	records, unread, err := agreement.Records(ctx, p.reader)
	if err != nil {
		return err
	}
	// An instance whose namespace was changed has two records. The newer one counts.
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

// problemOf is what is wrong with an instance whose record is in a namespace, by what its leader said last.
func (p *Problems) problemOf(ctx context.Context, last leaderStatus, namespace string) (tree.Problem, bool) {
	problem := tree.Problem{Instance: last.Instance, Since: last.Since, Message: last.Problem}
	if p.now().Sub(last.At) < leaderStatusMissed {
		return problem, problem.Message != ""
	}
	var lease coordinationv1.Lease
	err := p.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: agreement.LeaseName(last.Instance)}, &lease)
	switch {
	case err == nil && agreement.IsHeld(&lease, p.now(), leaderStatusMissed):
		// An earlier release leads without a leader status.
		return problem, problem.Message != ""
	case err != nil && last.At.IsZero():
		// An earlier release that elects no leader leaves nothing that shows whether it runs.
		return problem, false
	}
	problem.Since, problem.Message = last.At, nobodyLeads+p.ofWorkers(ctx, last.Instance, last.Problem)
	if renewed := lease.Spec.RenewTime; last.At.IsZero() && renewed != nil {
		problem.Since = renewed.Time
	}
	return problem, true
}

// ofWorkers continues a message that nobody leads an instance: by what Temporal says of its workers, otherwise by what the
// last leader said.
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
	return ", and the last one said: " + last
}
