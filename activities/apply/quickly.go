package apply

import (
	"context"
	"errors"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts"
)

type quicklyKey struct{}

// ErrLater means that the work takes longer than the caller of Quickly wants to wait. Nothing was done.
var ErrLater = errors.New("the work takes longer than a workflow task may")

// Quickly returns a context in which Prepare fails with ErrLater if layers have to be fetched or rendered, or hooks to be run.
func Quickly(ctx context.Context) context.Context { return context.WithValue(ctx, quicklyKey{}, true) }

func isQuick(ctx context.Context) bool { return ctx.Value(quicklyKey{}) != nil }

// hasRendered reports whether the bundle of a render request is in the cache.
func (a *Applier) hasRendered(request *artifacts.RenderRequest, adaptation string) bool {
	_, known := a.bundles.Peek(request.Key + adaptation)
	return known
}
