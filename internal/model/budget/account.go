package budget

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// maxTaken limits the entries of a RemovalBudget, and with them the clusters that lose modules within a window, even
// with approvals. 900 entries of at most 230 bytes stay below 200 KiB.
const maxTaken = 900

// account is the state of a RemovalBudget at one point in time.
type account struct {
	// taken are the entries within the window. limit is how many clusters may be taken without an approval.
	taken []v1beta2.TakenRemoval
	limit int
	// used counts the clusters taken within the limit, and usedApproved those taken by approvals. approved is the
	// number of clusters that the approvals in force allow.
	used, usedApproved, approved int
}

// accountOf computes the account of a RemovalBudget.
func accountOf(budget *v1beta2.RemovalBudget, limit int, window time.Duration, approvals bool, now time.Time) account {
	a := account{limit: limit}
	var since time.Time // when the first approval in force was given
	for _, approval := range budget.Spec.Approvals {
		if !approvals || approval.Clusters <= 0 || !isSigned(approval) || !now.Before(approval.At.Add(window)) {
			continue
		}
		a.approved += int(approval.Clusters)
		if since.IsZero() || approval.At.Time.Before(since) {
			since = approval.At.Time
		}
	}
	for _, entry := range budget.Status.Taken {
		if !now.Before(entry.At.Add(window)) {
			continue
		}
		a.taken = append(a.taken, entry)
		switch {
		case !entry.Approved:
			a.used++
		case !since.IsZero() && !entry.At.Time.Before(since):
			a.usedApproved++
		}
	}
	return a
}

// isSigned reports whether the admission webhook has recorded who approved, and when.
func isSigned(a v1beta2.RemovalApproval) bool { return a.By != "" && !a.At.IsZero() }

// has reports whether a Kyma has been counted already.
func (a account) has(uid types.UID) bool {
	return slices.ContainsFunc(a.taken, func(t v1beta2.TakenRemoval) bool { return t.UID == string(uid) })
}

// room returns how many more clusters may lose modules now.
func (a account) room() int {
	return min(max(0, a.limit-a.used)+max(0, a.approved-a.usedApproved), maxTaken-len(a.taken))
}

// take counts one more cluster.
func (a *account) take(kyma *v1beta2.Kyma, now time.Time) {
	entry := v1beta2.TakenRemoval{
		Kyma: kyma.Namespace + "/" + kyma.Name, UID: string(kyma.UID), At: metav1.NewTime(now.UTC().Truncate(time.Second)), Approved: a.used >= a.limit,
	}
	a.taken = append(a.taken, entry)
	if entry.Approved {
		a.usedApproved++
	} else {
		a.used++
	}
}

// record writes the account into a status.
func (a account) record(status *v1beta2.RemovalBudgetStatus) {
	status.Limit, status.Used, status.Taken = int32(a.limit), int32(len(a.taken)), a.taken //nolint:gosec // at most maxTaken
}

// next returns when the window frees the first place; zero if nothing is taken.
func (a account) next(window time.Duration) time.Time {
	if len(a.taken) == 0 {
		return time.Time{}
	}
	first := slices.MinFunc(a.taken, func(x, y v1beta2.TakenRemoval) int { return x.At.Compare(y.At.Time) })
	return first.At.Add(window)
}
