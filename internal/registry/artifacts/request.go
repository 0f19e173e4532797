package artifacts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/version"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// Source describes the layers that a module is rendered from.
type Source struct {
	Install Layer
	// Form restricts the form of the install layer.
	Form Form
	// Config is the layer with a chart's values. It may be nil.
	Config  *Layer
	Release render.Release
}

// Cluster answers charts' questions about a cluster. *clusters.Cluster implements it.
type Cluster interface {
	Version(ctx context.Context) (*version.Info, error)
	// Serves reports whether "group/version" or "group/version/Kind" is served.
	Serves(ctx context.Context, api string) (bool, error)
	// APIVersions returns all served APIs, in both forms, and the group versions with an unknown state.
	APIVersions(ctx context.Context) (served, silent []string, err error)
}

// RenderRequest describes the input of a rendering. Two requests with the same key render to the same objects.
type RenderRequest struct {
	// Key covers the layers. For charts it also covers the values, the release, and those capabilities of the cluster
	// that the chart's templates can ask for.
	Key string
	// Silent holds the group versions for which the cluster did not say whether it serves them, if a chart asks for
	// all. Objects that depend on them are missing from the rendering.
	Silent []string

	store  *Store
	source Source
	info   layerInfo
	known  *chartutil.Capabilities
}

// infoBytes is roughly the size of a layerInfo.
const infoBytes = 1 << 10

// Knows reports whether Prepare can do without fetching anything for the source.
func (s *Store) Knows(source Source) bool {
	_, known := s.infos.Peek(source.Install.key())
	return known
}

// Prepare returns the render request of a source for a cluster. It does not fetch a known layer again, and asks the
// cluster only for what the chart asks for.
func (s *Store) Prepare(ctx context.Context, source Source, cluster Cluster) (*RenderRequest, error) {
	info, err := s.infos.Get(ctx, source.Install.key(), func(ctx context.Context) (layerInfo, int64, error) {
		read, err := s.inspect(ctx, source.Install)
		return read, infoBytes, err
	})
	if err != nil {
		return nil, err
	}
	if err := fits(source, info); err != nil {
		return nil, err
	}
	r := &RenderRequest{store: s, source: source, info: info}
	if info.form != FormChart {
		r.Key = string(info.form) + ":" + source.Install.key()
		return r, nil
	}
	if r.known, r.Silent, err = capabilitiesOf(ctx, info.requires, cluster); err != nil {
		return nil, err
	}
	config := ""
	if source.Config != nil {
		config = source.Config.key()
	}
	r.Key = string(FormChart) + ":" + digestOf(source.Install.key(), config, source.Release, r.known.KubeVersion, r.known.APIVersions)
	return r, nil
}

// Render fetches missing layers and renders the objects. Errors are faults.
func (r *RenderRequest) Render(ctx context.Context) (*render.Rendered, error) {
	layer, err := r.store.Fetch(ctx, r.source.Install)
	if err != nil {
		return nil, err
	}
	rendered, err := r.render(ctx, layer)
	if err != nil {
		return nil, inLayer(r.source.Install, err)
	}
	if len(rendered.Objects) == 0 {
		return nil, inLayer(r.source.Install, render.Invalid("it holds no object"))
	}
	return rendered, nil
}

func (r *RenderRequest) render(ctx context.Context, layer []byte) (*render.Rendered, error) {
	limits := r.store.options.Limits.Limits
	r.store.counts.parses.Add(1)
	files, plain, err := render.Unpack(layer, limits)
	if err != nil {
		return nil, err
	}
	switch r.info.form {
	case FormChart:
		var values []byte
		if r.source.Config != nil {
			if values, err = r.store.Fetch(ctx, *r.source.Config); err != nil {
				return nil, err
			}
		}
		job := render.NewJob(files, limits)
		job.Values, job.Release, job.Known = values, r.source.Release, r.known
		r.store.counts.renderings.Add(1)
		answer, err := r.store.renderer.Do(ctx, job)
		if err != nil {
			return nil, err
		}
		return answer.Objects(limits)
	case FormDirectory:
		p := render.NewParser(limits)
		return &p.Rendered, p.Directory(files)
	default:
		p := render.NewParser(limits)
		return &p.Rendered, p.Documents("the layer", plain)
	}
}

func (s *Store) inspect(ctx context.Context, l Layer) (layerInfo, error) {
	layer, err := s.Fetch(ctx, l)
	if err != nil {
		return layerInfo{}, err
	}
	files, _, err := render.Unpack(layer, s.options.Limits.Limits)
	if err != nil {
		return layerInfo{}, inLayer(l, err)
	}
	if files == nil {
		return layerInfo{form: formYAML}, nil
	}
	if _, isChart := render.ChartRoot(files); !isChart {
		return layerInfo{form: FormDirectory}, nil
	}
	job := render.NewJob(files, s.options.Limits.Limits)
	job.Inspect = true
	answer, err := s.renderer.Do(ctx, job)
	if err != nil {
		return layerInfo{}, inLayer(l, err)
	}
	return layerInfo{form: FormChart, requires: answer.Asks}, nil
}

// fits refuses a layer without the declared form.
func fits(source Source, info layerInfo) error {
	switch {
	case source.Form == FormChart && info.form != FormChart:
		return inLayer(source.Install, fault.New(fault.Rejected, render.ReasonInvalidChart, "it is not an archive of a Helm chart"))
	case source.Form == FormDirectory && info.form == formYAML:
		return inLayer(source.Install, render.Invalid("it is not an archive of a folder"))
	}
	return nil
}

func capabilitiesOf(ctx context.Context, asks render.Requirements, cluster Cluster) (known *chartutil.Capabilities, silent []string, err error) {
	known = &chartutil.Capabilities{KubeVersion: chartutil.DefaultCapabilities.KubeVersion, HelmVersion: chartutil.DefaultCapabilities.HelmVersion}
	if asks.Version {
		read, err := cluster.Version(ctx)
		if err != nil {
			return nil, nil, err
		}
		parsed, err := chartutil.ParseKubeVersion(read.GitVersion)
		if err != nil {
			return nil, nil, fmt.Errorf("the cluster has the invalid version %q: %w", read.GitVersion, err)
		}
		known.KubeVersion = *parsed
	}
	if asks.AllAPIs {
		if known.APIVersions, silent, err = cluster.APIVersions(ctx); err != nil {
			return nil, nil, err
		}
		return known, silent, nil
	}
	for _, api := range asks.APIs {
		served, err := cluster.Serves(ctx, api)
		if err != nil {
			return nil, nil, err
		}
		if served {
			known.APIVersions = append(known.APIVersions, api)
		}
	}
	return known, nil, nil
}

func digestOf(values ...any) string {
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	for _, value := range values {
		// Strings, and structs and lists of strings, can always be encoded.
		_ = encoder.Encode(value)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
