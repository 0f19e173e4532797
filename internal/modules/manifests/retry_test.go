package manifests

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRetryOnConflictReturnsTheErrorOfTheLastCall(t *testing.T) {
	t.Parallel()
	conflict := fmt.Errorf("patch: %w", apierrors.NewConflict(schema.GroupResource{Resource: "samples"}, "a", errors.New("x")))
	for name, test := range map[string]struct {
		errs  []error
		calls int
		want  error
	}{
		"no error":                        {errs: []error{nil}, calls: 1},
		"a conflict, then no error":       {errs: []error{conflict, nil}, calls: 2},
		"only conflicts":                  {errs: []error{conflict}, calls: StatusTries, want: conflict},
		"another error":                   {errs: []error{errors.ErrUnsupported}, calls: 1, want: errors.ErrUnsupported},
		"the context ends":                {errs: []error{context.DeadlineExceeded}, calls: 1, want: context.DeadlineExceeded},
		"the context ends after conflict": {errs: []error{conflict, context.Canceled}, calls: 2, want: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			err := RetryOnConflict(func() error {
				calls++
				return test.errs[min(calls, len(test.errs))-1]
			})
			require.Equal(t, test.want, err)
			require.Equal(t, test.calls, calls)
		})
	}
}
