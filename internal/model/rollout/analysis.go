package rollout

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Analysis has the answers of Prometheus to the queries of a stage, in the order of the queries.
type Analysis struct {
	// At is when the queries were sent.
	At      time.Time
	Answers []Answer
}

// Answer is the answer to one query.
type Answer struct {
	// Samples are the values; none means that there is no data.
	Samples []Sample
	// Problem says why there is no answer; empty if there is one.
	Problem string
}

// Sample is the value of one series.
type Sample struct {
	// Series are the labels, such as {pod="a"}; empty if there are none.
	Series string
	Value  float64
}

// Ask are the queries of a stage. Decide needs the answers.
type Ask struct {
	// Stage is the position of the stage. Queries are its queries with placeholders replaced.
	Stage   int
	Queries []string
	// Since is the earliest time of an answer that counts: when the stage settled or, after its soak time, when that
	// ended.
	Since    time.Time
	Interval time.Duration
}

// Takes reports whether an earlier answer can be used. Queries are sent only once in an interval, however many steps
// there are.
func (a *Ask) Takes(earlier Analysis, now time.Time) bool {
	return len(earlier.Answers) == len(a.Queries) && !earlier.At.Before(a.Since) && now.Before(earlier.At.Add(a.Interval))
}

// ToAsk returns the queries that must be answered before Decide can decide. It returns nil unless a stage with an
// analysis has settled.
func ToAsk(r *v1beta2.ModuleRollout, o Observed, s Situation) *Ask {
	if !slices.ContainsFunc(r.Spec.Plan.Stages, func(stage v1beta2.RolloutStage) bool { return len(stage.Analysis) > 0 }) {
		return nil
	}
	return decide(r, o, s).ask
}

// analyse evaluates the analysis of a settled stage: Passed, Failed (then it also reacts), or Waiting. Again is when to
// ask next. The status keeps the first values of each state, so that it is written only if there is news.
func (d *decider) analyse(st *v1beta2.RolloutStageStatus, plan stagePlan) (state v1beta2.AnalysisState, again time.Time) {
	if len(plan.analysis) == 0 || st.SoakedAt != nil {
		return v1beta2.AnalysisPassed, time.Time{}
	}
	stage := int(d.status.Stage)
	analysis, asked := d.Analyses[stage]
	switch {
	case d.NoAnalysis != "":
		analysis = Analysis{At: d.Now, Answers: slices.Repeat([]Answer{{Problem: d.NoAnalysis}}, len(plan.analysis))}
	case !asked || len(analysis.Answers) != len(plan.analysis):
		d.ask = d.askOf(st, plan)
		return v1beta2.AnalysisWaiting, d.Now.Add(plan.analysisInterval)
	}
	again = analysis.At.Add(plan.analysisInterval)
	before, had := st.Analysis, hasState(st.Analysis, v1beta2.AnalysisFailed)
	st.Analysis = make([]v1beta2.RolloutAnalysisStatus, len(plan.analysis))
	for i, query := range plan.analysis {
		st.Analysis[i] = d.since(before, judgeAnswer(query, analysis.Answers[i]), query)
	}
	switch failed := slices.IndexFunc(st.Analysis, isIn(v1beta2.AnalysisFailed)); {
	case failed >= 0:
		d.remedies = fmt.Sprintf("The rollout continues when the query passes again (asked every %s). "+
			"Otherwise give the channel another version, or set spec.skipAnalysis, spec.revert or spec.abort", plan.analysisInterval)
		d.react(d.whyFailed(plan, plan.analysis[failed], st.Analysis[failed]), true)
		if d.status.Phase == v1beta2.RolloutHeld {
			d.until = again
		}
		return v1beta2.AnalysisFailed, again
	case had:
		st.SettledAt = &d.now // the queries failed in the meantime
	}
	if hasState(st.Analysis, v1beta2.AnalysisWaiting) {
		return v1beta2.AnalysisWaiting, again
	}
	return v1beta2.AnalysisPassed, again
}

func isIn(state v1beta2.AnalysisState) func(v1beta2.RolloutAnalysisStatus) bool {
	return func(s v1beta2.RolloutAnalysisStatus) bool { return s.State == state }
}

func hasState(all []v1beta2.RolloutAnalysisStatus, state v1beta2.AnalysisState) bool {
	return slices.ContainsFunc(all, isIn(state))
}

func (d *decider) askOf(st *v1beta2.RolloutStageStatus, plan stagePlan) *Ask {
	ask := &Ask{Stage: int(d.status.Stage), Since: st.SettledAt.Time, Interval: plan.analysisInterval}
	if over := ask.Since.Add(plan.soak); !d.Now.Before(over) {
		ask.Since = over
	}
	spec := d.rollout.Spec
	values := map[string]string{"$module": spec.ModuleName, "$version": spec.To, "$channel": spec.Channel, "$stage": plan.Name}
	for _, query := range plan.analysis {
		ask.Queries = append(ask.Queries, placeholder.ReplaceAllStringFunc(query.Query, func(name string) string { return quoted(values[name]) }))
	}
	return ask
}

var placeholder = regexp.MustCompile(`\$(module|version|channel|stage)\b`)

// quoted escapes a text for a PromQL string with either kind of quotes, so that the text cannot end the string.
func quoted(text string) string {
	var escaped strings.Builder
	for _, b := range []byte(text) {
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("._+-", b) >= 0 {
			escaped.WriteByte(b)
			continue
		}
		fmt.Fprintf(&escaped, `\x%02x`, b)
	}
	return escaped.String()
}

// judgeAnswer evaluates an answer. A value outside the bounds goes before a missing value.
func judgeAnswer(query v1beta2.RolloutAnalysis, answer Answer) v1beta2.RolloutAnalysisStatus {
	s := v1beta2.RolloutAnalysisStatus{Name: query.Name, State: v1beta2.AnalysisWaiting}
	if answer.Problem != "" {
		s.Message = cut(answer.Problem)
		return s
	}
	samples := slices.SortedFunc(slices.Values(answer.Samples), func(a, b Sample) int { return cmp.Compare(a.Series, b.Series) })
	outside := slices.DeleteFunc(slices.Clone(samples), func(one Sample) bool { return !isOutside(query, one.Value) })
	switch {
	case len(outside) > 0:
		s.State, s.Value, s.Message = v1beta2.AnalysisFailed, decimal(outside[0].Value), cut(outside[0].Series)
		if more := len(outside) - 1; more > 0 {
			s.Message += fmt.Sprintf(" and %d more of %d", more, len(samples))
		}
	case len(samples) == 0 || slices.ContainsFunc(samples, func(one Sample) bool { return math.IsNaN(one.Value) }):
		s.Message = "the query returns no value"
		if query.OnNoData == v1beta2.NoDataPass {
			s.State = v1beta2.AnalysisPassed
		}
	default:
		s.State, s.Value, s.Message = v1beta2.AnalysisPassed, decimal(samples[0].Value), cut(samples[0].Series)
	}
	return s
}

func decimal(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

// isOutside reports whether a value is outside the bounds. NaN is not.
func isOutside(query v1beta2.RolloutAnalysis, value float64) bool {
	low, errLow := strconv.ParseFloat(query.Min, 64)
	high, errHigh := strconv.ParseFloat(query.Max, 64) // the schema refuses a bound that is neither empty nor a number
	return errLow == nil && value < low || errHigh == nil && value > high
}

// since returns the status of a query: the previous one unless something relevant has changed. A failed query stays
// failed until it passes. Without an answer, nothing is known.
func (d *decider) since(before []v1beta2.RolloutAnalysisStatus, now v1beta2.RolloutAnalysisStatus, query v1beta2.RolloutAnalysis) v1beta2.RolloutAnalysisStatus {
	now.Since = &d.now
	at := slices.IndexFunc(before, func(s v1beta2.RolloutAnalysisStatus) bool { return s.Name == now.Name })
	if at < 0 {
		return now
	}
	was := before[at]
	if was.State == v1beta2.AnalysisFailed && now.State == v1beta2.AnalysisWaiting {
		return was
	}
	if was.State != now.State {
		return now
	}
	now.Since = was.Since
	value, err := strconv.ParseFloat(was.Value, 64)
	isSame := Signature("", was.Message, "") == Signature("", now.Message, "")
	if now.Value != "" {
		isSame = err == nil && isOutside(query, value) == (now.State == v1beta2.AnalysisFailed) // the bounds may have been edited
	}
	if isSame {
		return was
	}
	return now
}

func (d *decider) whyFailed(plan stagePlan, query v1beta2.RolloutAnalysis, s v1beta2.RolloutAnalysisStatus) string {
	of := ""
	if s.Message != "" {
		of = " for " + s.Message
	}
	return fmt.Sprintf("query %s of stage %s returns %s%s with version %s; allowed: %s", query.Name, plan.Name, s.Value, of, d.rollout.Spec.To, bounds(query))
}

func bounds(query v1beta2.RolloutAnalysis) string {
	switch {
	case query.Min == "":
		return "at most " + query.Max
	case query.Max == "":
		return "at least " + query.Min
	default:
		return query.Min + " to " + query.Max
	}
}

// waitForAnalysis waits for the answers that the end of a stage needs.
func (d *decider) waitForAnalysis(st *v1beta2.RolloutStageStatus, plan stagePlan) {
	what := fmt.Sprintf("the analysis of stage %s", plan.Name)
	if at := slices.IndexFunc(st.Analysis, isIn(v1beta2.AnalysisWaiting)); at >= 0 {
		what += fmt.Sprintf(", query %s, asked every %s: %s. To continue without it, set spec.skipAnalysis", st.Analysis[at].Name, plan.analysisInterval, st.Analysis[at].Message)
	}
	d.wait(v1beta2.RolloutSoaking, what, time.Time{})
}
