package layers

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/cmd/module/config"
)

// Read reads all files that the configuration refers to. Errors wrap ErrInput or
// ErrKustomize.
func Read(module config.Module) (Content, error) {
	var content Content
	if len(module.Manifest) > 0 {
		if err := content.readManifest(module); err != nil {
			return Content{}, err
		}
	}
	if module.Chart != "" {
		if err := content.readChart(module.Path(module.Chart)); err != nil {
			return Content{}, err
		}
	}
	if module.Values != "" {
		if err := content.readValues(module.Path(module.Values)); err != nil {
			return Content{}, err
		}
	}
	if module.DefaultCR != "" {
		file, err := readFile(module.Path(module.DefaultCR))
		if err != nil {
			return Content{}, err
		}
		content.DefaultCR = &file
		content.Layers = append(content.Layers, Layer{
			Name: NameDefaultCR, Type: TypeDefaultCR, MediaType: MediaTypeYAML, Data: file.Data,
		})
	}
	return content, nil
}

func (c *Content) readValues(path string) error {
	file, err := readFile(path)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(file.Data, &c.Values); err != nil {
		return fmt.Errorf("%w: values %s: %w", ErrInput, path, err)
	}
	c.Layers = append(c.Layers, Layer{
		Name: NameConfig, Type: TypeYAML, MediaType: MediaTypeYAML, Data: file.Data,
	})
	return nil
}

func readFile(path string) (File, error) {
	read := os.ReadFile
	if config.IsURL(path) {
		read = fetch
	}
	data, err := read(path)
	if err != nil {
		return File{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	return File{Path: path, Data: data}, nil
}
