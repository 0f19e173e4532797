package manifests

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// News is a message of an activity to the Kyma's workflow: a Manifest has changed in something that the Kyma's status
// shows, or the Kyma needs a reconcile. Results of activities embed News.
type News struct {
	// Kick is nil if there is no news.
	Kick *kick.Kick `json:"news,omitempty"`
}

type newsKey struct{}

// Noting returns a context in which Changed and the steps of this package note news, and the News that they fill.
func Noting(ctx context.Context) (context.Context, *News) {
	news := &News{}
	return context.WithValue(ctx, newsKey{}, news), news
}

// note adds a kick to the activity's news. The last state and the newest resource version win.
func note(ctx context.Context, k kick.Kick) {
	news, ok := ctx.Value(newsKey{}).(*News)
	if !ok {
		return
	}
	if before := news.Kick; before != nil {
		k.Urgent, k.Whole = k.Urgent || before.Urgent, k.Whole || before.Whole
	}
	news.Kick = &k
}

// Changed notes that a Manifest's status changed in something that the Kyma's status shows.
func Changed(ctx context.Context, m *v1beta2.Manifest) {
	// The reason is the label of a metric, so it contains no names. A settled state is shown at once. Before that, the
	// Kyma's workflow limits the rate of its reconciles.
	note(ctx, about(m, kick.Kick{Reason: "Manifest is " + orUnknown(m.Status.State), Urgent: m.Status.Settled}))
}

// notPlanned notes that a whole reconcile of the Kyma has to decide about a Manifest.
func notPlanned(ctx context.Context, m *v1beta2.Manifest) {
	note(ctx, about(m, kick.Kick{Reason: "a Manifest is not as planned", Urgent: true, Whole: true}))
}

func about(m *v1beta2.Manifest, k kick.Kick) kick.Kick {
	k.Kind, k.Namespace, k.Name, k.ResourceVersion = shared.KindOfInstallation(m.Name), m.Namespace, m.Name, m.ResourceVersion
	return k
}

func orUnknown(state shared.State) string {
	if state == shared.StateUnknown {
		return "in an unknown state"
	}
	return string(state)
}
