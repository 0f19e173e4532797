package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/workflows/internal/ending"
)

// mustContinue tells whether the run should continue as new now.
func (e *entity) mustContinue(ctx workflow.Context, idle bool) bool {
	return ending.Must(ctx, &e.mail, idle)
}

// newBuild tells whether another build than the one that began this run executes it now.
func (e *entity) newBuild(ctx workflow.Context) bool { return ending.NewBuild(ctx, e.build) }

// complete tells whether the run may return, in this very task.
func (e *entity) complete(ctx workflow.Context) (bool, error) {
	return ending.Quietly(ctx, &e.mail, &e.ending)
}

// continueAsNew continues as new.
func (e *entity) continueAsNew(ctx workflow.Context, name string, input func() any) error {
	return ending.AsNew(ctx, &e.mail, &e.ending, name, input)
}
