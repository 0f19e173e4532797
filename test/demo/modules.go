package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// pushModules pushes our sample module and real operators into the fleet's
// registry, as component versions, and adds them to the catalog in the control plane by
// their ModuleTemplates and ModuleReleaseMetas.
func (d *demo) pushModules(ctx context.Context) error {
	d.say("pushing modules into the registry")
	resources := d.path("modules")
	if err := os.RemoveAll(resources); err != nil {
		return fmt.Errorf("remove the modules' resources of an earlier demo: %w", err)
	}
	push := command{
		d.program("modules"), "--registry", d.fleet.Registry.Host, "--plain-http",
		"--source", filepath.Join("test", "modules"), "--out", resources,
	}
	if err := push.run(ctx, streams{err: &relay{to: d.speaker}}); err != nil {
		return err
	}
	_, err := d.kubectl("apply", "--server-side", "-f", resources).output(ctx, nil)
	return err
}
