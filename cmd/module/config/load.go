package config

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// ErrInvalid means that a configuration file cannot be read or is invalid. The error that wraps it names the file and
// the field.
var ErrInvalid = errors.New("module configuration is not valid")

// Load reads the configuration at a path: a file, or a folder with a FileName in it. It refuses unknown fields, so that
// a typing error does not silently select a default. Module.Check checks the content.
func Load(path string) (Module, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Module{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Module{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	module, err := parse(data)
	if err != nil {
		return Module{}, fmt.Errorf("%w: %s: %w", ErrInvalid, path, err)
	}
	module.file = path
	if module.Provider == "" {
		module.Provider = DefaultProvider
	}
	if module.Namespace == "" {
		module.Namespace = DefaultNamespace
	}
	return module, nil
}

// parse reads a configuration of our own or of modulectl. It refuses unknown fields, and field names in the wrong case,
// so that no field is silently ignored.
func parse(data []byte) (Module, error) {
	var module Module
	raw, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return module, err
	}
	var fields map[string]stdjson.RawMessage
	if err := stdjson.Unmarshal(raw, &fields); err == nil && isModulectl(fields) {
		var theirs modulectl
		unknown, err := json.UnmarshalStrict(raw, &theirs)
		return theirs.module(), errors.Join(append(unknown, err)...)
	}
	unknown, err := json.UnmarshalStrict(raw, &module)
	return module, errors.Join(append(unknown, err)...)
}
