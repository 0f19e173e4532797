package purge

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

func TestAbandonObjectsNamesObjectsThatFitInTheEventAndAllInTheLog(t *testing.T) {
	for name, test := range map[string]struct {
		objects int
		message string
		want    string
	}{
		"nothing known":                   {message: "nobody answers", want: "nobody answers"},
		"one object":                      {objects: 1, message: "nobody answers", want: "nobody answers; 1 object: ConfigMap a/0"},
		"more than a line of the log has": {objects: 2*loggedObjects + 1, message: "nobody answers", want: " and 81 more"},
		"more than are named":             {objects: 22, message: "nobody answers", want: " and 2 more"},
		"an error so long that only the number fits": {
			objects: 22, message: strings.Repeat("e", fault.MaxMessage-len("; 22 objects")), want: "e; 22 objects"},
		"an error so long that nothing else fits": {objects: 22, message: strings.Repeat("e", fault.MaxMessage), want: "eee"},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []string
			for i := range test.objects {
				objects = append(objects, fmt.Sprintf("ConfigMap a/%d", i))
			}
			c := fake.NewClientBuilder().Build()
			recorder := NewRecorder(c)
			logged := ""
			recorder.Log = funcr.New(func(_, args string) {
				require.LessOrEqual(t, strings.Count(args, "ConfigMap"), loggedObjects)
				logged += args
			}, funcr.Options{})
			require.NoError(t, recorder.AbandonObjects(context.Background(), kick.Ref{Namespace: "kcp-system", Name: "kyma", UID: "u"}, test.message, objects))
			var events corev1.EventList
			require.NoError(t, c.List(context.Background(), &events))
			require.Len(t, events.Items, 1)
			said := events.Items[0].Message
			require.True(t, strings.HasPrefix(said, test.message), "the error is kept")
			require.True(t, strings.HasSuffix(said, test.want), said)
			require.LessOrEqual(t, len(said), fault.MaxMessage)
			for _, object := range objects {
				require.Contains(t, logged, object)
			}
		})
	}
}
