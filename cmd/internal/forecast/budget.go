package forecast

import (
	"cmp"
	"fmt"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// refusals counts the Kymas that refuse the versions of new rollouts. A rollout counts each of them as a failure.
type refusals struct {
	made         []*v1beta2.ModuleRollout
	sameFailures int32
	byStage      map[refusedIn]int32
	bySignature  map[refusedFor]int32
}

type refusedIn struct {
	r     *v1beta2.ModuleRollout
	stage int
}

type refusedFor struct {
	r         *v1beta2.ModuleRollout
	signature string
}

func newRefusals(made []*v1beta2.ModuleRollout, sameFailures int32) *refusals {
	return &refusals{
		made: made, sameFailures: cmp.Or(sameFailures, rollout.DefaultSameFailures),
		byStage: map[refusedIn]int32{}, bySignature: map[refusedFor]int32{},
	}
}

// add counts a change. A Kyma without the module does not count, because it has no version to lose.
func (f *refusals) add(kyma *v1beta2.Kyma, c Change) {
	if c.Kind != Refused || c.From == "" {
		return
	}
	for _, r := range f.made {
		if r.Spec.ModuleName != c.Module || r.Spec.To != c.wanted {
			continue
		}
		f.byStage[refusedIn{r, rollout.PlaceOf(r, rollout.ClusterOf(kyma)).Stage}]++
		f.bySignature[refusedFor{r, rollout.Signature(c.Reason, c.Message, c.Kyma)}]++
	}
}

// holds returns, for each rollout that would be held, the reason: the first stage that more Kymas refuse than may fail.
// sizes holds the number of Kymas in each stage of a rollout.
func (f *refusals) holds(sizes map[*v1beta2.ModuleRollout][]StageSize) []string {
	var held []string
	for _, r := range f.made {
		if why := f.why(r, sizes[r]); why != "" {
			held = append(held, fmt.Sprintf("%s %s: %s", r.Spec.ModuleName, r.Spec.To, why))
		}
	}
	return held
}

func (f *refusals) why(r *v1beta2.ModuleRollout, sizes []StageSize) string {
	for i, size := range sizes {
		refused, may := f.byStage[refusedIn{r, i}], rollout.MaxFailures(r.Spec, i, int32(size.Kymas)) //nolint:gosec // a number of Kymas
		if refused > may {
			return fmt.Sprintf("%d of %d Kymas of stage %s refuse it, %d may fail", refused, size.Kymas, size.Name, may)
		}
	}
	for of, refused := range f.bySignature {
		if of.r == r && refused >= f.sameFailures {
			return fmt.Sprintf("%d Kymas refuse it for the same reason", refused)
		}
	}
	return ""
}
