package sync

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// applyNoted applies an object that has in an annotation the generation that it is left with, so that any later
// change of its spec is seen in its metadata. The body is made for the generation that is expected. It takes
// one request where that is right, returns how many wrote, and waits a moment for a definition to be served.
func applyNoted(ctx context.Context, c client.Client, manager string,
	body func(generation int64) (*unstructured.Unstructured, error), expected int64,
) (answer *unstructured.Unstructured, writes int, err error) {
	apply := func(generation int64) (sent []byte, answer *unstructured.Unstructured, err error) {
		if answer, err = body(generation); err != nil {
			return nil, nil, err
		}
		if sent, err = json.Marshal(answer.Object["spec"]); err != nil {
			return nil, nil, err
		}
		err = untilServed(ctx, false, func() error {
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
	if unchanged(answer) {
		return answer, writes, nil
	}
	// Its generation is not as expected. It is applied once more, for a patch by the same manager would make it
	// a second owner of the annotation.
	_, answer, err = apply(answer.GetGeneration())
	return answer, writes, err
}
