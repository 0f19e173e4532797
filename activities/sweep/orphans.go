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

// orphanAge is how old an open workflow must be before its Kyma is searched for. The Kyma of a younger workflow may not
// be in the caches yet.
const orphanAge = 10 * time.Minute

// kickOrphans kicks the workflows of this shard whose Kyma no longer exists. The workflows decide by their own live
// reads. kickOrphans reads a Kyma from the API server only if the cache does not have it.
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

// kickModulesOf kicks for the remaining Manifests of a Kyma that is gone. It reports whether any Manifest remains; the
// workflow then does not end.
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

// errNotThere means that a complete read did not find the resource, or found another one with the same name.
var errNotThere = errors.New("the resource was not found")

// isThere returns nil if the resource exists, errNotThere if it does not, and another error if this could not be read.
func isThere(ctx context.Context, reader client.Reader, ref kick.Ref, options ...client.GetOption) error {
	kyma := &v1beta2.Kyma{}
	err := reader.Get(ctx, ref.Key(), kyma, options...)
	if apierrors.IsNotFound(err) || (err == nil && kyma.UID != ref.UID) {
		return errNotThere
	}
	return err
}

// parseWorkflowID returns the Kyma that a workflow id names.
func parseWorkflowID(id string) (ref kick.Ref, ok bool) {
	kind, rest, _ := strings.Cut(id, "/")
	namespace, rest, _ := strings.Cut(rest, "/")
	name, uid, ok := strings.Cut(rest, "/")
	if !ok || strings.Contains(uid, "/") || kind != "kyma" {
		return kick.Ref{}, false
	}
	return kick.Ref{Namespace: namespace, Name: name, UID: types.UID(uid)}, true
}
