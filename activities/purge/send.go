package purge

import (
	"context"
	"errors"
	"fmt"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
)

// Sender reaches the workflows of Manifests; *kick.Sender does.
type Sender interface {
	Purge(ctx context.Context, ref kick.Ref, k kick.Kick) error
}

// SendInput names the Manifests of a Kyma whose workflows are to purge.
type SendInput struct {
	// Kyma is the name of the Kyma that they belong to.
	Kyma      string     `json:"kyma,omitempty"`
	Manifests []kick.Ref `json:"manifests"`
}

// SendPurge asks the workflow of each Manifest to force the removal of what remains of its module. It is safe to
// repeat.
func (a *Activities) SendPurge(ctx context.Context, in SendInput) error {
	var failed []error
	for _, ref := range in.Manifests {
		k := kick.Kick{
			Reason: "the grace period is over", Kind: "Manifest", Namespace: ref.Namespace, Name: ref.Name, Urgent: true, Deleting: true,
			Found: kick.Attributes{kick.AttributeKymaName: in.Kyma},
		}
		if err := a.Options.Manifests.Purge(ctx, ref, k); err != nil {
			failed = append(failed, fmt.Errorf("ask Manifest %s to purge: %w", ref, err))
		}
	}
	return errors.Join(failed...)
}
