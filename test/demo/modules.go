package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/registry"
)

// startRegistry serves an OCI registry from this process, in memory, until the context ends.
func (d *demo) startRegistry(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start the registry: %w", err)
	}
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))} //nolint:gosec // on the loopback interface only
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			d.say("the registry has ended: %v", err)
		}
	}()
	d.registry = listener.Addr().String()
	return nil
}

// moduleTool is a command of the module tool.
func (d *demo) moduleTool(args ...string) command {
	return append(command{d.program("modules"), "module"}, args...)
}

// pushModules pushes our sample module, real operators and the module that fails into the registry, as component
// versions, and writes their ModuleTemplates and ModuleReleaseMetas.
func (d *demo) pushModules(ctx context.Context) error {
	if err := os.RemoveAll(d.path("modules")); err != nil {
		return fmt.Errorf("remove the modules' resources of an earlier demo: %w", err)
	}
	push := command{
		d.program("modules"), "--registry", d.registry, "--plain-http",
		"--source", filepath.Join("test", "modules"), "--out", d.path("modules"),
	}
	if _, err := push.output(ctx); err != nil {
		return err
	}
	failing, err := d.pushVersion(ctx, failingModule, "1.0.0", brokenObject)
	if err != nil {
		return err
	}
	d.say("pushed the modules into the registry %s", d.registry)
	return os.WriteFile(filepath.Join(d.path("modules"), failingModule+".yaml"), []byte(failing), 0o600)
}

// applyCatalog adds the modules to the catalog in the control plane.
func (d *demo) applyCatalog(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(d.path("modules"), "*.yaml"))
	if err != nil {
		return fmt.Errorf("find the resources of the modules: %w", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read a resource of a module: %w", err)
		}
		if err := d.apply(ctx, string(content)); err != nil {
			return err
		}
	}
	return nil
}
