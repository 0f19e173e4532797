package main

import (
	"context"
	"path/filepath"
	"strings"
)

// modules are the folders of the modules that are pushed, each with a
// module-config.yaml.
func modules() []string {
	return []string{
		filepath.Join("test", "modules", "sample", "1.0.0"),
		filepath.Join("test", "modules", "sample", "1.1.0"),
	}
}

// pushModules pushes all modules into the fleet's registry and announces them in
// the control plane by the ModuleTemplates and ModuleReleaseMetas that the module
// tool prints.
func (d *demo) pushModules(ctx context.Context) error {
	for _, folder := range modules() {
		announced, err := command{
			d.program("module"), "push", folder, "--registry", d.fleet.Registry.Host, "--plain-http",
		}.output(ctx, nil)
		if err != nil {
			return err
		}
		if err := d.apply(ctx, announced); err != nil {
			return err
		}
		d.say("pushed %s", strings.TrimPrefix(filepath.ToSlash(folder), "test/modules/"))
	}
	return nil
}
