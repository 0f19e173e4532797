package schematest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

// The API server refuses a definition whose schema is not structural, whose
// defaults do not fit, or whose rules could cost too much.
func TestAPIServerAcceptsEveryDefinition(t *testing.T) {
	for kind, definition := range readDefinitions(t) {
		t.Run(kind, func(t *testing.T) {
			// The API server sets this field when it stores a definition.
			definition.Status.StoredVersions = []string{"v1beta2"}
			errs := apiextensionsvalidation.ValidateCustomResourceDefinition(context.Background(), internal(t, definition))
			require.Empty(t, errs)
		})
	}
}
