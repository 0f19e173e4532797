package sweep

import (
	"context"
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// orphanAge is how old an open workflow must be before its resource is searched for: a younger one may be
// ahead of what visibility and caches show.
const orphanAge = 10 * time.Minute

// kickOrphans wakes workflows of this shard whose resource no longer exists; their own live read decides. Only
// what the cache does not know is read from the API server.
func (w *walk) kickOrphans(ctx context.Context, open Open) {
	for id, started := range open {
		ref, kind, ok := parseWorkflowID(id)
		if !ok || ShardOf(ref.UID, w.options.Shards) != w.shard || w.options.Now().Sub(started) < orphanAge || w.options.Open.IsPaused(id) || ctx.Err() != nil {
			continue
		}
		if isThere(ctx, w.options.Fleet, kind, ref, client.UnsafeDisableDeepCopy) == nil {
			continue
		}
		if errors.Is(isThere(ctx, w.options.Live, kind, ref), errNotThere) {
			w.send(ctx, id, func() error {
				return w.options.Kicks.SignalOpen(ctx, id, kick.Kick{Reason: "the resource was not found"})
			})
		}
	}
}

// errNotThere is the answer of a complete reading that did not find a resource, or another one of its name.
var errNotThere = errors.New("the resource is not there")

// isThere returns nil when the resource is there, errNotThere when it is not, and else why that is not known.
func isThere(ctx context.Context, reader client.Reader, kind string, ref kick.Ref, options ...client.GetOption) error {
	var obj client.Object = &v1beta2.Kyma{}
	if kind == "manifest" {
		obj = &v1beta2.Manifest{}
	}
	err := reader.Get(ctx, ref.Key(), obj, options...)
	if apierrors.IsNotFound(err) || (err == nil && obj.GetUID() != ref.UID) {
		return errNotThere
	}
	return err
}

// parseWorkflowID reads the identity out of a workflow id: the kind, the namespace, the name and the uid.
func parseWorkflowID(id string) (ref kick.Ref, kind string, ok bool) {
	kind, rest, _ := strings.Cut(id, "/")
	namespace, rest, _ := strings.Cut(rest, "/")
	name, uid, ok := strings.Cut(rest, "/")
	if !ok || strings.Contains(uid, "/") || (kind != "kyma" && kind != "manifest") {
		return kick.Ref{}, "", false
	}
	return kick.Ref{Namespace: namespace, Name: name, UID: types.UID(uid)}, kind, true
}
