package artifacts

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// FetchObject returns the only object of a layer as JSON: a default custom resource. The object needs no name.
func (s *Store) FetchObject(ctx context.Context, l Layer) ([]byte, error) {
	layer, err := s.Fetch(ctx, l)
	if err != nil {
		return nil, err
	}
	files, plain, err := render.Unpack(layer, s.options.Limits.Limits)
	if err != nil {
		return nil, inLayer(l, err)
	}
	p := render.NewParser(s.options.Limits.Limits)
	p.Nameless = true
	if files != nil {
		err = p.Directory(files)
	} else {
		err = p.Documents("the layer", plain)
	}
	if err != nil {
		return nil, inLayer(l, err)
	}
	if number := len(p.Rendered.Objects); number != 1 {
		return nil, inLayer(l, fault.New(fault.Rejected, render.ReasonInvalidManifest, "it holds %d objects instead of one default custom resource", number))
	}
	encoded, err := json.Marshal(p.Rendered.Objects[0].Object)
	if err != nil {
		return nil, fmt.Errorf("%s: encode it as JSON: %w", l, err)
	}
	return encoded, nil
}
