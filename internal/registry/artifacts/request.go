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

// Source is what a module is rendered from.
type Source struct {
	Install Layer
	// Form restricts what the install layer may be.
	Form Form
	// Config is the layer with a chart's values, or nil.
	Config  *Layer
	Release render.Release
}

// Cluster is what charts may ask of a cluster; *clusters.Cluster answers.
type Cluster interface {
	Version(ctx context.Context) (*version.Info, error)
	// Serves tells whether "group/version" or "group/version/Kind" is served.
	Serves(ctx context.Context, api string) (bool, error)
	// APIVersions are all that are served, in both forms, and the group versions of which that is not known.
	APIVersions(ctx context.Context) (served, silent []string, err error)
}

// RenderRequest says what a source would be rendered from. Two requests with the same key render to the same.
type RenderRequest struct {
	// Key covers the layers, and for charts the values, the release, and of the cluster's capabilities
	// those that the chart's templates can ask for.
	Key string
	// Silent are group versions of which the cluster did not say whether it serves them, where a chart asks for all: what
	// it renders only with them is missing then.
	Silent []string

	store  *Store
	source Source
	info   layerInfo
	known  *chartutil.Capabilities
}

// infoBytes is roughly what a layerInfo takes.
const infoBytes = 1 << 10

// Knows reports whether Prepare needs to fetch nothing for a source.
func (s *Store) Knows(source Source) bool {
	_, known := s.infos.Peek(source.Install.key())
	return known
}

// Prepare works out the render request of a source for a cluster. A layer seen before is not fetched again, and
// the cluster is asked only for what a chart asks for.
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

// Render fetches what is missing and renders. Errors are faults.
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

// fits refuses a layer that is not what it is said to be.
func fits(source Source, info layerInfo) error {
	switch {
	case source.Form == FormChart && info.form != FormChart:
		return inLayer(source.Install, fault.New(fault.Rejected, render.ReasonInvalidChart, "it is no archive of a Helm chart"))
	case source.Form == FormDirectory && info.form == formYAML:
		return inLayer(source.Install, render.Invalid("it is no archive of a folder"))
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
			return nil, nil, fmt.Errorf("the cluster's version %q is none: %w", read.GitVersion, err)
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
