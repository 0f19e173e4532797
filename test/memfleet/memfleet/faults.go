package memfleet

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Faults are what goes wrong in a fleet. The same seed makes the same choices.
type Faults struct {
	Seed  uint64 `json:"seed,omitempty"`
	Rules []Rule `json:"rules,omitempty"`
}

// Rule is one thing that goes wrong. All rules that match a request apply to it, in their order; the first that
// answers it ends that.
type Rule struct {
	// Name is for people.
	Name string `json:"name,omitempty"`
	// Clusters are names, or ranges of names such as 00010-00019. Without any, all clusters are meant.
	Clusters []string `json:"clusters,omitempty"`
	// Share is which part of those clusters has the fault, from 0 to 1; default all. Which ones follows from the seed,
	// the rule's name and the cluster's number.
	Share *float64 `json:"share,omitempty"`
	// Requests is which part of their requests has it; default all.
	Requests *float64 `json:"requests,omitempty"`
	// Verbs and Resources narrow that down: get, list, watch, create, update, patch, delete, deletecollection; plurals
	// such as deployments. Without any, all are meant.
	Verbs     []string `json:"verbs,omitempty"`
	Resources []string `json:"resources,omitempty"`

	// Latency is added before the answer.
	Latency *Latency `json:"latency,omitempty"`
	// BlackHole accepts requests and never answers.
	BlackHole bool `json:"blackHole,omitempty"`
	// Status answers with an error of this HTTP status: 401, 403, 404, 429, 500, 502, 503, 504 or any other.
	Status int `json:"status,omitempty"`
	// RetryAfter goes with the status, in whole seconds.
	RetryAfter metav1.Duration `json:"retryAfter,omitzero"`
	// BytesPerSecond is how fast bodies of answers are sent.
	BytesPerSecond int `json:"bytesPerSecond,omitempty"`
	// StaleWrites answers reads from a state so many writes ago. What happened before the rule was set is seen.
	StaleWrites int `json:"staleWrites,omitempty"`
	// EndWatchesAfter ends watches after so long.
	EndWatchesAfter metav1.Duration `json:"endWatchesAfter,omitzero"`
}

// Latency is how long an answer takes: Fixed, or between Min and Max with all values alike, or, with P50 and P99, spread as
// latencies are (log-normal).
type Latency struct {
	Fixed metav1.Duration `json:"fixed,omitzero"`
	Min   metav1.Duration `json:"min,omitzero"`
	Max   metav1.Duration `json:"max,omitzero"`
	P50   metav1.Duration `json:"p50,omitzero"`
	P99   metav1.Duration `json:"p99,omitzero"`
}

// ParseFaults reads faults as YAML or JSON.
func ParseFaults(text []byte) (Faults, error) {
	var faults Faults
	if err := yaml.UnmarshalStrict(text, &faults); err != nil {
		return Faults{}, fmt.Errorf("read the faults: %w", err)
	}
	return faults, nil
}

// plan is what the faults mean for each cluster; its rules are nil for no faults at all.
type plan struct {
	faults Faults
	rules  [][]*Rule
}

// SetFaults puts these faults in the place of those before.
func (f *Fleet) SetFaults(faults Faults) error {
	next := &plan{faults: faults}
	if len(faults.Rules) > 0 {
		next.rules = make([][]*Rule, len(f.clusters))
	}
	for i := range faults.Rules {
		rule := &faults.Rules[i]
		if err := rule.check(); err != nil {
			return err
		}
		wanted, err := f.choose(rule.Clusters)
		if err != nil {
			return fmt.Errorf("fault %q: %w", rule.Name, err)
		}
		for n := range f.clusters {
			if wanted(n) && (rule.Share == nil || draw(faults.Seed, rule.Name, uint64(n)).Float64() < *rule.Share) { //nolint:gosec // not negative
				next.rules[n] = append(next.rules[n], rule)
			}
		}
	}
	f.lag(next)
	f.plan.Store(next)
	return nil
}

// Faults are those that are set.
func (f *Fleet) Faults() Faults { return f.plan.Load().faults }

func (r *Rule) check() error {
	for _, share := range []*float64{r.Share, r.Requests} {
		if share != nil && (*share < 0 || *share > 1) {
			return fmt.Errorf("fault %q: a share is from 0 to 1", r.Name)
		}
	}
	if r.Status != 0 && (r.Status < http.StatusBadRequest || r.Status > 599) {
		return fmt.Errorf("fault %q: status %d is no error", r.Name, r.Status)
	}
	if l := r.Latency; l != nil && (l.Max.Duration < l.Min.Duration || l.P99.Duration < l.P50.Duration) {
		return fmt.Errorf("fault %q: the latency's upper value is below its lower one", r.Name)
	}
	return nil
}

// choose returns which clusters are meant by names and ranges of names.
func (f *Fleet) choose(names []string) (func(int) bool, error) {
	if len(names) == 0 {
		return func(int) bool { return true }, nil
	}
	type span struct{ from, to int }
	var spans []span
	for _, name := range names {
		first, last, isRange := strings.Cut(name, "-")
		if !isRange {
			last = first
		}
		from, ok1 := f.number(first)
		to, ok2 := f.number(last)
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("%q names no clusters", name)
		}
		spans = append(spans, span{from, to})
	}
	return func(n int) bool {
		return slices.ContainsFunc(spans, func(s span) bool { return s.from <= n && n <= s.to })
	}, nil
}

// lag makes clusters remember what their faults need.
func (f *Fleet) lag(next *plan) {
	for n := range f.clusters {
		most := 0
		if next.rules != nil {
			for _, rule := range next.rules[n] {
				most = max(most, rule.StaleWrites)
			}
		}
		if before := f.plan.Load(); most > 0 || before != nil && before.rules != nil {
			f.at(n).store.Lag(most)
		}
	}
}

// rulesFor are the rules for a cluster.
func (f *Fleet) rulesFor(number int) []*Rule {
	p := f.plan.Load()
	if p.rules == nil {
		return nil
	}
	return p.rules[number]
}

// draw returns random numbers that depend on these values and nothing else.
func draw(seed uint64, name string, values ...uint64) *rand.Rand {
	hash := fnv.New64a()
	// A hash.Hash never returns an error from Write.
	_, _ = hash.Write([]byte(name))
	mixed := hash.Sum64()
	for _, v := range values {
		mixed = (mixed ^ v) * 0x9e3779b97f4a7c15
		mixed ^= mixed >> 29
	}
	return rand.New(rand.NewPCG(seed, mixed)) //nolint:gosec // it is to be repeatable
}

// of draws a latency.
func (l *Latency) of(random *rand.Rand) time.Duration {
	switch {
	case l.P50.Duration > 0 && l.P99.Duration > 0:
		// 2.326 standard deviations above the median are 99 %.
		const z99 = 2.326
		sigma := math.Log(float64(l.P99.Duration)/float64(l.P50.Duration)) / z99
		return time.Duration(float64(l.P50.Duration) * math.Exp(sigma*random.NormFloat64()))
	case l.Max.Duration > l.Min.Duration:
		return l.Min.Duration + time.Duration(random.Int64N(int64(l.Max.Duration-l.Min.Duration)))
	}
	return l.Fixed.Duration + l.Min.Duration
}
