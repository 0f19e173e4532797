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

// AnnotationGeneration is the metadata.generation that an object had after we wrote it: any other means
// that somebody changed its spec since, which is so seen without reading bodies.
const AnnotationGeneration = shared.OperatorGroup + "/synced-generation"

// IsUnchanged tells whether an object's spec is as it was when we wrote it.
func IsUnchanged(object metav1.Object) bool {
	return object.GetAnnotations()[AnnotationGeneration] == strconv.FormatInt(object.GetGeneration(), 10)
}

// NoteGeneration writes down the generation that an object has after a write, unless it was foreseen.
func (r *Cluster) NoteGeneration(ctx context.Context, object client.Object, owner client.FieldOwner) error {
	if IsUnchanged(object) {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, AnnotationGeneration, object.GetGeneration())
	err := r.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), owner)
	if err != nil {
		return fmt.Errorf("note the generation of %s: %w", object.GetName(), err)
	}
	r.Writes++
	return nil
}

// Apply applies an object that has in an annotation the generation that it is left with, so that any later
// change of its spec is seen in its metadata. The body is made for the generation that is expected. It takes
// one request where that is right, returns how many wrote, and waits a moment for a definition to be served.
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
		// An apply leaves alone what others added to the spec.
		var spec map[string]any
		if err := json.Unmarshal(sent, &spec); err != nil {
			return nil, writes, err
		}
		answer.Object["spec"] = spec
		if err := c.Update(ctx, answer, client.FieldOwner(manager)); err != nil {
			return nil, writes, fmt.Errorf("take out what others added: %w", err)
		}
		writes++
	}
	if IsUnchanged(answer) {
		return answer, writes, nil
	}
	// Its generation is not as expected. It is applied once more, for a patch by the same manager would make it
	// a second owner of the annotation.
	_, answer, err = apply(answer.GetGeneration())
	return answer, writes, err
}

// servedWithin is how long a definition that was just created may take until it is served.
const servedWithin = 10 * time.Second

// UntilServed repeats a request while the cluster says that it does not serve the kind. A kind whose definition is
// fresh is not asked for at once, which would be in vain: an API server that has time serves it after a tenth of a second.
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
