package worker

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/kyma-project/lifecycle-manager/workflows"
)

// EnsureSearchAttributes registers the search attributes of our workflows in the namespace where they are
// missing. A workflow that upserts an unregistered one would be stuck, so nothing starts before.
func EnsureSearchAttributes(ctx context.Context, temporal client.Client, namespace string) error {
	operator := temporal.OperatorService()
	known, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list search attributes of namespace %s: %w", namespace, err)
	}
	missing := map[string]enumspb.IndexedValueType{}
	for _, name := range workflows.SearchAttributes() {
		kind, exists := known.GetCustomAttributes()[name]
		if exists && kind != enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			return fmt.Errorf("search attribute %s of namespace %s has type %s, want Keyword", name, namespace, kind)
		}
		if !exists {
			missing[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if len(missing) == 0 {
		return nil
	}
	request := &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing}
	if _, err := operator.AddSearchAttributes(ctx, request); err != nil {
		return fmt.Errorf("register search attributes in namespace %s: %w", namespace, err)
	}
	return nil
}
