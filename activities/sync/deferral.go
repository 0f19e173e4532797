package sync

import (
	"strings"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// deferralOf returns the owner's deferral of upgrades as written on the remote Kyma, cut to the size that a status has
// room for. A deferral that is cut is too long to be accepted.
func deferralOf(copied *v1beta2.Kyma) string {
	text := strings.ToValidUTF8(copied.Annotations[shared.AnnotationDeferUpgradesUntil], "")
	if len(text) > rollout.MaxDeferrals {
		text = strings.ToValidUTF8(text[:rollout.MaxDeferrals], "")
	}
	return text
}

// checkDeferral returns what is wrong with the deferral, or "" if nothing is. An invalid deferral defers nothing.
func checkDeferral(copied *v1beta2.Kyma) string {
	if _, err := rollout.ParseDeferrals(deferralOf(copied)); err != nil {
		return "its annotation " + shared.AnnotationDeferUpgradesUntil + " defers nothing: " + err.Error()
	}
	return ""
}
