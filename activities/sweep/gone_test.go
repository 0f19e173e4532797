package sweep

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// A Manifest on record may not have been created yet. A kick would then only cost requests, and let the Kyma overtake its
// paced change.
func TestAManifestThatIsNotCreatedYetIsNotMissed(t *testing.T) {
	unreachable := false
	shown := func(k *v1beta2.Kyma) {
		k.Status.Modules = []v1beta2.ModuleStatus{{Name: "left", State: shared.StateDeleting, Manifest: &v1beta2.TrackedObject{Metadata: v1beta2.TrackedMeta{Name: "demo-left"}}}}
	}
	for name, test := range map[string]struct {
		digest string
		change func(*v1beta2.Kyma)
		want   string
	}{
		"the Manifest of a module":                          {"now", shown, "demo-left"},
		"the Manifest of a module, while inputs wait":       {"then", shown, "demo-left"},
		"one on record":                                     {"now", func(k *v1beta2.Kyma) { k.Status.Manifests = []string{"demo-new"} }, "demo-new"},
		"not one that the current inputs have just added":   {"then", func(k *v1beta2.Kyma) { k.Status.Manifests = []string{"demo-new"} }, ""},
		"not one in an unreachable cluster":                 {"now", func(k *v1beta2.Kyma) { shown(k); k.Status.Remote.Reachable = &unreachable }, ""},
		"not a wait for an earlier Kyma, while inputs wait": {"then", func(k *v1beta2.Kyma) { k.Status.Modules = []v1beta2.ModuleStatus{{State: shared.StateDeleting}} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kyma := quietKyma()
			kyma.Status.Modules = nil
			test.change(kyma)
			w := &walk{Activities: activitiesFor(t, quiet(), kyma)}
			found := w.missedRemoval(t.Context(), kyma, nil, test.digest)
			if test.want == "" {
				require.Nil(t, found)
				return
			}
			require.NotNil(t, found)
			require.Equal(t, test.want, found.Name)
			require.True(t, found.Gone)
		})
	}
}

// For example a Manifest that the API server refuses: no kick helps, only a change of the inputs does.
func TestKicksForAManifestThatCannotBeCreatedBackOff(t *testing.T) {
	kyma := quietKyma()
	kyma.Status.Modules, kyma.Status.Manifests = nil, []string{"demo-refused"}
	a := activitiesFor(t, quiet(), kyma)
	now := time.Now()
	a.options.Now, a.options.Interval = func() time.Time { return now }, 5*time.Minute
	w, kicks := &walk{Activities: a}, 0
	for range 12 * 24 { // a day
		if w.missedRemoval(t.Context(), kyma, nil, "now") != nil {
			kicks++
		}
		now = now.Add(5 * time.Minute)
	}
	require.Equal(t, 9, kicks, "after 0, 5, 15, 35 … minutes")

	kyma.Status.Manifests = nil
	require.Nil(t, w.missedRemoval(t.Context(), kyma, nil, "now"))
	kyma.Status.Manifests = []string{"demo-refused"}
	require.NotNil(t, w.missedRemoval(t.Context(), kyma, nil, "now"), "a Manifest that goes missing again is noticed immediately")
}

// unreadable is an API server that fails.
type unreadable struct{ client.Reader }

func (unreadable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("503")
}

func TestAnUnreadableManifestIsNeitherGoneNorPresent(t *testing.T) {
	kyma := quietKyma()
	kyma.Status.Modules, kyma.Status.Manifests = nil, []string{"demo-refused"}
	f := quiet()
	a := activitiesFor(t, f, kyma)
	live, now := a.options.Live, time.Now()
	a.options.Now = func() time.Time { return now } // no matter how long the passes take
	for _, pass := range []struct {
		live  client.Reader
		kicks int
	}{{unreadable{}, 0}, {live, 1}, {unreadable{}, 0}, {live, 0}} { // the Kyma is not reminded again so soon
		a.options.Live = pass.live
		clear(f.kicked)
		_, err := walkShard(t, a, shardOf("uid"))
		require.NoError(t, err)
		require.Len(t, f.kicked, pass.kicks)
	}
}
