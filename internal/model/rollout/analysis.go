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

// Analysis is what Prometheus answered to the queries of a stage, in their order.
type Analysis struct {
	// At is when it was asked.
	At      time.Time
	Answers []Answer
}

// Answer is that to one query.
type Answer struct {
	// Samples are the values; none is that there is no data.
	Samples []Sample
	// Problem says why there is no answer; empty where there is one.
	Problem string
}

// Sample is one value, of one series.
type Sample struct {
	// Series are its labels, such as {pod="a"}; empty where it has none.
	Series string
	Value  float64
}

// Ask are the queries of a stage whose answers Decide needs.
type Ask struct {
	// Stage is the position of the stage, Queries its queries as Prometheus understands them.
	Stage   int
	Queries []string
	// Since is from when on answers count: the stage has settled, or its soak time is over, since.
	Since    time.Time
	Interval time.Duration
}

// Takes tells whether an earlier answer will do: the queries are asked once in an interval, however many steps there are.
func (a *Ask) Takes(earlier Analysis, now time.Time) bool {
	return len(earlier.Answers) == len(a.Queries) && !earlier.At.Before(a.Since) && now.Before(earlier.At.Add(a.Interval))
}

// ToAsk are the queries that must be asked before Decide decides about a situation; nil where none need be, which is so
// unless a stage with an analysis has settled.
func ToAsk(r *v1beta2.ModuleRollout, o Observed, s Situation) *Ask {
	if !slices.ContainsFunc(r.Spec.Plan.Stages, func(stage v1beta2.RolloutStage) bool { return len(stage.Analysis) > 0 }) {
		return nil
	}
	return decide(r, o, s).ask
}

// analyse tells how the analysis of a stage is that has settled: Passed, Failed, to which it reacts, or Waiting. Again is when
// to ask the next time. What was seen is shown as it was when it came to its state, so that a status is written only when there
// is something new to it.
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
		d.remedies = fmt.Sprintf("It goes on when that is well again, for which Prometheus is asked every %s. "+
			"Otherwise give the channel another version, or set spec.skipAnalysis, spec.revert or spec.abort", plan.analysisInterval)
		d.react(d.whyFailed(plan, plan.analysis[failed], st.Analysis[failed]), true)
		if d.status.Phase == v1beta2.RolloutHeld {
			d.until = again
		}
		return v1beta2.AnalysisFailed, again
	case had:
		st.SettledAt = &d.now // it was not well meanwhile
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

// quoted is a text as a PromQL string of either quotes has it, which it cannot end.
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

// judgeAnswer tells what an answer means: a value that is not as it should be goes before one that is missing.
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
		s.Message = "the query gives no value"
		if query.OnNoData == v1beta2.NoDataPass {
			s.State = v1beta2.AnalysisPassed
		}
	default:
		s.State, s.Value, s.Message = v1beta2.AnalysisPassed, decimal(samples[0].Value), cut(samples[0].Series)
	}
	return s
}

func decimal(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

// isOutside tells whether a value is not between the bounds; one that is no number is not known to be.
func isOutside(query v1beta2.RolloutAnalysis, value float64) bool {
	low, errLow := strconv.ParseFloat(query.Min, 64)
	high, errHigh := strconv.ParseFloat(query.Max, 64) // the schema refuses what is neither empty nor a number
	return errLow == nil && value < low || errHigh == nil && value > high
}

// since is what is shown of a query now: what was shown before, where nothing of note has changed. One that failed has failed
// until it does well: that Prometheus does not answer says nothing.
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
		isSame = err == nil && isOutside(query, value) == (now.State == v1beta2.AnalysisFailed) // by bounds that somebody may have edited
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
	return fmt.Sprintf("query %s of stage %s gives %s%s with version %s, and may give %s", query.Name, plan.Name, s.Value, of, d.rollout.Spec.To, bounds(query))
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

// waitForAnalysis waits for the answers without which a stage is not over.
func (d *decider) waitForAnalysis(st *v1beta2.RolloutStageStatus, plan stagePlan) {
	what := fmt.Sprintf("the analysis of stage %s", plan.Name)
	if at := slices.IndexFunc(st.Analysis, isIn(v1beta2.AnalysisWaiting)); at >= 0 {
		what += fmt.Sprintf(", query %s, asked every %s: %s. spec.skipAnalysis goes on without it", st.Analysis[at].Name, plan.analysisInterval, st.Analysis[at].Message)
	}
	d.wait(v1beta2.RolloutSoaking, what, time.Time{})
}
