package worker

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// operators is the part of client.Client for operators of a server.
type operators interface {
	OperatorService() operatorservice.OperatorServiceClient
}

// EnsureSearchAttributes registers missing search attributes of our workflows in the namespace, and reports whether
// any were missing. A workflow that upserts an unregistered attribute is stuck until the attribute is registered.
func EnsureSearchAttributes(ctx context.Context, temporal operators, namespace string) (registered bool, err error) {
	operator := temporal.OperatorService()
	known, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return false, fmt.Errorf("list search attributes of namespace %s: %w", namespace, err)
	}
	missing := map[string]enumspb.IndexedValueType{}
	for _, name := range kick.SearchAttributes() {
		kind, exists := known.GetCustomAttributes()[name]
		want := kick.TypeOf(name)
		if exists && kind != want {
			return false, fmt.Errorf("search attribute %s of namespace %s has type %s, want %s", name, namespace, kind, want)
		}
		if !exists {
			missing[name] = want
		}
	}
	if len(missing) == 0 {
		return false, nil
	}
	request := &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing}
	if _, err := operator.AddSearchAttributes(ctx, request); err != nil {
		return false, fmt.Errorf("register search attributes in namespace %s: %w", namespace, err)
	}
	return true, nil
}
