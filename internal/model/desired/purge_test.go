package desired

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestThePurgeTimeIsTheDeletionPlusTheGracePeriod(t *testing.T) {
	deleted := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	day := PurgeSettings{Enabled: true, Grace: 24 * time.Hour}
	for name, c := range map[string]struct {
		settings   PurgeSettings
		annotation string
		alive      bool
		want       time.Time
		problem    bool
	}{
		"without an annotation the flag applies":              {settings: day, want: deleted.Add(24 * time.Hour)},
		"the annotation shortens it":                          {settings: day, annotation: "90m", want: deleted.Add(90 * time.Minute)},
		"the annotation extends it":                           {settings: day, annotation: "240h", want: deleted.Add(240 * time.Hour)},
		"a grace period of zero purges at once":               {settings: day, annotation: "0s", want: deleted},
		"an invalid annotation is reported, the flag applies": {settings: day, annotation: "a day", want: deleted.Add(24 * time.Hour), problem: true},
		"a negative annotation is reported, the flag applies": {settings: day, annotation: "-1h", want: deleted.Add(24 * time.Hour), problem: true},
		"if switched off, a Kyma is never purged":             {settings: PurgeSettings{Grace: time.Hour}, annotation: "1h"},
		"a Kyma that is not being deleted is never purged":    {settings: day, alive: true},
	} {
		t.Run(name, func(t *testing.T) {
			kyma := &v1beta2.Kyma{}
			if !c.alive {
				kyma.DeletionTimestamp = &metav1.Time{Time: deleted}
			}
			if c.annotation != "" {
				kyma.Annotations = map[string]string{"operator.kyma-project.io/purge-grace-period": c.annotation}
			}
			at, problem := PurgeTime(kyma, c.settings)
			require.Equal(t, c.want, at)
			require.Equal(t, c.problem, problem != "", problem)
		})
	}
}
