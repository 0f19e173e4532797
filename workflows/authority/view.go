package authority

import (
	"fmt"
	"strings"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// View answers the status query, and becomes the current details.
type View struct {
	Doing string    `json:"doing,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Next is the time of the next rotation if no kick comes earlier.
	Next        time.Time                   `json:"next,omitzero"`
	LastFault   fault.Fault                 `json:"lastFault,omitzero"`
	Authorities []certificates.AuthorityRow `json:"authorities,omitempty"`
	Listener    certificates.ListenerRow    `json:"listener,omitzero"`
	Late        []string                    `json:"late,omitempty"`
	// Done lists the last steps that were done.
	Done []string `json:"done,omitempty"`
}

// Values of View.Doing.
const (
	doingRotate = "rotating authorities"
	doingWait   = "waiting"
)

// maxDone bounds View.Done, which runs carry and show.
const maxDone = 10

func (v *View) do(what string, now time.Time) {
	if v.Doing != what {
		v.Doing, v.Since = what, now
	}
}

func (v *View) take(result certificates.Rotated) {
	v.LastFault = fault.Fault{}
	v.Authorities, v.Listener, v.Late = result.Authorities, result.Listener, result.Late
	v.Done = append(v.Done, result.Done...)
	v.Done = v.Done[max(0, len(v.Done)-maxDone):]
}

// Markdown returns the view as a short text: current work, late steps, a table of authorities, and the last steps.
func (v View) Markdown() string {
	var b strings.Builder
	b.WriteString("Certificate authorities of agents and listener\n\n")
	waitingFor := ""
	if v.Doing == doingWait {
		waitingFor = "the next check at " + v.Next.UTC().Format(time.RFC3339)
	}
	b.WriteString(view.Now(v.Doing, waitingFor, v.Since))
	if !v.LastFault.IsZero() {
		fmt.Fprintf(&b, "Last error: %s (%s)\n\n", view.OneLine(v.LastFault.Message), v.LastFault.Reason)
	}
	for _, late := range v.Late {
		fmt.Fprintf(&b, "**Late**: %s\n\n", view.OneLine(late))
	}
	if len(v.Authorities) > 0 {
		b.WriteString("| authority | phase | since | expires | agents |\n|---|---|---|---|---|\n")
		for _, a := range v.Authorities {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %d |\n", a.Authority, a.Phase, date(a.Since), date(a.NotAfter), a.Agents)
		}
	}
	if v.Listener.Authority != "" {
		fmt.Fprintf(&b, "\nThe listener's certificate is from authority %s and expires %s.\n", v.Listener.Authority, date(v.Listener.NotAfter))
	}
	for i, done := range v.Done {
		if i == 0 {
			b.WriteString("\nLast steps:\n")
		}
		fmt.Fprintf(&b, "- %s\n", view.OneLine(done))
	}
	return b.String()
}

func date(at time.Time) string { return at.UTC().Format(time.DateTime) }
