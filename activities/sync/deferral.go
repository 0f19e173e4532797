package sync

import (
	"strings"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// deferralOf is until when the owner of a remote Kyma puts upgrades off, as it is written there and as far as a status has
// room: what is cut is too long to be accepted.
func deferralOf(copied *v1beta2.Kyma) string {
	text := strings.ToValidUTF8(copied.Annotations[shared.AnnotationDeferUpgradesUntil], "")
	if len(text) > rollout.MaxDeferrals {
		text = strings.ToValidUTF8(text[:rollout.MaxDeferrals], "")
	}
	return text
}

// checkDeferral says what is wrong with it; empty where nothing is. It puts nothing off then.
func checkDeferral(copied *v1beta2.Kyma) string {
	if _, err := rollout.ParseDeferrals(deferralOf(copied)); err != nil {
		return "its annotation " + shared.AnnotationDeferUpgradesUntil + " puts nothing off: " + err.Error()
	}
	return ""
}
