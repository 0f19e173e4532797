package removal

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestTheLastOfSeveralDeletedManifestsRemovesSharedObjects(t *testing.T) {
	at := func(name string, seconds int64) *v1beta2.Manifest {
		m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: name}}
		if seconds > 0 {
			deleted := metav1.Unix(seconds, 0)
			m.DeletionTimestamp = &deleted
		}
		return m
	}
	for name, test := range map[string]struct {
		other, m *v1beta2.Manifest
		want     bool
	}{
		"one that stays outlives one that is deleted": {other: at("a", 0), m: at("b", 1), want: true},
		"one that stays respects one that is deleted": {other: at("a", 1), m: at("b", 0), want: true},
		"the one that was deleted later is last":      {other: at("a", 2), m: at("b", 1), want: true},
		"the one that was deleted earlier is not":     {other: at("b", 1), m: at("a", 2)},
		"at the same time the names decide":           {other: at("b", 1), m: at("a", 1), want: true},
		"and they decide alike for both":              {other: at("a", 1), m: at("b", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, outlives(test.other, test.m))
		})
	}
}
