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

// ErrInvalid says that a configuration file cannot be read or is not right. The
// error that wraps it names file and field.
var ErrInvalid = errors.New("module configuration is not valid")

// Load reads the configuration at a path: a file, or a folder with a FileName
// in it. Unknown fields are refused, so that a typing error is no silent
// default. What is wrong with the content is told by Check.
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

// parse reads a configuration, ours or modulectl's. Fields that there are not are refused, upper and lower case counting:
// what is not read is no silent default.
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
