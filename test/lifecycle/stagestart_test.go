package lifecycle

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
)

// counting counts what is read by name.
type counting struct {
	client.Client
	gets int
}

func (r *counting) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	r.gets++
	return r.Client.Get(ctx, key, object, options...)
}

func TestAStageBeginsWithAReadOfTheLastSecondOrTheInformersState(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		age time.Duration
		// known and live change the Manifest for the informer, and for the API server.
		known, live func(*v1beta2.Manifest)
		reads       int
		stops       bool
	}{
		"just read, and nobody knows of a change":       {reads: 0},
		"just read, and the informer is behind":         {known: func(m *v1beta2.Manifest) { m.Generation, m.ResourceVersion = 0, "1" }, reads: 0},
		"just read, but the informer knows of a change": {known: changed, live: changed, reads: 1, stops: true},
		"the informer is wrong":                         {known: changed, reads: 1},
		"read a second ago":                             {age: 2 * time.Second, reads: 1},
		"read a second ago, and changed since":          {age: 2 * time.Second, live: changed, reads: 1, stops: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, m := owned(nil)
			m.Generation = 1
			at := func(change func(*v1beta2.Manifest)) client.Client {
				other := m.DeepCopy()
				other.ResourceVersion = "900"
				if change != nil {
					change(other)
				}
				_, c := acting(t, desired.Settings{}, other)
				return c
			}
			known, live := at(test.known), at(test.live)
			counted := &counting{Client: live}
			a := assembled(t, manifests.Options{
				ControlPlane: counted, Fleet: known, Known: fleet.Over(known, live, func(context.Context, client.Object, string) string { return "900" }),
				Clusters: access{},
			})
			m.ResourceVersion = "900"
			err := a.Steps.MayBeginStage(t.Context(), m, new(time.Now().Add(-test.age)))
			require.Equal(t, test.stops, err != nil, err)
			require.Equal(t, test.reads, counted.gets)
		})
	}
}

func changed(m *v1beta2.Manifest) { m.Generation, m.ResourceVersion = 2, "901" }
