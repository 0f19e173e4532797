package artifacts

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
)

// FetchObject returns the one object that is in a layer, as JSON: a default custom resource. It need not have a name.
func (s *Store) FetchObject(ctx context.Context, l Layer) ([]byte, error) {
	layer, err := s.Fetch(ctx, l)
	if err != nil {
		return nil, err
	}
	files, plain, err := unpack(layer, s.options.Limits)
	if err != nil {
		return nil, in(l, err)
	}
	p := newParser(s.options.Limits)
	p.nameless = true
	if files != nil {
		err = p.directory(files)
	} else {
		err = p.documents("the layer", plain)
	}
	if err != nil {
		return nil, in(l, err)
	}
	if number := len(p.rendered.Objects); number != 1 {
		return nil, in(l, fault.New(fault.Rejected, ReasonInvalidManifest, "it holds %d objects instead of one default custom resource", number))
	}
	encoded, err := json.Marshal(p.rendered.Objects[0].Object)
	if err != nil {
		return nil, fmt.Errorf("%s: encode it as JSON: %w", l, err)
	}
	return encoded, nil
}
