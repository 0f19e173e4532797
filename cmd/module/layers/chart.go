package layers

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
)

// readChart ships a chart archive unchanged. It packs a directory like `helm
// package` does and honors .helmignore, but it writes no timestamps.
func (c *Content) readChart(location string) error {
	loaded, err := loader.Load(location)
	if err != nil {
		return fmt.Errorf("%w: chart %s: %w", ErrInput, location, err)
	}
	info, err := os.Stat(location)
	if err != nil {
		return fmt.Errorf("%w: chart: %w", ErrInput, err)
	}
	var data []byte
	if info.IsDir() {
		entries := make([]entry, 0, len(loaded.Raw))
		for _, file := range loaded.Raw {
			entries = append(entries, entry{name: path.Join(loaded.Name(), file.Name), data: file.Data})
		}
		slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
		plain, err := archive(entries)
		if err != nil {
			return err
		}
		if data, err = compress(plain); err != nil {
			return err
		}
	} else {
		file, err := readFile(location)
		if err != nil {
			return err
		}
		data = file.Data
	}
	c.Chart, c.ChartPath = loaded, location
	c.Layers = append(c.Layers, Layer{
		Name: NameHelmChart, Type: TypeHelmChart, MediaType: MediaTypeChart, Data: data,
	})
	return nil
}
