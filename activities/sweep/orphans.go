package sweep

import (
	"context"
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// orphanAge is how old an open workflow must be before its resource is searched for: a younger one may be
// ahead of what visibility and caches show.
const orphanAge = 10 * time.Minute

// kickOrphans wakes workflows of this shard whose resource no longer exists; their own live read decides. Only
// what the cache does not know is read from the API server.
func (w *walk) kickOrphans(ctx context.Context, open Open) {
	for id, started := range open {
		ref, ok := parseWorkflowID(id)
		if !ok || ShardOf(ref.UID, w.options.Shards) != w.shard || w.options.Now().Sub(started) < orphanAge || w.options.Open.IsPaused(id) || ctx.Err() != nil {
			continue
		}
		if isThere(ctx, w.options.Fleet, ref, client.UnsafeDisableDeepCopy) == nil {
			continue
		}
		if !errors.Is(isThere(ctx, w.options.Live, ref), errNotThere) {
			continue
		}
		if !w.kickModulesOf(ctx, ref) {
			w.send(ctx, id, func() error {
				return w.options.Kicks.SignalOpen(ctx, id, kick.Kick{Reason: "the resource was not found"})
			})
		}
	}
}

// kickModulesOf kicks for what remains of a Kyma that is gone. It reports whether anything does: then the workflow does not end.
func (w *walk) kickModulesOf(ctx context.Context, gone kick.Ref) bool {
	var list v1beta2.ManifestList
	err := w.options.Fleet.List(ctx, &list, client.InNamespace(gone.Namespace), client.MatchingFields{fleet.IndexKymaUID: string(gone.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return true
	}
	remain := false
	for i := range list.Items {
		if m := &list.Items[i]; manifests.KymaRefOf(m) == gone {
			w.checkManifest(ctx, m, remoteView{answers: true})
			remain = true
		}
	}
	return remain
}

// errNotThere is the answer of a complete reading that did not find a resource, or another one of its name.
var errNotThere = errors.New("the resource is not there")

// isThere returns nil when the resource is there, errNotThere when it is not, and else why that is not known.
func isThere(ctx context.Context, reader client.Reader, ref kick.Ref, options ...client.GetOption) error {
	kyma := &v1beta2.Kyma{}
	err := reader.Get(ctx, ref.Key(), kyma, options...)
	if apierrors.IsNotFound(err) || (err == nil && kyma.UID != ref.UID) {
		return errNotThere
	}
	return err
}

// parseWorkflowID reads the identity of a Kyma out of the id of its workflow.
func parseWorkflowID(id string) (ref kick.Ref, ok bool) {
	kind, rest, _ := strings.Cut(id, "/")
	namespace, rest, _ := strings.Cut(rest, "/")
	name, uid, ok := strings.Cut(rest, "/")
	if !ok || strings.Contains(uid, "/") || kind != "kyma" {
		return kick.Ref{}, false
	}
	return kick.Ref{Namespace: namespace, Name: name, UID: types.UID(uid)}, true
}
