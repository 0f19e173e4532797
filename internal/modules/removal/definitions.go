package removal

import (
	"context"
	"fmt"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// EachOwnDefinition calls do for each CustomResourceDefinition among the entries that exists, belongs to the module,
// and is deleted with it.
func (r *Remover) EachOwnDefinition(ctx context.Context, entries []v1beta2.InventoryEntry, do func(name string, resource kinds.Resource) error) error {
	for _, e := range inventory.OfStage(entries, kinds.StageDefinitions) {
		gvk, name, err := e.Object()
		if err != nil || kinds.IsProtected(gvk, name) {
			continue
		}
		live, resource, err := r.Live(ctx, gvk, name)
		if err != nil {
			return fmt.Errorf("read %s: %w", objects.Describe(gvk.Kind, name), err)
		}
		if live == nil || !r.Owner.Owns(live) || r.keepsOwn(live) {
			continue
		}
		if err := do(name.Name, resource); err != nil {
			return err
		}
	}
	return nil
}
