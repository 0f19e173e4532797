package layers

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kyma-project/lifecycle-manager/cmd/module/config"
)

// readManifest turns a single file into a YAML layer, and several files or a
// directory into an archive.
func (c *Content) readManifest(module config.Module) error {
	if len(module.Manifest) == 1 {
		path := module.Path(module.Manifest[0])
		if !config.IsURL(path) {
			info, err := os.Stat(path)
			if err != nil {
				return fmt.Errorf("%w: manifest: %w", ErrInput, err)
			}
			if info.IsDir() {
				return c.readManifestDirectory(path)
			}
		}
		if isKustomization(path) {
			return fmt.Errorf("manifest %s: %w", path, ErrKustomize)
		}
		file, err := readFile(path)
		if err != nil {
			return err
		}
		c.Manifests = []File{file}
		c.Layers = append(c.Layers, Layer{
			Name: NameRawManifest, Type: TypeRawManifest, MediaType: MediaTypeYAML, Data: file.Data,
		})
		return nil
	}
	entries := make([]entry, 0, len(module.Manifest))
	for _, path := range module.Manifest {
		if isKustomization(path) {
			return fmt.Errorf("manifest %s: %w", module.Path(path), ErrKustomize)
		}
		file, err := readFile(module.Path(path))
		if err != nil {
			return err
		}
		c.Manifests = append(c.Manifests, file)
		entries = append(entries, entry{name: nameInArchive(path), data: file.Data})
	}
	return c.addArchive(entries)
}

// nameInArchive returns the path as configured if it is within the module's
// folder, and otherwise only the file's name.
func nameInArchive(path string) string {
	if !filepath.IsLocal(path) {
		return filepath.Base(path)
	}
	return filepath.ToSlash(filepath.Clean(path))
}

func (c *Content) readManifestDirectory(directory string) error {
	var entries []entry
	err := filepath.WalkDir(directory, func(path string, item fs.DirEntry, err error) error {
		if err != nil || item.IsDir() {
			return err
		}
		if isKustomization(path) {
			return fmt.Errorf("manifest %s: %w", path, ErrKustomize)
		}
		if !isManifest(path) {
			return nil
		}
		file, err := readFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(directory, path)
		if err != nil {
			return err
		}
		c.Manifests = append(c.Manifests, file)
		entries = append(entries, entry{name: filepath.ToSlash(name), data: file.Data})
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: read directory %s: %w", ErrInput, directory, err)
	}
	if len(entries) == 0 {
		return fmt.Errorf("%w: manifest: no .yaml, .yml or .json file in %s", ErrInput, directory)
	}
	return c.addArchive(entries)
}

func (c *Content) addArchive(entries []entry) error {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(entries); i++ {
		if entries[i].name == entries[i-1].name {
			return fmt.Errorf("%w: manifest: two files are named %s", ErrInput, entries[i].name)
		}
	}
	data, err := archive(entries)
	if err != nil {
		return err
	}
	c.Layers = append(c.Layers, Layer{
		Name: NameRawManifest, Type: TypeRawManifest, MediaType: MediaTypeTar, Data: data,
	})
	return nil
}

func isManifest(path string) bool {
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// isKustomization reports whether the path is one of the three file names that
// kustomize reads.
func isKustomization(path string) bool {
	switch filepath.Base(path) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		return true
	}
	return false
}
