package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// AnnotationGeneration is the metadata.generation that an object has after our write. A different generation means that
// somebody changed the spec since, which is visible without reading the body.
const AnnotationGeneration = shared.OperatorGroup + "/synced-generation"

// IsUnchanged reports whether an object's spec has not changed since our write.
func IsUnchanged(object metav1.Object) bool {
	return object.GetAnnotations()[AnnotationGeneration] == strconv.FormatInt(object.GetGeneration(), 10)
}

// NoteGeneration records the generation that an object has after a write, unless the write predicted it.
func (r *Cluster) NoteGeneration(ctx context.Context, object client.Object, owner client.FieldOwner) error {
	if IsUnchanged(object) {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, AnnotationGeneration, object.GetGeneration())
	err := r.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), owner)
	if err != nil {
		return fmt.Errorf("record the generation of %s: %w", object.GetName(), err)
	}
	r.Writes++
	return nil
}

// Apply applies an object with its resulting generation in an annotation, so that later changes of its spec are visible
// in its metadata. body returns the object for a generation; expected is the predicted one. A correct prediction costs
// one request. Apply returns the number of writes. It waits a moment until a fresh definition is served.
func Apply(ctx context.Context, c client.Client, manager string,
	body func(generation int64) (*unstructured.Unstructured, error), expected int64,
) (answer *unstructured.Unstructured, writes int, err error) {
	apply := func(generation int64) (sent []byte, answer *unstructured.Unstructured, err error) {
		if answer, err = body(generation); err != nil {
			return nil, nil, err
		}
		if sent, err = json.Marshal(answer.Object["spec"]); err != nil {
			return nil, nil, err
		}
		err = UntilServed(ctx, false, func() error {
			return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(answer), client.FieldOwner(manager), client.ForceOwnership)
		})
		if err == nil {
			writes++
		}
		return sent, answer, err
	}
	sent, answer, err := apply(expected)
	if err != nil {
		return nil, writes, err
	}
	now, err := json.Marshal(answer.Object["spec"])
	if err != nil {
		return nil, writes, err
	}
	if !bytes.Equal(sent, now) {
		// An apply does not remove fields that others added to the spec.
		var spec map[string]any
		if err := json.Unmarshal(sent, &spec); err != nil {
			return nil, writes, err
		}
		answer.Object["spec"] = spec
		if err := c.Update(ctx, answer, client.FieldOwner(manager)); err != nil {
			return nil, writes, fmt.Errorf("remove the fields that others added: %w", err)
		}
		writes++
	}
	if IsUnchanged(answer) {
		return answer, writes, nil
	}
	// The prediction was wrong. Apply again, because a patch by the same manager would make that manager a second owner
	// of the annotation.
	_, answer, err = apply(answer.GetGeneration())
	return answer, writes, err
}

// servedWithin is how long a fresh definition may take until it is served.
const servedWithin = 10 * time.Second

// UntilServed repeats a request while the cluster says that it does not serve the kind. For a fresh definition,
// UntilServed waits before the first request, which would be in vain: an idle API server needs a tenth of a second to
// serve it.
func UntilServed(ctx context.Context, fresh bool, request func() error) error {
	ctx, cancel := context.WithTimeout(ctx, servedWithin)
	defer cancel()
	pauses := wait.Backoff{Duration: 125 * time.Millisecond, Factor: 2, Steps: 5}
	var last error
	err := pauses.DelayFunc().Until(ctx, !fresh, true, func(context.Context) (bool, error) {
		last = request()
		return !KindMissing(last), nil
	})
	if err != nil && last == nil {
		return err
	}
	return last
}
